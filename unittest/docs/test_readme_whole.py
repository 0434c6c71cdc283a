# SPDX-License-Identifier: GPL-2.0-only
"""Every command of the README in a fresh clone, typed into one terminal, in its order and in the
reverse: installs with pip, builds, runs the demo and the quick tests. Takes hours on two cores, and
uses the network and the user's cache as a user does."""

import tempfile
import unittest
from pathlib import Path

from readme import (
    command_blocks,
    findings,
    fresh_clone,
    in_order,
    minimal_input,
    run_shell,
    session,
)

HOURS = 3600


class WholeReadme(unittest.TestCase):
    def follow(self, reverse):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            clone = fresh_clone(Path(folder).resolve())
            script = session(in_order(command_blocks(), reverse), minimal_input())
            finished = run_shell(script, clone, 2 * HOURS, output=None)
            self.assertEqual(finished.returncode, 0, "its output stands above; 124: out of time")
            self.assertEqual(findings(clone), [])

    def test_in_its_order(self):
        self.follow(reverse=False)

    def test_in_the_reverse_order(self):
        self.follow(reverse=True)


if __name__ == "__main__":
    unittest.main()
