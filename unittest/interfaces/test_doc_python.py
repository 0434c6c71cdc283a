# SPDX-License-Identifier: GPL-2.0-only
"""Runs the Python blocks of the page on Python, each as a program of its own."""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from crystals import ARCHIVE, REPOSITORY, skip_without_lammps_module

PAGE = REPOSITORY / "doc" / "python.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.MULTILINE)


class PythonBlocks(unittest.TestCase):
    def test_each_runs_and_prints(self):
        blocks = [textwrap.dedent(found) for found in BLOCK.findall(PAGE.read_text())]
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            with self.subTest(block=block.splitlines()[0]), tempfile.TemporaryDirectory() as folder:
                shutil.copy(ARCHIVE, Path(folder) / "model.pt")
                finished = subprocess.run(
                    [sys.executable, "-c", block], cwd=folder, capture_output=True, text=True
                )
                self.assertEqual(finished.returncode, 0, finished.stdout + finished.stderr)
                self.assertRegex(finished.stdout, r"-?\d+\.\d+ ")


if __name__ == "__main__":
    skip_without_lammps_module()
    unittest.main()
