# SPDX-License-Identifier: GPL-2.0-only
"""The closing lines of a test run, from a JUnit file as CTest writes it."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import summarize  # noqa: E402

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4">
  <testcase name="fast" time="0.25" status="run"/>
  <testcase name="slow" time="7.5" status="run"/>
  <testcase name="wrong" time="1.0" status="fail"><failure message=""/></testcase>
  <testcase name="absent" time="0" status="notrun"><skipped message=""/></testcase>
</testsuite>
"""


class Summary(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tests.xml"
            path.write_text(JUNIT)
            self.lines = summarize.report(summarize.read_tests(path)).splitlines()

    def test_ends_with_the_counts(self):
        self.assertEqual(self.lines[-1], "2 passed, 1 failed, 1 skipped")

    def test_lists_the_slowest_first_and_the_sum(self):
        start = self.lines.index("The slowest tests:")

        self.assertIn("7.5 s  slow", self.lines[start + 1])
        self.assertIn("1.0 s  wrong  (failed)", self.lines[start + 2])
        self.assertIn("8.8 s  the sum of all 4 tests", self.lines[start + 5])

    def test_names_what_did_not_pass(self):
        self.assertIn("  failed: wrong", self.lines)
        self.assertIn("  skipped: absent", self.lines)

    def test_tells_what_was_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "left_out.txt"
            self.assertEqual(summarize.left_out(path), "")
            for text, expected in (("\n", ""), ("A: none\n", "\nLeft out:\n  A: none\n")):
                path.write_text(text)
                self.assertEqual(summarize.left_out(path), expected)

    def test_counts_an_unknown_status_as_failed(self):
        self.assertEqual(summarize.OUTCOMES.get("surprise", "failed"), "failed")


if __name__ == "__main__":
    unittest.main()
