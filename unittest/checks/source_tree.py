# SPDX-License-Identifier: GPL-2.0-only
"""Which files belong to the source tree, and how a finding about one of them is told.

These are the files that git tracks, so that an environment or the results of a run in the same
folder do not matter; a new file counts from `git add` on. An unpacked release has no git: there,
these are the files of the folders named below that .gitignore does not name.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOP_FOLDERS = ".ci cmake doc examples kernels potentials spec src unittest".split()
TOP_FILES = (
    ".clang-format .clang-tidy .gitignore .pre-commit-config.yaml CHANGELOG.md CMakeLists.txt "
    "CMakePresets.json LICENSE README.md pyproject.toml"
).split()


@dataclass(frozen=True)
class Finding:
    """Something that a rule forbids, at a line (from 1) of a file below the root of the tree."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


def _tracked(root):
    """What git tracks, or None without git or a checkout."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [Path(name) for name in listing.split("\0") if name]


def _ignored_patterns(root):
    path = root / ".gitignore"
    lines = path.read_text().splitlines() if path.is_file() else []
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def _is_ignored(path, patterns):
    """Whether a pattern names the path; one without a slash in front, its last parts."""
    return any(Path("/", path).match(pattern) for pattern in patterns)


def _walked(root):
    patterns = _ignored_patterns(root)
    yield from map(Path, TOP_FILES)
    for top in TOP_FOLDERS:
        for folder, folders, names in os.walk(root / top):
            place = Path(folder).relative_to(root)
            folders[:] = [name for name in folders if not _is_ignored(place / name, patterns)]
            yield from (place / name for name in names if not _is_ignored(place / name, patterns))


def list_files(root):
    """Relative paths of all files of the tree, sorted."""
    found = (_tracked(root) if (root / ".git").exists() else None) or _walked(root)
    return sorted(path for path in found if (root / path).is_file())


def read_lines(root, path):
    """Lines of a text file without their ends; none for a binary file."""
    data = (root / path).read_bytes()
    return [] if b"\0" in data else data.decode("utf-8", errors="replace").splitlines()
