# SPDX-License-Identifier: GPL-2.0-only
"""What every exporter's command line shares: --dtype, --output, and one-line failures."""

import argparse
import os
import re
import sys
import time

from card import DTYPES, read_archive, write_archive
from evaluate import check_reference


def parser(description, default_name):
    """An argument parser with the common options."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    result.add_argument(
        "--dtype", choices=sorted(DTYPES), default="float64", help="precision of the archive"
    )
    result.add_argument(
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
