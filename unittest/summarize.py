# SPDX-License-Identifier: GPL-2.0-only
"""Prints the sum of a CTest run: the slowest programs, what was left out or skipped and why, what
failed and, last, how many test cases passed, failed and were skipped. Exit status 1 if any failed.

python3 summarize.py BUILD

Reads BUILD/tests.xml (ctest --output-junit), the reports of the programs in BUILD/unittest/reports
(test_report.py) and, where there is one, BUILD/left_out.txt, lines of 'WHAT: WHY'. A program that
CTest calls passed has failed nonetheless if it wrote no report, or if one of its cases asserts
nothing. A test with the label 'command' (there is BUILD/unittest/commands/NAME) need not write one,
and is one case then.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from test_report import Case, read_report

RAN = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}
# What CTest says of a test that skipped itself; any other test that did not run is a fault.
SKIPPED_ITSELF = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")
SKIPPED_LINE = "SKIPPED:"


@dataclass
class Program:
    """A test of CTest."""

    name: str
    outcome: str
    seconds: float
    message: str = ""  # why it did not run
    output: str = ""


def read_programs(path):
    suite = ElementTree.parse(path).getroot()
    return [read_program(element) for element in suite.iter("testcase")]


def read_program(element):
    skipped = element.find("skipped")
    return Program(
        element.get("name"),
        RAN.get(element.get("status"), "failed"),
        float(element.get("time", 0)),
        "" if skipped is None else skipped.get("message", ""),
        element.findtext("system-out", ""),
    )


# --- the cases of a program ---


def outcome(case):
    if case.failures:
        return "failed"
    return "skipped" if case.skips else "passed"


def cases_of(program, folder):
    """All cases; what is wrong with the program as a whole is a failed case of its name."""
    cases, problem = reported_cases(program, folder)
    for case in cases:
        if outcome(case) == "passed" and case.assertions == 0:
            case.failures = ["it asserts nothing"]
    if not cases and not problem:
        return [case_of_program(program)]
    if program.outcome == "failed" and all(outcome(case) != "failed" for case in cases):
        problem = problem or "it failed, though none of its cases did"
    return cases + ([Case(program.name, failures=[problem])] if problem else [])


def reported_cases(program, folder):
    """(cases, what is wrong with the report or None)"""
    path = folder / "reports" / f"{program.name}.xml"
    try:
        cases = read_report(path)
    except FileNotFoundError:
        if program.outcome == "skipped" or (folder / "commands" / program.name).exists():
            return [], None
        if program.outcome == "failed":
            return [], "it ended before it wrote a report of its cases"
        return [], f"it passed without a report of its cases (expected {path})"
    except (ElementTree.ParseError, ValueError) as error:
        return [], f"its report {path} cannot be read: {error}"
    return cases, None if cases else "its report has no cases: it tests nothing"


def case_of_program(program):
    if program.outcome == "passed":
        return Case(program.name, assertions=1)
    if program.outcome == "failed":
        return Case(program.name, failures=["it failed"])
    if program.message and not program.message.startswith(SKIPPED_ITSELF):
        return Case(program.name, failures=[f"it did not run: {program.message}"])
    return Case(program.name, skips=[reason_in(program.output)])


def reason_in(output):
    for line in output.splitlines():
        if line.strip().startswith(SKIPPED_LINE):
            return line.strip()[len(SKIPPED_LINE) :].strip()
    return output.strip().splitlines()[-1] if output.strip() else "it gives no reason"


# --- the page ---


def slowest_lines(programs):
    yield "The slowest programs:"
    for program in sorted(programs, key=lambda program: -program.seconds)[:10]:
        note = "" if program.outcome == "passed" else f"  ({program.outcome})"
        yield f"  {program.seconds:7.1f} s  {program.name}{note}"
    total = sum(program.seconds for program in programs)
    yield f"  {total:7.1f} s  the sum of all {len(programs)} programs"


def left_out_lines(path):
    if path.is_file():
        yield ""
        yield "Left out:"
        yield from (f"  {line}" for line in path.read_text().splitlines() if line)


def skipped_lines(found):
    """`found`: (program, case) of all. One line for each reason, with the programs that give it."""
    programs = defaultdict(Counter)
    for program, case in found:
        if outcome(case) == "skipped":
            programs["; ".join(dict.fromkeys(case.skips))][program.name] += 1
    if programs:
        yield ""
        yield "Skipped:"
    for reason, of_program in sorted(programs.items(), key=lambda item: -item[1].total()):
        names = ", ".join(f"{name} {count}" for name, count in of_program.items())
        yield f"  {of_program.total():4d}  {reason}  ({names})"


def failed_lines(found):
    failed = [(program, case) for program, case in found if outcome(case) == "failed"]
    if failed:
        yield ""
        yield "Failed:"
    for program, case in failed:
        name = program.name if case.name == program.name else f"{program.name}: {case.name}"
        yield f"  {name}: {case.failures[0].splitlines()[0]}"


def summarize(build):
    """(text, whether all is well). The last line is 'N passed, N failed', with ', N skipped'."""
    programs = read_programs(build / "tests.xml")
    folder = build / "unittest"
    found = [(program, case) for program in programs for case in cases_of(program, folder)]
    count = Counter(outcome(case) for _, case in found)
    closing = f"{count['passed']} passed, {count['failed']} failed"
    closing += f", {count['skipped']} skipped" if count["skipped"] else ""
    lines = [
        "",
        *slowest_lines(programs),
        *left_out_lines(build / "left_out.txt"),
        *skipped_lines(found),
        *failed_lines(found),
        "",
        closing,
    ]
    return "\n".join(lines), count["failed"] == 0


def main():
    build = Path(sys.argv[1])
    if not (build / "tests.xml").is_file():
        sys.exit(f"{build / 'tests.xml'}: not found, so no test was run")
    text, well = summarize(build)
    print(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
