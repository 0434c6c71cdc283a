# SPDX-License-Identifier: GPL-2.0-only
"""How CMake finds LAMMPS, LibTorch and GoogleTest, and what it says where it cannot."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ["NVALCHEMI_ENV_DIR"]


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def configure(self, **variables):
        """CMake's status and output for a new build folder of this repository."""
        # to try a CUDA compiler takes long
        defaults = {"NVALCHEMI_ENV_DIR": ENVIRONMENT, "NVALCHEMI_ENABLE_CUDA": "OFF"}
        settings = {**defaults, **variables}
        arguments = [f"-D{name}={value}" for name, value in settings.items()]
        environment = {
            name: value for name, value in os.environ.items() if name != "NVALCHEMI_ENV_DIR"
        }
        result = subprocess.run(
            ["cmake", "-S", REPOSITORY, "-B", tempfile.mkdtemp(dir=self.root), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            timeout=120,
        )
        return result.returncode, re.sub(r"\s+", " ", result.stdout)

    def expect_refusal(self, *parts, **variables):
        status, output = self.configure(**variables)
        self.assertNotEqual(status, 0)
        for part in parts:
            self.assertIn(part, output)

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lammps_source(self, version):
        self.plant("lammps/src/version.h", f'#define LAMMPS_VERSION "{version}"\n')
        return self.root / "lammps"

    def test_summarizes_what_was_found(self):
        status, output = self.configure()

        self.assertEqual(status, 0, output)
        self.assertRegex(
            output, r"LAMMPS 20\d{6} .*LibTorch 2\.\d+\.\d+ .*MPI .*libmpi\.so .*C\+\+20, Release"
        )

    def test_reads_the_version_of_a_source_tree(self):
        status, output = self.configure(LAMMPS_SOURCE_DIR=self.lammps_source("4 Feb 2025"))

        self.assertEqual(status, 0, output)
        self.assertIn("LAMMPS 20250204", output)

    def test_reads_the_versions_that_installations_state(self):
        for stated, date in (("2025.7.22.4", 20250722), ("20250204", 20250204)):
            self.plant("lammps/include/lammps/pair.h", "")
            self.plant(
                "lammps/lib/cmake/LAMMPS/LAMMPSConfigVersion.cmake",
                f'set(PACKAGE_VERSION "{stated}")\n',
            )
            self.plant(
                "lammps/lib/cmake/LAMMPS/LAMMPS_Targets.cmake",
                'INTERFACE_COMPILE_DEFINITIONS "LAMMPS_SMALLBIG"\n',
            )
            status, output = self.configure(LAMMPS_ROOT=self.root / "lammps")

            self.assertEqual(status, 0, output)
            self.assertIn(f"LAMMPS {date}", output)

    def test_refuses_a_source_tree_without_version(self):
        self.expect_refusal(
            "src/version.h does not exist", "-DLAMMPS_SOURCE_DIR=", LAMMPS_SOURCE_DIR=self.root
        )
        self.expect_refusal(
            "got '#define LAMMPS_VERSION \"soon\"'", LAMMPS_SOURCE_DIR=self.lammps_source("soon")
        )

    def test_refuses_an_installation_without_headers(self):
        self.expect_refusal(
            f"{self.root}/include/lammps/pair.h does not exist",
            "LAMMPS_SOURCE_DIR",
            LAMMPS_ROOT=self.root,
        )

    def test_names_what_is_missing_without_an_environment(self):
        nothing = {
            "NVALCHEMI_ENV_DIR": self.root,
            "CMAKE_DISABLE_FIND_PACKAGE_MPI": "ON",
            "CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json": "ON",
        }
        torch = {
            "NVALCHEMI_TORCH_DIR": next(Path(ENVIRONMENT).glob("lib/python3*/site-packages/torch"))
        }

        self.expect_refusal("LibTorch: not found", "unittest/run.sh", **nothing)
        self.expect_refusal("nlohmann/json: not found", "nlohmann-json3-dev", **nothing, **torch)
        self.plant("lib/python3.11/site-packages/nlohmann_json/include/nlohmann/json.hpp", "")
        self.expect_refusal("MPI: not found", "MPI_CXX_COMPILER", **nothing, **torch)
        self.plant("include/mpi.h", "")
        self.plant("lib/libmpi.so", "")
        self.expect_refusal("LAMMPS: not found", "Set LAMMPS_ROOT", **nothing, **torch)

    def test_refuses_a_folder_that_is_no_libtorch(self):
        self.expect_refusal(
            "libc10.so does not exist", "Set NVALCHEMI_TORCH_DIR", NVALCHEMI_TORCH_DIR=self.root
        )

    def torch_headers(self, version):
        self.plant("include/torch/csrc/api/include/empty", "")
        values = dict(zip(("MAJOR", "MINOR", "PATCH"), version.split(".")))
        self.plant(
            "include/torch/headeronly/version.h",
            "".join(f"#define TORCH_VERSION_{part} {n}\n" for part, n in values.items()),
        )

    def library(self, name, text, *arguments):
        source = self.root / "source.cpp"
        source.write_text(text)
        path = self.root / "lib" / name
        path.parent.mkdir(exist_ok=True)
        command = [os.environ.get("CXX", "g++"), "-shared", "-fPIC", "-o", path, source]
        subprocess.run([*command, *arguments], check=True)
        return path

    TORCH = "#include <string>\nnamespace at { std::string get_openmp_version() { return {}; } }\n"

    def test_refuses_a_libtorch_whose_own_libraries_are_missing(self):
        self.torch_headers("2.11.0")
        self.library("libc10.so", "")
        needed = self.library("libplanted.so.1", "void planted() {}", "-Wl,-soname,libplanted.so.1")
        torch = self.TORCH + "void planted(); void f() { planted(); }\n"
        self.library("libtorch_cpu.so", torch, needed)
        needed.unlink()

        self.expect_refusal(
            f"no program can be linked with {self.root}: it needs libplanted.so.1, not found",
            "nvidia-cuda-runtime and nvidia-cuda-cupti",
            "or set LD_LIBRARY_PATH",
            NVALCHEMI_TORCH_DIR=self.root,
        )

    def test_refuses_a_libtorch_with_the_other_strings(self):
        self.torch_headers("2.4.0")
        self.library("libc10.so", "")
        self.library("libtorch_cpu.so", self.TORCH, "-D_GLIBCXX_USE_CXX11_ABI=0")

        self.expect_refusal(
            f"no program can be linked with {self.root}; expected a LibTorch built with",
            "get_openmp_version",
            NVALCHEMI_TORCH_DIR=self.root,
        )

    def compiler(self, *lines):
        """A g++ that links a copy of libstdc++ into all that it makes."""
        self.plant("compiler", "\n".join(["#!/bin/sh", *lines, 'exec g++ -static-libstdc++ "$@"']))
        (self.root / "compiler").chmod(0o755)
        return self.root / "compiler"

    def test_links_the_shared_libstdcxx_with_a_compiler_that_would_not(self):
        status, output = self.configure(CMAKE_CXX_COMPILER=self.compiler())
        (build,) = self.root.glob("*/CMakeCache.txt")
        rules = subprocess.run(
            ["grep", "-rhoE", "[^ ]*libstdc\\+\\+.so.6( |$)", build.parent,
             "--include=link.txt", "--include=build.ninja"],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip

        self.assertEqual(status, 0, output)
        self.assertIn("would give every library a copy of the C++ library; linking /", output)
        self.assertGreater(len(rules), 3)

    def test_two_libraries_share_it(self):
        """An exception passes between them; without this package's file each would hold a copy."""
        self.plant(
            "one.cpp", '#include <stdexcept>\nvoid fail() { throw std::runtime_error("x"); }\n'
        )
        self.plant(
            "two.cpp",
            "#include <iostream>\n#include <stdexcept>\nvoid fail();\nint main() {\n"
            "  try { fail(); } catch (const std::exception &e) { std::cout << e.what(); }\n}\n",
        )
        found = {}
        for include in (f"include({REPOSITORY}/cmake/dependencies/libstdcxx.cmake)", ""):
            self.plant(
                "CMakeLists.txt",
                f"cmake_minimum_required(VERSION 3.22)\nproject(two LANGUAGES CXX)\n{include}\n"
                "add_library(one SHARED one.cpp)\nadd_executable(two two.cpp)\n"
                "target_link_libraries(two one)\n",
            )
            build = Path(tempfile.mkdtemp(dir=self.root))
            command = ["cmake", "-S", self.root, "-B", build]
            command.append(f"-DCMAKE_CXX_COMPILER={self.compiler()}")
            subprocess.run(command, check=True, capture_output=True)
            subprocess.run(["cmake", "--build", build, "--parallel", "1"], check=True)
            output = subprocess.run([build / "two"], capture_output=True, text=True).stdout
            self.assertEqual(output, "x")
            files = [build / name for name in ("libone.so", "two")]
            found[bool(include)] = [b"libstdc++.so.6\0" in file.read_bytes() for file in files]

        self.assertEqual(found, {True: [True, True], False: [False, False]})

    def test_refuses_a_compiler_without_the_shared_libstdcxx(self):
        drop = (
            "for word; do shift; case $word in",
            '*libstdc++.so.6) ;; *) set -- "$@" "$word" ;; esac; done',
        )

        self.expect_refusal(
            "gives every library a copy of the C++ library",
            "does not use libstdc++.so.6",
            "Remove -static-libstdc++",
            "set CXX to another g++",
            CMAKE_CXX_COMPILER=self.compiler(*drop),
        )

    def test_refuses_an_old_libtorch(self):
        for name in ("lib/libc10.so", "lib/libtorch_cpu.so"):
            self.plant(name, "")
        self.torch_headers("1.13.1")

        self.expect_refusal(
            "is version '1.13.1', expected 2.4 or later", NVALCHEMI_TORCH_DIR=self.root
        )

    def test_kokkos_styles_need_a_lammps_with_kokkos(self):
        self.expect_refusal(
            "NVALCHEMI_ENABLE_KOKKOS: got ON",
            "KOKKOS/kokkos_type.h does not exist",
            "LAMMPS_SOURCE_DIR",
            NVALCHEMI_ENABLE_KOKKOS="ON",
        )
        self.plant("lammps/src/KOKKOS/kokkos_type.h", "")
        self.expect_refusal(
            "NVALCHEMI_ENABLE_KOKKOS: got ON",
            "include/KokkosCore_config.h does not exist",
            "-DKokkos_ROOT=",
            NVALCHEMI_ENABLE_KOKKOS="ON",
            LAMMPS_SOURCE_DIR=self.lammps_source("4 Feb 2025"),
            Kokkos_ROOT=self.root,
        )

    def test_kokkos_for_cuda_needs_a_cuda_compiler(self):
        self.plant("lammps/src/KOKKOS/kokkos_type.h", "")
        self.plant("include/KokkosCore_config.h", "#define KOKKOS_ENABLE_CUDA\n")
        self.expect_refusal(
            "was built for CUDA, expected a CUDA compiler",
            NVALCHEMI_ENABLE_KOKKOS="ON",
            NVALCHEMI_ENABLE_CUDA="OFF",
            LAMMPS_SOURCE_DIR=self.lammps_source("4 Feb 2025"),
            Kokkos_ROOT=self.root,
        )

    def test_tests_need_googletest(self):
        self.expect_refusal(
            "GoogleTest: not found",
            "libgtest-dev",
            "-DNVALCHEMI_ENABLE_TESTS=OFF",
            NVALCHEMI_ENABLE_TESTS="ON",
            CMAKE_DISABLE_FIND_PACKAGE_GTest="ON",
        )


if __name__ == "__main__":
    unittest.main()
