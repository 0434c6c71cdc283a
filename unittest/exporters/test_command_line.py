# SPDX-License-Identifier: GPL-2.0-only
"""What every exporter's command line shares, seen from outside."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import EXPORTERS, REPOSITORY

SCRIPT = EXPORTERS / "export_example_network.py"
OWN = REPOSITORY / "examples" / "lammps" / "named_inputs" / "export_magnet.py"


def run(script, *words):
    return subprocess.run(
        [sys.executable, str(script), *words], capture_output=True, text=True, timeout=120
    )


class CommandLine(unittest.TestCase):
    def test_version_is_that_of_the_project(self):
        project = (REPOSITORY / "CMakeLists.txt").read_text()
        version = re.search(r"VERSION (\d+\.\d+\.\d+)", project)[1]

        self.assertEqual(
            run(SCRIPT, "--version").stdout, f"nvalchemi-export-example-network {version}\n"
        )
        self.assertEqual(run(OWN, "--version").stdout, f"export_magnet.py {version}\n")

    def test_an_installation_has_the_version_beside_the_exporters(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(EXPORTERS, Path(folder) / "exporters")
            self.assertIn("unrecognized", run(copy / SCRIPT.name, "--version").stderr)
            (copy / "version.txt").write_text("7.8.9\n")
            self.assertIn(" 7.8.9\n", run(copy / SCRIPT.name, "--version").stdout)

    def test_an_error_is_itself_and_where_help_is(self):
        for words, text in (
            (("--dtype", "single"), "argument --dtype: invalid choice: 'single'"),
            (("--layers",), "argument --layers: expected one argument"),
            (("more",), "unrecognized arguments: more"),
        ):
            done = run(SCRIPT, *words)
            self.assertEqual(done.returncode, 2)
            error, where = done.stderr.splitlines()
            self.assertIn(f"nvalchemi-export-example-network: {text}", error)
            self.assertEqual(where, "see nvalchemi-export-example-network --help")

    def test_options_have_one_spelling(self):
        self.assertIn("unrecognized arguments: --dtyp", run(SCRIPT, "--dtyp", "float32").stderr)


if __name__ == "__main__":
    unittest.main()
