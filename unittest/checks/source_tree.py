# SPDX-License-Identifier: GPL-2.0-only
"""Which files belong to the source tree, and how a finding about one of them is told."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
IGNORED_FOLDERS = {".git", "__pycache__", "build", ".cache"}


@dataclass(frozen=True)
class Finding:
    """Something that a rule forbids, at a line (from 1) of a file below the root of the tree."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


def _listed_by_git(root):
    command = [
        "git",
        "-C",
        str(root),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [root / name for name in listing.split("\0") if name]


def _walked(root):
    """For a tree that is no git checkout, such as an unpacked release."""
    return [
        path
        for path in root.rglob("*")
        if not any(
            part in IGNORED_FOLDERS or part.startswith("build-")
            for part in path.relative_to(root).parts
        )
    ]


def list_files(root):
    """Relative paths of all files of the tree, sorted."""
    is_checkout = (root / ".git").exists()
    found = (_listed_by_git(root) if is_checkout else None) or _walked(root)
    return sorted(path.relative_to(root) for path in found if path.is_file())


def read_lines(root, path):
    """Lines of a text file without their ends; none for a binary file."""
    data = (root / path).read_bytes()
    return [] if b"\0" in data else data.decode("utf-8", errors="replace").splitlines()
