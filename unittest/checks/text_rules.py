# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the text of files: licence line, length, wording, what a tree must not name."""

import re

from source_tree import Finding, list_files, read_lines

MAX_LINES = 500
CODE_SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake"}
CODE_NAMES = {"CMakeLists.txt", "run"}
SPDX = "SPDX-License-Identifier: GPL-2.0-only"

# Hosts that a link may name: documentation and standards, never a package registry.
LINKED_HOSTS = (
    "www.lammps.org docs.lammps.org pytorch.org docs.pytorch.org doi.org arxiv.org github.com "
    "keepachangelog.com semver.org www.gnu.org www.fsf.org json-schema.org"
).split()

# One letter in brackets keeps a rule from finding itself.
WORDING = [
    (re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b"), "an open end: finish it or file it elsewhere"),
    (re.compile(r"(?<![\w.}])/(w[o]rk|r[o]ot|h[o]me)/\w"), "a path of one machine"),
    (re.compile(r"\bissues?\s*#?\d", re.IGNORECASE), "a number that only an issue tracker knows"),
    (re.compile(r"\b(p[y]pi|p[y]thonhosted|d[e]bian)\.org\b"), "a package registry's host name"),
    (re.compile(r"\b(eng[i]neer|h[e]lper) [A-F]\b"), "a name that only its authors know"),
    (
        re.compile(r"\b(cl[a]ude|anthr[o]pic|ch[a]tgpt|c[o]pilot)\b", re.IGNORECASE),
        "an author's tool",
    ),
]
LINK = re.compile(r"https?://([\w.-]+)")
DOCUMENT = re.compile(r"\b[\w/-]+\.(?:md|rst)\b(?!\.)")
QUOTED = re.compile(r"""("[^"]+"|'[^']+')""")


def is_code(path):
    return path.suffix in CODE_SUFFIXES or path.name in CODE_NAMES


def check_licence_line(path, lines):
    if is_code(path) and not any(SPDX in line for line in lines[:2]):
        yield Finding(str(path), 1, f"the first line, or the second after #!, must say {SPDX}")


def check_length(path, lines):
    if is_code(path) and len(lines) > MAX_LINES:
        yield Finding(
            str(path), len(lines), f"has {len(lines)} lines, at most {MAX_LINES} are allowed"
        )


def check_wording(path, lines):
    for number, line in enumerate(lines, 1):
        for pattern, meaning in WORDING:
            match = pattern.search(line)
            if match:
                yield Finding(str(path), number, f"'{match[0]}' is {meaning}")
        for host in LINK.findall(line):
            if host not in LINKED_HOSTS:
                yield Finding(str(path), number, f"links to {host}, which is not in LINKED_HOSTS")


def check_documents_exist(path, lines, names):
    """A comment must not send the reader to a document that is not in the tree."""
    if not is_code(path):
        return
    for number, line in enumerate(lines, 1):
        for document in DOCUMENT.findall(QUOTED.sub("", line)):
            if document.rsplit("/", 1)[-1] not in names:
                yield Finding(str(path), number, f"mentions {document}, which is not in this tree")


def check(root):
    files = list_files(root)
    names = {path.name for path in files}
    findings = []
    for path in files:
        lines = read_lines(root, path)
        findings.extend(check_licence_line(path, lines))
        findings.extend(check_length(path, lines))
        if path.name != "LICENSE":
            findings.extend(check_wording(path, lines))
        findings.extend(check_documents_exist(path, lines, names))
    return findings
