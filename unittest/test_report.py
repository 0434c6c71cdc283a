# SPDX-License-Identifier: GPL-2.0-only
"""The report of a test program: its cases, in the XML that GoogleTest writes.

CTest names the file in NVALCHEMI_TEST_REPORT (cmake/testing.cmake). GoogleTest programs write it
through unittest/counted_tests.hpp, Python's unittest through script_runner.py, and a script with
cases of its own through write_report.
"""

import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "NVALCHEMI_TEST_REPORT"
PLACE = re.compile(r"\A\S+:\d+\n(?:Failed\n)?")


@dataclass
class Case:
    name: str
    assertions: int = 0  # that were reached
    failures: Sequence[str] = ()
    skips: Sequence[str] = ()  # reasons


def report_of_environment():
    """The file to write or None; programs that are started later do not see it."""
    path = os.environ.pop(VARIABLE, None)
    return path and Path(path)


def write_report(path, cases):
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite")
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", name=case.name)
        for tag, texts in (("failure", case.failures), ("skipped", case.skips)):
            for text in texts:
                ElementTree.SubElement(element, tag, message=printable(text))
        properties = ElementTree.SubElement(element, "properties")
        ElementTree.SubElement(
            properties, "property", name="assertions", value=str(case.assertions)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def printable(text):
    """Without what XML cannot hold."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "?" for character in text
    )


def read_report(path):
    """The cases of a report; xml.etree.ElementTree.ParseError if it is none."""
    return [read_case(element) for element in ElementTree.parse(path).getroot().iter("testcase")]


def read_case(element):
    name = ".".join(filter(None, (element.get("classname"), element.get("name"))))
    assertions = element.find("properties/property[@name='assertions']")
    skips = [told(skip.get("message", "")) for skip in element.iter("skipped")]
    if element.get("status") == "notrun":
        skips.append("DISABLED_ in its name")
    return Case(
        name,
        0 if assertions is None else int(assertions.get("value")),
        [told(failure.get("message", "")) for failure in element.iter("failure")],
        skips,
    )


def told(message):
    """What the test says. GoogleTest writes the place and, for FAIL(), 'Failed' before it."""
    return PLACE.sub("", message).strip() or message.strip() or "it gives no reason"
