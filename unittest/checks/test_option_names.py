# SPDX-License-Identifier: GPL-2.0-only
"""An option of one meaning has one name in all of the package's programs."""

import re
import unittest

from source_tree import REPOSITORY

# Names that a new option could have by mistake: what it is called everywhere.
CALLED = {
    "--library": "--ops",
    "--libraries": "--ops",
    "--precision": "--dtype",
    "--out": "--output",
    "--output-file": "--output",
    "--archive-file": "--archive",
    "--task": "--modal",
    "--fidelity": "--modal",
    "--nprocs": "--ranks",
    "--np": "--ranks",
    "--species": "--elements",
    "--r-max": "--cutoff",
}
PYTHON = ("potentials/exporters", "examples", "unittest/docs", "unittest/mpi", "unittest/benchmark")


def options_of_python(text):
    """Each option that argparse is told of."""
    calls = re.findall(r"add_argument\(\s*((?:\"[^\"]+\",?\s*)+)", text)
    return [name for call in calls for name in re.findall(r"\"(--[^\"]+)\"", call)]


def options_of_tool(text):
    """Each option that the usage of a compiled tool names."""
    usage = text[text.index("kUsage") :]
    return re.findall(r"(?<![\w-])--[a-z][\w-]*", usage[: usage.index(";\n\n")])


def programs():
    """{path: options}"""
    found = {}
    for folder in PYTHON:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            found[path] = options_of_python(path.read_text())
    for path in sorted((REPOSITORY / "potentials" / "tools").glob("nvalchemi_*.cpp")):
        found[path] = options_of_tool(path.read_text())
    return {path: options for path, options in found.items() if options}


class OptionNames(unittest.TestCase):
    def test_no_option_has_a_second_name(self):
        for path, options in programs().items():
            for option in options:
                with self.subTest(path=path.relative_to(REPOSITORY), option=option):
                    self.assertNotIn(option, CALLED, f"it is called {CALLED.get(option)}")
                    self.assertRegex(option, r"^--[a-z0-9]+(-[a-z0-9]+)*$", "expected dashes")

    def test_finds_the_options_of_all_kinds_of_programs(self):
        by_name = {path.name: options for path, options in programs().items()}

        self.assertIn("--output", by_name["command_line.py"])
        self.assertIn("--archive", by_name["nvalchemi_validate.cpp"])
        self.assertIn("--structure", by_name["nvalchemi_evaluate.cpp"])
        self.assertEqual(
            options_of_python(
                'add_argument("-x", "--long_name", type=int)\nadd_argument(\n "--b")'
            ),
            ["--long_name", "--b"],
        )


if __name__ == "__main__":
    unittest.main()
