# SPDX-License-Identifier: GPL-2.0-only
"""The environments of exporters: made once on request, and found whenever an exporter runs."""

import shutil
import subprocess
import unittest

from test_setup_scripts import SETUP, SetupScripts


class ExportEnvironments(SetupScripts):
    # `-m venv DIR` makes a folder with a copy of this Python; LACKS are the modules it lacks.
    PYTHON = """
        case "$*" in
            *version_info*print*|*print*version_info*) echo 3.11 ;;
            *find_spec*) echo ${LACKS:-} ;;
            *"-m venv"*) d=${@: -1}; mkdir -p "$d/bin" "$d/lib/python3.11/site-packages"
                cp "$0" "$d/bin/python3" ;;
            *"-m pip"*) echo "pip of $0: $*" ;;
            *) true ;;
        esac"""

    def setUp(self):
        super().setUp()
        self.complete_system()
        self.cache.mkdir()
        for name in {"cp", "paste", "tr", "uniq"} - {path.name for path in self.bin.iterdir()}:
            (self.bin / name).symlink_to(shutil.which(name))
        self.program("python3", self.PYTHON)

    def choose(self, *words, **extra):
        """The finished command that prints the Python of an exporter."""
        return subprocess.run(
            ["bash", str(SETUP / "export_python.sh"), *words],
            capture_output=True,
            text=True,
            timeout=60,
            env=self.environment(**extra),
        )

    def assert_refused(self, finished, *parts):
        self.assertEqual((finished.returncode, finished.stdout), (1, ""), finished.stderr)
        for part in parts:
            self.assertIn(part, finished.stderr)
        self.assertNotIn("SKIPPED", finished.stderr)

    def made(self, name):
        (python,) = self.cache.glob(f"{name}-py3.11-*/bin/python3")
        return python

    def test_says_sizes_before_it_makes_and_makes_once(self):
        first = self.choose("mace", "--make-environment")
        second = self.choose("mace", "--make-environment")

        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, f"{self.made('export-mace')}\n")
        said = first.stderr
        for text in ("2 to 3 GB, 5.2 GB on disk, made once", "20 MB, 60 MB on disk, made once"):
            self.assertLess(said.index(text), said.index("making "), said)
        self.assertIn("requirements-export-mace.txt", said)
        (link,) = self.made("export-mace").parents[1].rglob("*.pth")
        base = self.made("export").parents[1]
        self.assertEqual(link.read_text(), f"{base}/lib/python3.11/site-packages\n")
        self.assertEqual(second.stdout, first.stdout)
        self.assertNotIn("download", second.stderr)

    def test_without_an_environment_the_error_names_the_command_that_makes_it(self):
        for family, size, packages in (
            ("sevennet", "(a download of 2 to 3 GB, 5.2 GB on disk):", "torch and sevenn."),
            (
                "d3",
                "(a download of 1 MB, 2 MB on disk; "
                "and, before, torch: 2 to 3 GB, 5.2 GB on disk):",
                "torch and torch_dftd.",
            ),
        ):
            self.assert_refused(
                self.choose(family),
                f"there is no Python environment that exports {family} in {self.cache}",
                size,
                f"\n         nvalchemi-export {family} --make-environment\n",
                f"or set NVALCHEMI_EXPORT_PYTHON to a Python that has {packages}\n",
            )
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_finds_what_another_script_has_made(self):
        self.run_script("nvalchemi_export_env")
        sevennet, nequip = self.choose("sevennet"), self.choose("nequip")
        self.run_script("nvalchemi_all_export_envs")

        self.assertEqual(sevennet.stdout, f"{self.made('export')}\n", sevennet.stderr)
        self.assert_refused(nequip, "(a download of 10 MB, 45 MB on disk):")
        for family, environment in (
            ("pair", "export"),
            ("allegro", "export-nequip"),
            ("orb", "export-orb"),
            ("d3", "export-d3"),
        ):
            self.assertEqual(self.choose(family).stdout, f"{self.made(environment)}\n")

    def test_finds_it_from_a_shell_with_another_python(self):
        self.choose("mace", "--make-environment")
        self.program("python3", self.PYTHON.replace("echo 3.11", "echo 3.12"))

        self.assertEqual(self.choose("mace").stdout, f"{self.made('export-mace')}\n")
        self.assertNotIn("making", self.choose("mace", "--make-environment").stderr)

    def test_takes_no_unfinished_environment(self):
        self.choose("sevennet", "--make-environment")
        (self.made("export").parents[1] / "nvalchemi.stamp").unlink()

        self.assert_refused(self.choose("sevennet"), "there is no Python environment")

    def test_an_own_python_is_used_or_refused(self):
        self.choose("mace", "--make-environment")
        own = {"NVALCHEMI_EXPORT_PYTHON": "python3"}

        self.assertEqual(self.choose("mace", **own).stdout, "python3\n")
        self.assert_refused(
            self.choose("mace", LACKS="torch mace", **own),
            "NVALCHEMI_EXPORT_PYTHON=python3 has no torch and no mace",
            "unset it and run once:\n         nvalchemi-export mace --make-environment",
        )
        self.assert_refused(
            self.choose("mace", NVALCHEMI_EXPORT_PYTHON="/no/python3"),
            "NVALCHEMI_EXPORT_PYTHON=/no/python3 is no Python that starts",
            "Set it to a Python that has torch and mace, or unset it.",
        )
        self.assert_refused(
            self.choose("mace", "--make-environment", **own),
            "--make-environment: NVALCHEMI_EXPORT_PYTHON=python3 is set, which is used instead",
        )

    def test_the_python_of_a_wheel_is_used_if_it_has_the_packages(self):
        wheel = {"NVALCHEMI_WHEEL_PYTHON": str(self.bin / "python3")}

        self.assertEqual(self.choose("mace", **wheel).stdout, f"{self.bin}/python3\n")
        self.assert_refused(
            self.choose("mace", LACKS="mace", **wheel),
            f"\n         {self.bin}/python3 -m pip install mace-torch==0.3.16 e3nn==0.4.4\n",
            "nvalchemi-export mace --make-environment",
        )
        self.choose("mace", "--make-environment", **wheel)
        self.assertEqual(
            self.choose("mace", LACKS="mace", **wheel).stdout, f"{self.made('export-mace')}\n"
        )

    def test_a_family_that_needs_nothing_runs_with_any_python(self):
        self.assertEqual(self.choose("uma").stdout, "python3\n")

    def test_refuses_what_it_does_not_know(self):
        self.assert_refused(
            self.choose("other"), "got 'other', expected one of: sevennet example-network pair"
        )
        self.assert_refused(
            self.choose("mace", "--other"), "got '--other', expected --make-environment"
        )

    def test_d3_takes_nothing_but_its_package(self):
        said = self.choose("d3", "--make-environment").stderr

        self.assertRegex(said, "install .*--no-deps -r .*requirements-export-d3.txt")
        self.assertEqual(said.count("--no-deps"), 1)

    def test_a_package_that_does_not_import_is_named(self):
        self.program("python3", self.PYTHON.replace("*) true", "*mace*) exit 1 ;; *) true"))

        self.assert_refused(
            self.choose("mace", "--make-environment"), "'import torch, mace.calculators' fails in "
        )

    def test_every_exporter_has_its_row_and_every_environment_its_requirements(self):
        rows = [
            [field.strip() for field in line.split("|")]
            for line in (SETUP / "export_environments.txt").read_text().splitlines()
            if line and not line.startswith("#")
        ]
        families = {row[1]: row[2] for row in rows if row[0] == "family"}
        environments = [row[1] for row in rows if row[0] == "environment"]
        scripts = (SETUP.parents[1] / "potentials" / "exporters").glob("export_*.py")

        self.assertEqual(
            sorted(families),
            sorted(path.stem.removeprefix("export_").replace("_", "-") for path in scripts),
        )
        self.assertEqual({*families.values(), "-"}, {*environments, "-"})
        for name in environments:
            self.assertTrue((SETUP / f"requirements-{name}.txt").exists(), name)

    def test_a_test_without_an_environment_is_skipped_with_the_reason(self):
        script = SETUP.parents[1] / "unittest" / "with_export_python.sh"
        for words, reason in (
            (["mace"], f"there is no Python environment that exports mace in {self.cache} ("),
            (["interfaces"], "no Python with ASE and i-PI: 'bash unittest/run.sh' makes one"),
        ):
            finished = subprocess.run(
                ["bash", str(script), *words, "x.py"],
                capture_output=True,
                text=True,
                env=self.environment(),
            )
            self.assertEqual(finished.returncode, 77)
            self.assertIn(f"SKIPPED: {reason}", finished.stderr)

    def test_interfaces_find_the_packages_of_the_runtime_environment(self):
        runtime = self.cache / "runtime"
        packages = runtime / "lib" / "python3.11" / "site-packages"
        for folder in (packages, runtime / "bin"):
            folder.mkdir(parents=True)
        shutil.copy(self.bin / "python3", runtime / "bin" / "python3")
        script = f"NVALCHEMI_ENV_DIR={runtime}; nvalchemi_interfaces_env"
        first = self.run_script(f"{script}; echo $NVALCHEMI_INTERFACES_PYTHON")
        second = self.run_script(script)

        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("requirements-interfaces.txt", first.stdout)
        (made,) = self.cache.glob("interfaces-py3.11-*/bin/python3")
        self.assertEqual(first.stdout.split()[-1], str(made))
        (link,) = made.parents[1].rglob("*.pth")
        self.assertEqual(link.read_text(), f"{packages}\n")
        self.assertNotIn("pip of", second.stdout)


if __name__ == "__main__":
    unittest.main()
