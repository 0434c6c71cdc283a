# SPDX-License-Identifier: GPL-2.0-only
"""The page about public reports: each line is complete, and each test that it names exists."""

import ast
import re
import unittest
from pathlib import Path

from source_tree import REPOSITORY

PAGE = REPOSITORY / "doc" / "reports.rst"
REPORTS = 54  # lines about public reports
NAMED_TEST = re.compile(r"``([\w/]+\.(?:py|cpp|cu)) (\w+)\.(\w+)``")
GTEST = r"TEST(?:_[FP])?\({suite},\s*{name}\)"


def read_lines(text):
    """The lines of the page's tables: lists of four cells."""
    lines = []
    for block in re.split(r"^   \* - ", text, flags=re.M)[1:]:
        cells = re.split(r"^     - ", block, flags=re.M)
        if cells[0].strip() != "report":
            cells[-1] = cells[-1].split("\n\n")[0]
            lines.append([cell.strip() for cell in cells])
    return lines


def has_python_test(source, suite, name):
    return any(
        isinstance(node, ast.ClassDef)
        and node.name == suite
        and any(isinstance(part, ast.FunctionDef) and part.name == name for part in node.body)
        for node in ast.parse(source).body
    )


def problem_of(root, file, suite, name):
    """What is wrong with a named test, or nothing."""
    path = root / "unittest" / file
    if not path.is_file():
        return f"unittest/{file} does not exist"
    source = path.read_text()
    if path.suffix == ".py":
        found = has_python_test(source, suite, name)
    else:
        found = re.search("(?:TYPED_)?" + GTEST.format(suite=suite, name=name), source)
    if not found:
        return f"unittest/{file} has no test {suite}.{name}"
    registered = (path.parent / "CMakeLists.txt").read_text()
    if path.name not in registered and not re.search(
        rf"\b{path.stem.removeprefix('test_')}\b", registered
    ):
        # a name may be put together from a prefix and a list of subjects
        prefix, _, subject = path.stem.removeprefix("test_").partition("_")
        if prefix not in registered or not re.search(rf"\b{subject}\b", registered):
            return f"unittest/{file} is not registered in CMakeLists.txt"
    return ""


class ReportsTable(unittest.TestCase):
    def test_has_a_line_for_each_report_with_its_address_and_tests(self):
        lines = read_lines(PAGE.read_text())
        reports = [line for line in lines if "<https://" in line[0]]
        self.assertEqual(len(reports), REPORTS)
        self.assertEqual(len({line[0] for line in reports}), REPORTS)
        for line in lines:
            with self.subTest(report=line[0]):
                self.assertEqual(len(line), 4)
                self.assertTrue(all(line))
                self.assertTrue(NAMED_TEST.search(line[3]))
                self.assertEqual(NAMED_TEST.sub("", line[3]).strip("| \n"), "")

    def test_names_tests_that_exist(self):
        named = set(NAMED_TEST.findall(PAGE.read_text()))
        self.assertGreater(len(named), REPORTS)
        problems = [problem_of(REPOSITORY, *test) for test in sorted(named)]
        self.assertEqual([problem for problem in problems if problem], [])

    def test_finds_a_test_that_is_not_there(self):
        here = f"checks/{Path(__file__).name}"
        own = "test_finds_a_test_that_is_not_there"
        self.assertEqual(problem_of(REPOSITORY, here, "ReportsTable", own), "")
        for test in (
            ("checks/test_nothing.py", "ReportsTable", own),
            (here, "ReportsTable", "test_that_was_renamed"),
            (here, "AnotherClass", own),
            ("mpi/test_mpi_exchange.cpp", "MpiExchange", "WasRenamed"),
            ("mpi/suite.py", "LammpsTest", "setUp"),
        ):
            with self.subTest(test=test):
                self.assertNotEqual(problem_of(REPOSITORY, *test), "")


if __name__ == "__main__":
    unittest.main()
