# SPDX-License-Identifier: GPL-2.0-only
"""What `. build/env.sh` gives to a user who goes on by hand."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["NVALCHEMI_BUILD_DIR"])
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
LAMMPS_MODULE = BUILD / "python" / "lammps"


def run(command, **extra):
    """Run a command of a user who has sourced nothing."""
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": SYSTEM_PATH, "HOME": os.environ["HOME"], **extra},
    )


def by_hand(command, **extra):
    """Run a command line in a plain POSIX shell that has sourced env.sh and has little else."""
    return run(["sh", "-euc", f". '{BUILD}/env.sh'; {command}"], **extra)


class EnvironmentScript(unittest.TestCase):
    def test_puts_programs_first_on_the_path(self):
        for name in ("lmp", "mpiexec", "nvalchemi-python", "nvalchemi-export"):
            found = by_hand(f"command -v {name}").stdout.strip()

            self.assertTrue(found, f"{name} is not on the path")
            self.assertNotEqual(found, shutil.which(name, path=SYSTEM_PATH))

    def test_starts_lammps_on_two_ranks_without_a_library_path(self):
        result = by_hand("mpiexec -n 2 lmp -h")

        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("Large-scale Atomic/Molecular Massively Parallel"), 1)

    def test_tells_lammps_where_the_plugin_is(self):
        self.assertEqual(by_hand('echo "$LAMMPS_PLUGIN_PATH"').stdout.strip(), f"{BUILD}/lib")

    def test_keeps_the_plugins_that_a_user_has(self):
        result = by_hand('echo "$LAMMPS_PLUGIN_PATH"', LAMMPS_PLUGIN_PATH="/own/plugins")

        self.assertEqual(result.stdout.strip(), f"{BUILD}/lib:/own/plugins")

    def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(self):
        told = by_hand("lmp -h", OMP_DISPLAY_ENV="verbose").stderr
        self.assertIn("GOMP_SPINCOUNT = '0'", told)

        told = by_hand("lmp -h", OMP_DISPLAY_ENV="verbose", OMP_WAIT_POLICY="active").stderr
        self.assertIn("OMP_WAIT_POLICY = 'ACTIVE'", told)

    def test_leaves_the_users_python_first(self):
        found = by_hand("command -v python3").stdout.strip()

        self.assertEqual(found, shutil.which("python3", path=SYSTEM_PATH))

    def test_leaves_an_active_environment_of_the_user_first(self):
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder) / "bin" / "python3"
            own.parent.mkdir()
            own.symlink_to(sys.executable)

            path = f"{own.parent}:{SYSTEM_PATH}"
            self.assertEqual(by_hand("command -v python3", PATH=path).stdout.strip(), str(own))

    def test_tests_get_the_python_of_the_environment(self):
        expected = Path(os.environ["NVALCHEMI_ENV_DIR"]) / "bin" / "python3"
        if not expected.exists():
            self.skipTest("the build has no environment")
        for path in (SYSTEM_PATH, f"/own:{SYSTEM_PATH}"):
            found = run(["sh", f"{BUILD}/with_env.sh", "sh", "-c", "command -v python3"], PATH=path)
            self.assertEqual(found.stdout.strip(), str(expected))

    @unittest.skipUnless(LAMMPS_MODULE.exists(), "LAMMPS is no Python package")
    def test_lets_any_python_import_lammps(self):
        result = by_hand("python3 -c 'import lammps; print(lammps.__file__)'")

        self.assertEqual(result.stdout.strip(), f"{LAMMPS_MODULE}/__init__.py", result.stderr)


class Commands(unittest.TestCase):
    """Without any environment in the cache, and with an own Python."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.empty = {"NVALCHEMI_CACHE": folder.name}
        self.own = Path(folder.name) / "own"

    def make_own(self, script):
        """A program in the place of the user's own Python, in the words of the shell."""
        self.own.write_text(f"#!/bin/sh\n{script}\n")
        self.own.chmod(0o755)
        return {"NVALCHEMI_EXPORT_PYTHON": str(self.own)}

    def command(self, name, *words, **extra):
        return run([BUILD / "bin" / name, *words], **extra)

    def assert_refused(self, result, *parts):
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertNotIn("SKIPPED", result.stderr)

    def test_exporters_without_an_environment_name_the_command_that_makes_it(self):
        folder = self.empty["NVALCHEMI_CACHE"]
        for family in ("sevennet", "mace", "d3", "nequip", "allegro", "orb", "example-network"):
            for command in (["nvalchemi-export", family], [f"nvalchemi-export-{family}"]):
                self.assert_refused(
                    self.command(*command, "--output", "x.pt", **self.empty),
                    f"error: there is no Python environment that exports {family} in {folder}",
                    f"nvalchemi-export {family} --make-environment\n",
                    "or set NVALCHEMI_EXPORT_PYTHON to a Python that has torch",
                )

    def test_make_environment_may_stand_anywhere_and_is_no_argument_of_the_exporter(self):
        own = {"NVALCHEMI_EXPORT_PYTHON": "echo"}
        for words in (["--make-environment", "--output", "a b.pt"], ["x", "--make-environment"]):
            self.assert_refused(
                self.command("nvalchemi-export", "mace", *words, **own),
                "--make-environment: NVALCHEMI_EXPORT_PYTHON=echo is set",
            )

    def test_arguments_go_on_to_the_exporter_as_they_are(self):
        own = self.make_own('case $1 in -c) ;; *) printf "<%s>" "$@" ;; esac')
        result = self.command("nvalchemi-export", "mace", "a b", "", "*", **own)
        printed = self.command("nvalchemi-export-mace", "--print-python", **own)

        self.assertRegex(result.stdout, r"^<\S+/export_mace\.py><a b><><\*>$")
        self.assertEqual(printed.stdout, f"{self.own}\n")

    def test_python_without_an_environment_says_how_to_get_torch(self):
        if not (Path(os.environ["NVALCHEMI_ENV_DIR"]) / "bin" / "python3").exists():
            self.skipTest("the build has no environment")
        plain = self.command("nvalchemi-python", "-c", "import numpy, matplotlib", **self.empty)
        torch = self.command("nvalchemi-python", "-c", "import torch", **self.empty)

        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        self.assertEqual(torch.returncode, 1)
        self.assertIn("Run 'nvalchemi-export sevennet --make-environment' once", torch.stderr)

    def test_python_of_the_user_without_torch_is_named(self):
        result = self.command("nvalchemi-python", "-c", "pass", **self.make_own("echo torch"))

        self.assert_refused(result, f"NVALCHEMI_EXPORT_PYTHON={self.own} has no torch")

    def test_python_of_the_exporters_has_what_the_pages_say(self):
        if self.command("nvalchemi-export", "sevennet", "--print-python").returncode != 0:
            self.skipTest("no export environment: 'bash unittest/run.sh' makes one")
        modules = ["torch", "ase", "sevenn", "numpy", "matplotlib", "nvalchemi_lmp"]
        if LAMMPS_MODULE.exists():
            modules.append("lammps")
        script = f"import importlib.util; print([*map(importlib.util.find_spec, {modules})])"
        result = self.command("nvalchemi-python", "-c", script)

        self.assertEqual(result.stdout.count("ModuleSpec("), len(modules), result.stdout)


if __name__ == "__main__":
    unittest.main()
