# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks a tar archive, compressed or not, with Python alone: a bare system has no xz.

python3 unpack.py ARCHIVE FOLDER [BELOW]

BELOW is the folder of the archive whose content is wanted, '*' for the only one at its top.
"""

import sys
import tarfile
from pathlib import PurePosixPath


def inside(name, below):
    """The path of an entry relative to the folder `below`; None for what is not in it."""
    parts, pattern = PurePosixPath(name).parts, PurePosixPath(below).parts
    matches = all(wanted in ("*", part) for wanted, part in zip(pattern, parts))
    return "/".join(parts[len(pattern) :]) if matches and len(parts) > len(pattern) else None


def unpack(archive, folder, below=""):
    # what an archive may do to the files outside of its folder: nothing, where this Python can tell
    options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = inside(member.name, below)
            if name is None:
                continue
            member.name = name
            if member.islnk():
                member.linkname = inside(member.linkname, below) or member.linkname
            tar.extract(member, folder, **options)


if __name__ == "__main__":
    unpack(*sys.argv[1:])
