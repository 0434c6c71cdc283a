# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin and the built programs map, and that they start without the loader's cache."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from mapped_libraries import (
    LOADER,
    clean_environment,
    foreign_libraries,
    libraries_in_maps,
    maps_while_running,
)

BUILD = Path(os.environ.get("NVALCHEMI_BUILD_DIR", "build"))
LAMMPS = os.environ.get("NVALCHEMI_LAMMPS", "")
ARCHIVES = Path(__file__).resolve().parents[1] / "models" / "archives"
MODEL = ARCHIVES / "toy_scatter_add.pt"
# LAMMPS_PLUGIN_PATH makes LAMMPS load the plugin when it starts.
STYLE = "units metal\npair_style nvalchemi\n"
EVALUATION = f"""
lattice fcc 5.6
region box block 0 2 0 2 0 2
create_box 2 box
create_atoms 1 box basis 2 2
mass * 30.0
pair_coeff * * {MODEL} Na Cl
run 0
"""
# Folders of the environment and of what the user gave instead, as CMake knows them.
FOLDERS = [
    BUILD,
    *(folder for folder in os.environ.get("NVALCHEMI_LIBRARY_FOLDERS", "").split(":") if folder),
]


def is_elf(path):
    return path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"


# Needs LibTorch's CUDA library, whose own libraries lie beside it only where there is a GPU to use.
FOR_GPUS_ALONE = ("libnvalchemi_graphs.so",)


def built_binaries():
    return [
        path
        for name in ("bin", "lib", "unittest/bin")
        for path in sorted((BUILD / name).glob("*"))
        if is_elf(path) and path.name not in FOR_GPUS_ALONE
    ]


class ForeignLibraries(unittest.TestCase):
    MAPS = (
        "7f00-7f01 r-xp 0 08:01 5  /usr/local/cuda/lib64/libcudart.so.13\n"
        "7f02-7f03 r-xp 0 08:01 5  /usr/lib/x86_64-linux-gnu/libm.so.6\n"
        "7f04-7f05 rw-p 0 00:00 0  [heap]\n"
        "7f06-7f07 r--p 0 08:01 5  /env/lib/libmpi.so.12\n"
        "7f08-7f09 r--p 0 08:01 5  /env/bin/lmp\n"
    )

    def test_reads_shared_libraries_from_maps(self):
        self.assertEqual(
            [os.path.basename(path) for path in libraries_in_maps(self.MAPS)],
            ["libmpi.so.12", "libm.so.6", "libcudart.so.13"],
        )

    def test_names_a_library_of_a_toolkit(self):
        found = foreign_libraries(libraries_in_maps(self.MAPS), ["/env"])

        self.assertEqual([os.path.basename(path) for path in found], ["libcudart.so.13"])

    def test_names_a_library_of_an_unknown_environment(self):
        self.assertIn(
            "/env/lib/libmpi.so.12", foreign_libraries(libraries_in_maps(self.MAPS), ["/other"])
        )


class BuiltBinaries(unittest.TestCase):
    def test_find_all_libraries_without_the_loader_cache(self):
        binaries = built_binaries()
        self.assertTrue(binaries, f"no binaries below {BUILD}")
        for path in binaries:
            listing = subprocess.run(
                [LOADER, "--inhibit-cache", "--list", str(path)],
                capture_output=True,
                text=True,
                env=clean_environment(),
            )
            libraries = [
                line.split("=>")[1].split()[0]
                for line in listing.stdout.splitlines()
                if "=> /" in line
            ]
            with self.subTest(binary=path.name):
                self.assertNotIn("not found", listing.stdout + listing.stderr)
                self.assertEqual(listing.returncode, 0, listing.stderr)
                self.assertEqual(foreign_libraries(libraries, FOLDERS), [])


@unittest.skipUnless(LAMMPS, "no lmp that could load the plugin")
class RunningLammps(unittest.TestCase):
    def mapped(self, *launcher):
        with tempfile.TemporaryDirectory() as folder:
            marker = Path(folder) / "ready"
            script = STYLE + (EVALUATION if MODEL.exists() else "") + f"print ready file {marker}\n"
            return libraries_in_maps(
                maps_while_running([*launcher, LAMMPS, "-log", "none"], script, marker)
            )

    def expect_own_libraries(self, libraries):
        names = " ".join(map(os.path.basename, libraries))
        for part in ("libtorch_cpu", "libmpi", "libnvalchemi_kernels", "libnvalchemi_lmp_"):
            self.assertIn(part, names)
        self.assertEqual(foreign_libraries(libraries, FOLDERS), [])

    def test_maps_only_libraries_of_environment_build_and_system(self):
        self.expect_own_libraries(self.mapped())

    def test_loads_the_plugin_without_the_loader_cache(self):
        self.expect_own_libraries(self.mapped(LOADER, "--inhibit-cache"))


# glibc's own, under the name by which another allocator would take its place
OTHER_MALLOC = """
#include <stddef.h>
extern "C" void *__libc_malloc(size_t);
extern "C" void *malloc(size_t size) { return __libc_malloc(size); }
"""


@unittest.skipUnless(LAMMPS, "no lmp that could load the plugin")
class MatrixProducts(unittest.TestCase):
    """Which library LibTorch's matrix products come from: LAMMPS may hold a plain BLAS too."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def source_of_dgemm(self, **extra):
        """(exit status, names of the libraries that LibTorch's calls of dgemm_ were bound to)"""
        told = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(self.folder / "told")}
        finished = subprocess.run(
            [LAMMPS, "-log", "none"],
            input=STYLE,
            env={**os.environ, **told, **extra},
            text=True,
            capture_output=True,
        )
        pattern = re.compile(r"binding file \S*/libtorch_cpu\.so \S+ to (\S+) \S+ .*`dgemm_'")
        found = set()
        for path in self.folder.glob("told*"):
            with open(path, errors="replace") as lines:
                found |= {m[1] for m in map(pattern.search, lines) if m}
            path.unlink()
        return finished.returncode, {os.path.basename(path) for path in found}

    def test_come_from_libtorch(self):
        self.assertEqual(self.source_of_dgemm(), (0, {"libtorch_cpu.so"}))

    def test_another_malloc_is_left_where_it_is(self):
        source, library = self.folder / "other.cpp", self.folder / "libother.so"
        source.write_text(OTHER_MALLOC)
        compiler = os.environ.get("CXX", "g++")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        status, found = self.source_of_dgemm(LD_PRELOAD=str(library))
        self.assertEqual(status, 0)
        holds = subprocess.run(["grep", "-c", "dgemm_", *lammps_libraries()], capture_output=True)
        if holds.returncode == 0:
            self.assertNotEqual(found, {"libtorch_cpu.so"})  # the control of the test above


def lammps_libraries():
    """lmp and the liblammps beside it."""
    lmp = Path(LAMMPS).resolve()
    near = (lmp.parent, lmp.parent.parent / "lammps.libs")
    return [lmp, *(path for folder in near for path in folder.glob("liblammps*.so*"))]


if __name__ == "__main__":
    unittest.main()
