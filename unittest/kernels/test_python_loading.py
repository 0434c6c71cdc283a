# SPDX-License-Identifier: GPL-2.0-only
"""How the Python module finds and loads the operators. What a process has loaded stays, so each
scenario is a process of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from checkout import MODULES

# isort: split
import nvalchemi_lmp
from nvalchemi_lmp import _library

LIBRARY = Path(nvalchemi_lmp.loaded_file())
OTHER_VERSION = os.environ.get("NVALCHEMI_OTHER_VERSION", "")
MARK = b"nvalchemi-kernels-built-for-torch="

USE = """
import nvalchemi_lmp
x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
total = nvalchemi_lmp.system_sum(x, torch.tensor([0, 1, 1]), 2)
slope, = torch.autograd.grad(total.square().sum(), x)
part = nvalchemi_lmp.Part(torch.tensor([0, 0]), 1, [(0, 0)], None, None, None)
refreshed, = nvalchemi_lmp.run_in_parts(
    [part], lambda rank: nvalchemi_lmp.refresh_neighbors(torch.tensor([5.0, 0.0])))
print(total.tolist(), slope.tolist(), refreshed.tolist())
print(nvalchemi_lmp.loaded_file())
"""
NUMBERS = "[1.0, 6.0] [2.0, 12.0, 12.0] [5.0, 5.0]"


def run(script, library=LIBRARY, modules=MODULES):
    """Run `script`, with torch imported, in a fresh process."""
    environment = {k: v for k, v in os.environ.items() if k != _library.VARIABLE}
    if library is not None:
        environment[_library.VARIABLE] = str(library)
    return subprocess.run(
        [sys.executable, "-c", "import torch\n" + script],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(environment, PYTHONPATH=str(modules)),
    )


class Loading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def copy_of_library(self, change=lambda content: content):
        copy = self.folder / "copy" / _library.LIBRARY
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(change(LIBRARY.read_bytes()))
        return copy

    def installed(self, with_library):
        """The package as it lies where something was installed, not in a checkout."""
        package = self.folder / "a" / "b" / "c" / "nvalchemi_lmp"
        shutil.copytree(MODULES / "nvalchemi_lmp", package)
        if with_library:
            shutil.copyfile(LIBRARY, package / _library.LIBRARY)
        return package

    def assert_works(self, result, file):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines(), [NUMBERS, str(file)])
        self.assertNotIn("nvalchemi_lmp", result.stderr)  # no warning

    def assert_refused(self, result, *texts):
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        for text in ("ImportError: nvalchemi_lmp: ", *texts):
            self.assertIn(text, last)

    def test_module_first_and_a_second_copy_of_the_library_second(self):
        copy = self.copy_of_library()

        result = run(f"import nvalchemi_lmp; torch.ops.load_library({str(copy)!r})\n" + USE)

        self.assert_works(result, LIBRARY)

    def test_a_second_copy_of_the_library_first_and_the_module_second(self):
        copy = self.copy_of_library()

        result = run(f"torch.ops.load_library({str(copy)!r})\n" + USE)

        self.assert_works(result, copy)

    def test_the_same_library_before_and_after_the_module(self):
        load = f"torch.ops.load_library({str(LIBRARY)!r})\n"

        self.assert_works(run(load + "import nvalchemi_lmp\n" + load + USE), LIBRARY)

    def test_operators_that_are_there_need_no_file(self):
        result = run(f"torch.ops.load_library({str(LIBRARY)!r})\n" + USE, library="/nowhere.so")

        self.assert_works(result, LIBRARY)

    def test_finds_the_library_beside_the_installed_package(self):
        package = self.installed(with_library=True)

        result = run(USE, library=None, modules=package.parent)

        self.assert_works(result, package / _library.LIBRARY)

    def test_finds_the_library_in_the_build_folder_of_a_checkout(self):
        package = self.installed(with_library=False)
        built = self.folder / "a" / "build" / "lib" / _library.LIBRARY
        built.parent.mkdir(parents=True)
        shutil.copyfile(LIBRARY, built)

        self.assert_works(run(USE, library=None, modules=package.parent), built)

    def test_says_where_it_looked_and_what_to_do(self):
        package = self.installed(with_library=False)

        self.assert_refused(
            run(USE, library=None, modules=package.parent),
            f"got no file {package}/libnvalchemi_kernels.so or "
            f"{self.folder}/a/build/lib/libnvalchemi_kernels.so, expected the built",
            "(build this package, or set NVALCHEMI_KERNELS_LIBRARY to the file in the lib folder",
        )

    def test_looks_nowhere_else_if_the_user_names_a_file(self):
        self.assert_refused(run(USE, library="/nowhere.so"), "got no file /nowhere.so, expected")

    def test_refuses_a_library_for_another_torch_before_it_is_opened(self):
        version = torch.__version__.split("+")[0]
        torch_here = ".".join(version.split(".")[:2])
        older = self.copy_of_library(
            lambda content: content.replace(
                MARK + version.encode(), MARK + b"1.2" + version.encode()[3:]
            )
        )

        self.assert_refused(
            run(USE, library=older),
            f"{older}: got a library that was built for torch 1.2",
            f", expected {torch_here} as in {torch.__file__} (build this package with "
            "NVALCHEMI_TORCH_DIR set to the folder of that torch, or use a Python with torch 1.2",
        )
        # The operators of a refused library are not registered either.
        script = "try:\n    import nvalchemi_lmp\nexcept ImportError:\n    pass\n"
        script += "print(hasattr(torch.ops.nvalchemi_lmp, 'library_info'))"
        self.assertEqual(run(script, library=older).stdout, "False\n")

    def test_refuses_a_file_that_is_not_the_library(self):
        text = self.copy_of_library(lambda content: b"no library")

        self.assert_refused(
            run(USE, library=text),
            f"{text}: got a file that is not a complete libnvalchemi_kernels.so of this package",
            "(build it again, or correct NVALCHEMI_KERNELS_LIBRARY)",
        )
        broken = self.copy_of_library(lambda content: MARK + torch.__version__.encode())
        self.assert_refused(
            run(USE, library=broken),
            f"{broken}: got a library that does not load, expected one for this system and torch",
        )

    def test_refuses_operators_that_something_else_registered(self):
        script = """
library = torch.library.Library("nvalchemi_lmp", "DEF")
library.define("mine(Tensor x) -> Tensor")
"""
        self.assert_refused(
            run(script + USE),
            "got operators nvalchemi_lmp that something other than this package has registered, "
            f"expected none before {LIBRARY} (do not load it together with this package)",
        )

    @unittest.skipUnless(OTHER_VERSION, "NVALCHEMI_OTHER_VERSION names no library")
    def test_refuses_operators_of_another_version(self):
        expected = (
            f"{OTHER_VERSION}: got operators of version 99.0.0, expected "
            f"{nvalchemi_lmp.__version__} as in {MODULES}/nvalchemi_lmp (use the module and the "
            "library of one package)"
        )

        self.assert_refused(run(USE, library=OTHER_VERSION), expected)
        self.assert_refused(run(f"torch.ops.load_library({OTHER_VERSION!r})\n" + USE), expected)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
