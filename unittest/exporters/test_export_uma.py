# SPDX-License-Identifier: GPL-2.0-only
"""The exporter of UMA stops, and says what is missing."""

import subprocess
import sys
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "potentials" / "exporters" / "export_uma.py"


class ExportUma(unittest.TestCase):
    def test_says_what_is_missing(self):
        for words, text in (
            ((), "weights: not part of this package; ask their authors for them"),
            (("uma.pt",), "weights: uma.pt is not read: its layout is not known here"),
        ):
            done = subprocess.run(
                [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=60
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
            self.assertIn("cannot be compiled to TorchScript", done.stderr)
            self.assertIn("examples/lammps/escn", done.stderr)


if __name__ == "__main__":
    unittest.main()
