# SPDX-License-Identifier: GPL-2.0-only
"""The kernels of a tensor product, generated for its plan, and those of sums over edges: the
compiler of LibTorch for CUDA takes them for each GPU that the package is for. No GPU is needed, and
no CUDA toolkit."""

import ctypes
import os
import re
import subprocess
import unittest
from pathlib import Path

import torch
from random_plans import Plan, random_plan

PROGRAM = os.environ["NVALCHEMI_WRITE_GPU_SOURCE"]
LIBRARIES = Path(torch.__file__).resolve().parents[1] / "nvidia"
ARCHITECTURES = ("sm_80", "sm_90")


def find_compiler():
    """The library that libcaffe2_nvrtc.so of this torch names, which itself needs a driver."""
    found = sorted(LIBRARIES.glob("*/lib/libnvrtc.so.*"))
    if not found:
        raise unittest.SkipTest(f"no libnvrtc in {LIBRARIES}: a torch for CPUs")
    return ctypes.CDLL(str(found[-1]))


def setUpModule():
    global compiler
    compiler = find_compiler()


def generated(plan, scalar):
    """The text that the package would compile."""
    lines = (" ".join(map(repr, plan.paths)), " ".join(map(repr, plan.coefficients)))
    done = subprocess.run(
        [PROGRAM, scalar], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_text(text, architecture, kind="CUBIN"):
    """(status, what the compiler says, code) of a CUDA C++ text."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    created = compiler.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"test.cu", 0, None, None
    )
    assert created == 0, created
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    status = compiler.nvrtcCompileProgram(program, 2, options)

    def read(kind):
        getattr(compiler, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        getattr(compiler, f"nvrtcGet{kind}")(program, content)
        return content.raw

    log, code = read("ProgramLog").decode().strip("\0\n "), read(kind) if status == 0 else b""
    compiler.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log, code


class GeneratedKernels(unittest.TestCase):
    def test_compile_for_each_gpu_and_precision(self):
        for seed, scalar, architecture in (
            (0, "float", "sm_80"),
            (1, "double", "sm_80"),
            (2, "double", "sm_90"),
            (3, "float", "sm_90"),
        ):
            status, log, code = compile_text(generated(random_plan(seed), scalar), architecture)

            with self.subTest(seed=seed, scalar=scalar, architecture=architecture):
                self.assertEqual(status, 0, log)
                for kernel in (b"convolve", b"edge_gradients", b"row_gradient"):
                    self.assertIn(b".text." + kernel, code)

    def test_the_compiler_notices_a_name_that_is_not_there(self):
        text = generated(Plan([(4, 3)], 0), "double")

        status, log, _ = compile_text(text.replace("const T x0", "const T y0"), "sm_90")

        self.assertNotEqual(status, 0)
        self.assertIn('identifier "x0" is undefined', log)

    def test_coefficients_are_in_the_text_with_all_their_digits(self):
        plan = Plan([(4, 3)], 0)
        text = generated(plan, "double")

        for value in plan.coefficients:
            if value:
                self.assertIn(f"T({value:.17g})", text)
        self.assertNotIn("T(0) *", text)


def source_of(what, scalar):
    words = [PROGRAM, scalar, what]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


class PairSums(unittest.TestCase):
    def test_compile_for_each_gpu_and_precision(self):
        for form, scalar, architecture in (
            ("lj", "double", "sm_80"),
            ("lj", "float", "sm_90"),
            ("buckingham", "double", "sm_90"),
            ("morse", "float", "sm_80"),
        ):
            status, log, code = compile_text(source_of(form, scalar), architecture)

            with self.subTest(form=form, scalar=scalar, architecture=architecture):
                self.assertEqual(status, 0, log)
                for kernel in (b"find_rows", b"pair_rows", b"pair_edges"):
                    self.assertIn(b".text." + kernel, code)


class EdgeSums(unittest.TestCase):
    def test_compile_for_each_gpu_and_precision(self):
        formulas = (b"counted_neighbor", b"pair_dispersion", b"screened_charges")
        kernels = [start + name for name in formulas for start in (b"sum_", b"gradients_")]
        for scalar, architecture in (("double", "sm_80"), ("float", "sm_90"), ("double", "sm_90")):
            status, log, code = compile_text(source_of("edge_sums", scalar), architecture)

            with self.subTest(scalar=scalar, architecture=architecture):
                self.assertEqual(status, 0, log)
                for kernel in (*kernels, b"reference_weights"):
                    self.assertIn(b".text." + kernel, code)

    def test_single_precision_computes_nothing_in_double_precision(self):
        text = source_of("edge_sums", "float")

        _, log, code = compile_text(text, "compute_90", "PTX")
        _, _, other = compile_text(text.replace("T(0.5)", "0.5"), "compute_90", "PTX")

        self.assertEqual(re.findall(rb"(?:add|mul|fma|div)[a-z.]*f64", code), [], log)
        self.assertTrue(re.findall(rb"(?:add|mul|fma|div)[a-z.]*f64", other))


class Libraries(unittest.TestCase):
    def test_nothing_is_mapped_from_another_folder_than_torchs(self):
        mapped = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
        compilers = {path for path in mapped if "nvrtc" in path}

        self.assertTrue(compilers)
        self.assertEqual([p for p in compilers if not p.startswith(str(LIBRARIES))], [])


if __name__ == "__main__":
    unittest.main()
