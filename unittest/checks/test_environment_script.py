# SPDX-License-Identifier: GPL-2.0-only
"""What `. build/env.sh` gives to a user who goes on by hand."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["NVALCHEMI_BUILD_DIR"])
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def by_hand(command, **extra):
    """Run a command line in a plain POSIX shell that has sourced env.sh and has little else."""
    return subprocess.run(
        ["sh", "-euc", f". '{BUILD}/env.sh'; {command}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": SYSTEM_PATH, "HOME": "/", **extra},
    )


class EnvironmentScript(unittest.TestCase):
    def test_puts_programs_first_on_the_path(self):
        for name in ("lmp", "mpiexec", "python3"):
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

    def test_exporter_without_an_environment_says_how_to_get_one(self):
        for script, variable, command in (
            ("export_python.sh", "NVALCHEMI_EXPORT_PYTHON", "bash unittest/run.sh --export"),
            (
                "export_python_mace.sh",
                "NVALCHEMI_EXPORT_MACE_PYTHON",
                "bash potentials/exporters/make_environment.sh mace",
            ),
            (
                "export_python_d3.sh",
                "NVALCHEMI_EXPORT_D3_PYTHON",
                "bash potentials/exporters/make_environment.sh d3",
            ),
            (
                "export_python_nequip.sh",
                "NVALCHEMI_EXPORT_NEQUIP_PYTHON",
                "bash potentials/exporters/make_environment.sh nequip",
            ),
            (
                "export_python_orb.sh",
                "NVALCHEMI_EXPORT_ORB_PYTHON",
                "bash potentials/exporters/make_environment.sh orb",
            ),
        ):
            text = (BUILD / script).read_text()
            configured = text.split(f"{variable}:-", 1)[1].split("}", 1)[0]
            launcher = text.replace(configured, "") if configured else text

            result = subprocess.run(
                ["sh", "-c", launcher], capture_output=True, text=True, env={"PATH": SYSTEM_PATH}
            )

            self.assertEqual(result.returncode, 77)
            self.assertIn(f"run '{command}' once", result.stderr)
            self.assertIn(f"or set {variable} to a Python", result.stderr)


if __name__ == "__main__":
    unittest.main()
