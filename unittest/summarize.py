# SPDX-License-Identifier: GPL-2.0-only
"""Prints the sum of a CTest run, its slowest tests and, last, how many passed and failed.

python3 summarize.py tests.xml      (written by ctest --output-junit)

left_out.txt beside it, where there is one, names what was not tested, in lines 'WHAT: WHY'.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

OUTCOMES = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}


def read_tests(path):
    """List of (name, outcome, seconds) of a JUnit file by CTest."""
    suite = ElementTree.parse(path).getroot()
    return [
        (case.get("name"), OUTCOMES.get(case.get("status"), "failed"), float(case.get("time", 0)))
        for case in suite.iter("testcase")
    ]


def report(tests):
    """The report as text; its last line is 'N passed, N failed' with the skipped ones, if any."""
    lines = ["", "The slowest tests:"]
    for name, outcome, seconds in sorted(tests, key=lambda test: -test[2])[:10]:
        lines.append(
            f"  {seconds:7.1f} s  {name}" + ("" if outcome == "passed" else f"  ({outcome})")
        )
    lines.append(f"  {sum(test[2] for test in tests):7.1f} s  the sum of all {len(tests)} tests")
    lines.append("")
    for name, outcome, _ in tests:
        if outcome != "passed":
            lines.append(f"  {outcome}: {name}")
    count = Counter(outcome for _, outcome, _ in tests)
    closing = f"{count['passed']} passed, {count['failed']} failed"
    lines.append(closing + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return "\n".join(lines)


def left_out(path):
    """The parts that were not tested as text, empty if there are none."""
    lines = path.read_text().split("\n") if path.is_file() else []
    found = [f"  {line}\n" for line in lines if line]
    return "".join(["\nLeft out:\n", *found]) if found else ""


def main():
    path = Path(sys.argv[1])
    if not path.is_file():
        sys.exit(f"{path}: not found, so no test was run")
    print(left_out(path.with_name("left_out.txt")) + report(read_tests(path)))


if __name__ == "__main__":
    main()
