# SPDX-License-Identifier: GPL-2.0-only
"""Writes the spec files of the tests and what becomes of each, from the tables beside it.

    python3 make_files.py            write all of them here
    python3 make_files.py --check    only say which of them are not what would be written

The folders: `released` and `early` hold what the two variants of the Python package write,
`invalid` what is refused, `doubtful` what a strict reading refuses and a lenient one takes with a
warning. verdicts.json says what becomes of each file:

    strict, lenient    "loads", or the JSON pointer of what is refused
    warnings           the JSON pointer of each warning of a reading that loads, in order
    read_as            a JSON patch: how the spec that is read differs from the text, if it does
"""

import json
import sys
from pathlib import Path

from doubtful import doubtful_files
from invalid import invalid_files
from valid import early_files, released_files

HERE = Path(__file__).resolve().parent
VERDICTS = "verdicts.json"


def spec_files():
    """All files, each under its own name."""
    by_name = {}
    for source in (released_files, early_files, invalid_files, doubtful_files):
        for file in source():
            if file.name in by_name:
                raise ValueError(f"{file.name} stands twice in the tables, expected once")
            by_name[file.name] = file
    return by_name


def verdict_of(file):
    verdict = {"strict": file.strict, "lenient": file.lenient, "warnings": file.warnings}
    return verdict | ({"read_as": file.read_as} if file.read_as else {})


def contents():
    """The text of each file to be written, by its name."""
    files = spec_files()
    lines = [f"{json.dumps(name)}: {json.dumps(verdict_of(files[name]))}" for name in sorted(files)]
    texts = {name: file.text for name, file in files.items()}
    return texts | {VERDICTS: "{\n" + ",\n".join(lines) + "\n}\n"}


def differences(folder):
    """What in `folder` is not what would be written, one line each."""
    wanted = contents()
    paths = [*folder.glob("*/*.json"), folder / VERDICTS]
    found = {path.relative_to(folder).as_posix() for path in paths}
    for name in sorted(found - wanted.keys()):
        yield f"{name}: got a file that no table has, expected none (remove it)"
    for name, text in sorted(wanted.items()):
        path = folder / name
        if not path.is_file():
            yield f"{name}: got no file, expected one (run make_files.py)"
        elif path.read_bytes() != text.encode():
            yield f"{name}: got other bytes than the tables give (run make_files.py)"


def write(folder):
    for name, text in contents().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(f"got {' '.join(arguments)!r}, expected nothing or --check", file=sys.stderr)
        return 2
    if not arguments:
        write(HERE)
    found = list(differences(HERE))
    print("\n".join([*found, f"{len(contents())} files, {len(found)} differences"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
