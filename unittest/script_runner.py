# SPDX-License-Identifier: GPL-2.0-only
"""Runs a script of unittest cases as CTest does: counts assertions, writes the report of the cases.

python3 script_runner.py SCRIPT [ARGUMENT...]

A case that reaches no assertion fails, and so does a script that runs no case. The exit status is
77 if all cases were skipped, else that of the script. Assertions are those of unittest.TestCase,
numpy.testing and torch.testing.
"""

import functools
import importlib.abc
import importlib.machinery
import runpy
import sys
import unittest
from pathlib import Path

from test_report import Case, report_of_environment, write_report

__unittest = True  # keeps the frames of this module out of unittest's tracebacks

SKIPPED = 77
ASSERTING_MODULES = ("numpy.testing", "torch.testing")


class Assertions:
    """Counts the calls of what asserts."""

    def __init__(self):
        self.count = 0
        self.count_in(unittest.TestCase)

    def count_in(self, owner):
        for name in dir(owner):
            if name.startswith("assert") or (owner is unittest.TestCase and name == "fail"):
                setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, function):
        @functools.wraps(function)
        def count_and_call(*arguments, **options):
            self.count += 1
            return function(*arguments, **options)

        return count_and_call


ASSERTIONS = Assertions()
CASES = []


class AssertingModules(importlib.abc.MetaPathFinder):
    """Counts in numpy.testing and torch.testing from the moment when a script imports them."""

    def find_spec(self, name, path, target=None):
        if name not in ASSERTING_MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        load = spec.loader.exec_module

        def load_and_count(module):
            load(module)
            ASSERTIONS.count_in(module)

        spec.loader.exec_module = load_and_count
        return spec


def name_of(test):
    return test.id().removeprefix("__main__.")


class CaseResult(unittest.TextTestResult):
    """Fails a case that asserts nothing and keeps all cases for the report."""

    def startTest(self, test):
        super().startTest(test)
        ASSERTIONS.count = 0
        self.open_case(test)

    def stopTest(self, test):
        CASES[-1].assertions = ASSERTIONS.count
        super().stopTest(test)

    def open_case(self, test):
        CASES.append(Case(name_of(test), failures=[], skips=[]))
        return CASES[-1]

    def case_of(self, test):
        """The case that runs. What fails or is skipped outside of one (setUpClass) is its own."""
        whole = getattr(test, "test_case", test)  # of a subtest
        if isinstance(whole, unittest.TestCase):
            return CASES[-1]
        return self.open_case(test)

    def addSuccess(self, test):
        if ASSERTIONS.count == 0:
            text = f"{CASES[-1].name} asserts nothing: it reached no assertion"
            return self.addFailure(test, (AssertionError, AssertionError(text), None))
        return super().addSuccess(test)

    def addFailure(self, test, err):
        self.case_of(test).failures.append(str(err[1]))
        super().addFailure(test, err)

    def addError(self, test, err):
        self.case_of(test).failures.append(f"{err[0].__name__}: {err[1]}")
        super().addError(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.case_of(test).failures.append(f"{name_of(subtest)}: {err[1]}")
        super().addSubTest(test, subtest, err)

    def addUnexpectedSuccess(self, test):
        self.case_of(test).failures.append("passes, though it is expected to fail")
        super().addUnexpectedSuccess(test)

    def addSkip(self, test, reason):
        self.case_of(test).skips.append(reason)
        super().addSkip(test, reason)


def run(script):
    """Exit status of the script."""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return int(end.code or 0)
        print(end.code, file=sys.stderr)
        return 1
    return 0


def main():
    report = report_of_environment()
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(script).resolve().parent)
    sys.meta_path.insert(0, AssertingModules())
    unittest.TextTestRunner.resultclass = CaseResult
    status = run(script)
    if report and CASES:
        write_report(report, CASES)
    if not CASES and status != SKIPPED:
        print(f"{script}: ran no test case", file=sys.stderr)
        return status or 1
    if CASES and status == 0 and all(case.skips for case in CASES):
        print("SKIPPED: all cases")
        return SKIPPED
    return status


if __name__ == "__main__":
    sys.exit(main())
