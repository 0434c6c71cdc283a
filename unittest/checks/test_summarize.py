# SPDX-License-Identifier: GPL-2.0-only
"""The closing page of a test run. Programs that test nothing are planted: none may count as passed.

CTest itself runs the planted programs, as they are registered by cmake/testing.cmake.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

UNITTEST = Path(__file__).resolve().parents[1]
PLANTED = Path(os.environ["NVALCHEMI_PLANTED_EMPTY_CASES"])
RUNNER = [sys.executable, str(UNITTEST / "script_runner.py")]

ASSERTS_NOTHING = """
import unittest
class Planted(unittest.TestCase):
    def test_asserts(self):
        self.assertEqual(1, 1)
    def test_asserts_nothing(self):
        for number in []:
            self.assertEqual(number, 0)
unittest.main()
"""
NO_TEST = "import unittest\nunittest.main()\n"
SKIPS = """
import sys, unittest
class Planted(unittest.TestCase):
    def test_asserts(self):
        self.assertEqual(1, 1)
    @unittest.skip("no GPU")
    def test_skipped_by_decorator(self):
        pass
    def test_skipped_by_itself(self):
        self.skipTest("no archive")
    def test_skipped_in_part(self):
        self.assertEqual(1, 1)
        with self.subTest("part"):
            self.skipTest("no archive")
class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("no package")
    def test_skipped_with_its_class(self):
        pass
unittest.main(argv=sys.argv[:1] + (["Whole"] if "--whole" in sys.argv else []))
"""
FAILS = """
import unittest
class Planted(unittest.TestCase):
    def test_fails(self):
        self.assertEqual(1, 2)
    def test_fails_in_part(self):
        with self.subTest("part"):
            self.fail("in part")
    def test_is_wrong(self):
        self.assertEqual(1, 1)
        raise RuntimeError("wrong")
unittest.main(warnings="ignore")
"""


class PlantedRun(unittest.TestCase):
    """A folder of tests for CTest."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        (self.build / "unittest").mkdir()
        self.listing = []

    def plant(self, name, *command, command_only=False):
        words = " ".join(f"[==[{word}]==]" for word in command)
        report = self.build / "unittest" / "reports" / f"{name}.xml"
        self.listing.append(
            f"add_test([==[{name}]==] {words})\n"
            f"set_tests_properties([==[{name}]==] PROPERTIES SKIP_RETURN_CODE 77"
            f" ENVIRONMENT [==[NVALCHEMI_TEST_REPORT={report}]==])\n"
        )
        if command_only:
            (self.build / "unittest" / "commands").mkdir(exist_ok=True)
            (self.build / "unittest" / "commands" / name).touch()

    def plant_script(self, name, text, *arguments):
        script = self.build / f"{name}.py"
        script.write_text(text)
        self.plant(name, *RUNNER, str(script), *arguments)

    def run_ctest(self):
        (self.build / "CTestTestfile.cmake").write_text("".join(self.listing))
        self.ctest = subprocess.run(
            ["ctest", "--output-junit", self.build / "tests.xml"],
            cwd=self.build,
            capture_output=True,
            text=True,
        )

    def summary(self):
        """(lines of the page, exit status)"""
        finished = subprocess.run(
            [sys.executable, "-sE", UNITTEST / "summarize.py", self.build],
            capture_output=True,
            text=True,
        )
        self.assertEqual(finished.stderr, "")
        return finished.stdout.splitlines(), finished.returncode

    def expect(self, closing, *lines, status=1):
        self.run_ctest()
        page, found_status = self.summary()
        text = "\n".join(page)
        self.assertEqual(page[-1], closing, text)
        for line in lines:
            self.assertIn(line, text)
        self.assertEqual(found_status, status, text)

    def expect_ctest_failed(self, count):
        """CTest alone sees it too, without the page."""
        self.assertIn(f"{count} tests failed out of", self.ctest.stdout)


class GoogleTestProgram(PlantedRun):
    def test_that_asserts(self):
        self.plant("good", PLANTED, "--gtest_filter=Planted.Asserts")
        self.expect("1 passed, 0 failed", status=0)

    def test_without_tests(self):
        self.plant("empty", PLANTED, "--gtest_filter=None.AtAll")
        self.expect("0 passed, 1 failed", "  empty: its report has no cases: it tests nothing")
        self.expect_ctest_failed(1)

    def test_that_asserts_nothing(self):
        self.plant("idle", PLANTED, "--gtest_filter=Planted.Asserts*")
        self.expect("1 passed, 1 failed", "  idle: Planted.AssertsNothing: ", "asserts nothing")
        self.expect_ctest_failed(1)

    def test_that_skips_all(self):
        self.plant("away", PLANTED, "--gtest_filter=Planted.Is*")
        self.expect(
            "0 passed, 0 failed, 1 skipped", "   1  for want of a reason  (away 1)", status=0
        )
        self.assertIn("(Skipped)", self.ctest.stdout)

    def test_that_skips_one(self):
        self.plant("some", PLANTED, "--gtest_filter=Planted.Asserts:Planted.IsSkipped")
        self.expect(
            "1 passed, 0 failed, 1 skipped", "   1  for want of a reason  (some 1)", status=0
        )

    def test_with_a_disabled_test(self):
        self.plant("off", PLANTED, "--gtest_filter=Planted.Asserts:*Disabled")
        self.expect("1 passed, 0 failed, 1 skipped", "   1  DISABLED_ in its name", status=0)


class Script(PlantedRun):
    def test_without_tests(self):
        self.plant_script("empty", NO_TEST)
        self.expect("0 passed, 1 failed", "  empty: it ended before it wrote a report of its cases")
        self.expect_ctest_failed(1)

    def test_that_asserts_nothing(self):
        self.plant_script("idle", ASSERTS_NOTHING)
        self.expect(
            "1 passed, 1 failed",
            "  idle: Planted.test_asserts_nothing: Planted.test_asserts_nothing asserts nothing",
        )
        self.expect_ctest_failed(1)

    def test_that_skips_some(self):
        self.plant_script("some", SKIPS)
        self.expect(
            "1 passed, 0 failed, 4 skipped",
            "   2  no archive  (some 2)",
            "   1  no GPU  (some 1)",
            "   1  no package  (some 1)",
            status=0,
        )

    def test_that_skips_all(self):
        self.plant_script("away", SKIPS, "--whole")
        self.expect("0 passed, 0 failed, 1 skipped", "   1  no package  (away 1)", status=0)
        self.assertIn("(Skipped)", self.ctest.stdout)

    def test_that_skips_itself(self):
        self.plant_script("away", "print('SKIPPED: no lmp')\nraise SystemExit(77)\n")
        self.expect("0 passed, 0 failed, 1 skipped", "   1  no lmp  (away 1)", status=0)

    def test_that_fails(self):
        self.plant_script("bad", FAILS)
        self.expect(
            "0 passed, 3 failed",
            "  bad: Planted.test_fails: 1 != 2",
            "  bad: Planted.test_fails_in_part: Planted.test_fails_in_part [part]: in part",
            "  bad: Planted.test_is_wrong: RuntimeError: wrong",
        )

    def test_that_ends_with_a_text(self):
        self.plant_script("bad", "raise SystemExit('a text')\n")
        self.expect("0 passed, 1 failed")
        self.expect_ctest_failed(1)


class AnyProgram(PlantedRun):
    def test_that_reports_nothing(self):
        self.plant("silent", "true")
        self.expect("0 passed, 1 failed", "  silent: it passed without a report of its cases")

    def test_that_need_not_report(self):
        self.plant("one", "true", command_only=True)
        self.plant("two", "false", command_only=True)
        self.expect("1 passed, 1 failed", "  two: it failed")

    def test_that_is_not_there(self):
        self.plant("absent", str(self.build / "absent"))
        self.expect("0 passed, 1 failed", "  absent: it did not run: Unable to find executable")

    def test_with_reports_that_cannot_be_read(self):
        path = self.build / "unittest" / "reports" / "half.xml"
        self.plant("half", "sh", "-c", f"mkdir -p {path.parent}; echo '<testsuites>' >{path}")
        self.expect("0 passed, 1 failed", f"  half: its report {path} cannot be read: ")

    def test_with_cases_that_are_not_counted(self):
        path = self.build / "unittest" / "reports" / "plain.xml"
        text = '<testsuites><testcase classname="A" name="b"/></testsuites>'
        self.plant("plain", "sh", "-c", f"mkdir -p {path.parent}; echo '{text}' >{path}")
        self.expect("0 passed, 1 failed", "  plain: A.b: it asserts nothing")

    def test_that_fails_outside_of_its_cases(self):
        filtered = f"{PLANTED} --gtest_filter=Planted.Asserts"
        self.plant("late", "sh", "-c", f"{filtered} && exit 3")
        self.expect("1 passed, 1 failed", "  late: it failed, though none of its cases did")


class Page(PlantedRun):
    def test_says_what_was_left_out(self):
        (self.build / "left_out.txt").write_text("LAMMPS with KOKKOS: no xz\n")
        self.plant("one", "true", command_only=True)
        self.expect("1 passed, 0 failed", "Left out:\n  LAMMPS with KOKKOS: no xz\n", status=0)

    def test_lists_the_slowest_first_and_the_sum(self):
        for name, seconds in (("fast", "0"), ("slow", "0.7")):
            self.plant(name, "sleep", seconds, command_only=True)
        self.run_ctest()
        page, _ = self.summary()
        start = page.index("The slowest programs:")
        self.assertRegex(page[start + 1], r"^ +\d\.\d s  slow$")
        self.assertRegex(page[start + 2], r"^ +\d\.\d s  fast$")
        seconds = [float(line.split()[0]) for line in page[start + 1 : start + 4]]
        self.assertAlmostEqual(seconds[2], seconds[0] + seconds[1], delta=0.11)
        self.assertIn(" s  the sum of all 2 programs", page[start + 3])

    def test_needs_a_run(self):
        finished = subprocess.run(
            [sys.executable, "-sE", UNITTEST / "summarize.py", self.build],
            capture_output=True,
            text=True,
        )
        self.assertIn("tests.xml: not found, so no test was run", finished.stderr)
        self.assertEqual(finished.returncode, 1)


class RunScript(PlantedRun):
    def test_fails_if_the_sum_does(self):
        """The last lines of run.sh itself, after a ctest that finds nothing wrong."""
        text = (UNITTEST / "run.sh").read_text()
        end = text[text.index('"${NVALCHEMI_ENV_DIR}/bin/python3" -sE') :]
        self.plant("silent", "true")
        self.run_ctest()
        self.assertEqual(self.ctest.returncode, 0)
        finished = subprocess.run(
            ["bash", "-euc", f"ctest_status=0\n{end}"],
            env={
                **os.environ,
                "NVALCHEMI_ENV_DIR": sys.prefix,
                "NVALCHEMI_REPO": str(UNITTEST.parent),
                "NVALCHEMI_BUILD_DIR": str(self.build),
            },
            capture_output=True,
            text=True,
        )
        self.assertEqual(finished.stdout.splitlines()[-1], "0 passed, 1 failed")
        self.assertEqual(finished.returncode, 1)

    def test_forgets_the_reports_of_earlier_runs(self):
        """The function of run.sh itself, with a ctest that does nothing."""
        text = (UNITTEST / "run.sh").read_text()
        function = text[text.index("run_ctest() {") : text.index("# Nobody rebuilds")]
        with tempfile.TemporaryDirectory() as folder:
            stale = Path(folder) / "unittest" / "reports" / "stale.xml"
            stale.parent.mkdir(parents=True)
            stale.touch()
            subprocess.run(
                ["bash", "-euc", f"ctest() {{ :; }}; ctest_arguments=(-N); {function}\nrun_ctest"],
                env={**os.environ, "NVALCHEMI_BUILD_DIR": folder},
                check=True,
            )
            self.assertFalse(stale.exists())


if __name__ == "__main__":
    if not shutil.which("ctest"):
        print("SKIPPED: no ctest on the path")
        sys.exit(77)
    unittest.main()
