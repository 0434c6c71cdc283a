# SPDX-License-Identifier: GPL-2.0-only
"""What every exporter's command line shares: --dtype, --output, --version, and short failures."""

import argparse
import os
import re
import sys
import time
from pathlib import Path

from card import DTYPES, read_archive, write_archive
from evaluate import check_reference

FOLDER = Path(__file__).resolve().parent


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors do not stand under a page of usage."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\nsee {self.prog} --help\n")


def command_name():
    """What the user calls: export_mace.py of this folder is started by nvalchemi-export-mace."""
    script = Path(sys.argv[0])
    if script.resolve().parent == FOLDER and script.stem.startswith("export_"):
        return "nvalchemi-" + script.stem.replace("_", "-")
    return script.name


def version():
    """The package's version, which CMakeLists.txt holds and an installation writes beside this;
    nothing in a copy elsewhere."""
    written = FOLDER / "version.txt"
    if written.is_file():
        return written.read_text().strip()
    project = FOLDER.parents[1] / "CMakeLists.txt"
    text = project.read_text() if project.is_file() else ""
    found = re.search(r"^project\(NVALCHEMI_LAMMPS VERSION ([\d.]+)", text, re.MULTILINE)
    return found[1] if found else None


def parser(description, default_name):
    """An argument parser with the common options. Each option has one spelling."""
    result = Parser(
        prog=command_name(),
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    if version():
        result.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    result.add_argument(
        "--dtype", choices=sorted(DTYPES), default="float64", help="precision of the archive"
    )
    result.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default=f"{default_name}.pt",
        help="archive to write; an existing file is replaced",
    )
    return result


def archive_name(path, *parts):
    """The name that a card bears: the stem of the checkpoint's file and what tells it apart."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return re.sub(r"[^\w.+-]", "_", "_".join([stem, *parts]))


def refuse_to_overwrite(checkpoint, output):
    """Raise where the archive would replace the file that it is made from."""
    both = os.path.exists(output) and os.path.exists(checkpoint)
    if both and os.path.samefile(checkpoint, output):
        raise ValueError(f"--output: {output} is the checkpoint itself; give another name")


def write_and_check(module, card, path):
    """Write the archive, read it back and hold it to its own reference."""
    # what fails its check must not stand under the name that was asked for
    unchecked = f"{path}.unchecked"
    try:
        write_archive(module, card, unchecked)
        deviation = check_reference(*read_archive(unchecked))
        os.replace(unchecked, path)
    finally:
        if os.path.exists(unchecked):
            os.remove(unchecked)
    print(
        f"wrote {path}: {card['name']}, {len(card['species'])} elements, cutoff "
        f"{card['cutoff']:g} A, {card['dtype']}"
    )
    print(
        "read back; largest relative deviation from the reference: "
        + ", ".join(f"{k} {v:.1e}" for k, v in deviation.items())
    )


def run(main):
    """Call `main()`; expected failures become one line on stderr and exit code 1."""
    start = time.time()
    try:
        main()
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        sys.exit(f"error: {error}")
    print(f"{time.time() - start:.1f} s")
