# SPDX-License-Identifier: GPL-2.0-only
"""Runs a test of spec files with files from elsewhere, which the Python package itself wrote.

    python3 with_handed_spec_files.py COMMAND...

The environment variable NVALCHEMI_FIXTURES names the folder that holds them in specs/; the test is
skipped where it is not set.
"""

import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
VERDICTS = Path(__file__).resolve().with_name("handed_verdicts.json")


def main(command):
    fixtures = os.environ.get("NVALCHEMI_FIXTURES")
    if not fixtures:
        print("SKIPPED: no files from elsewhere; NVALCHEMI_FIXTURES=FOLDER names their folder")
        return SKIPPED
    files = Path(fixtures) / "specs"
    if not files.is_dir():
        print(f"NVALCHEMI_FIXTURES: got {fixtures}, which has no specs/, expected one that has")
        return 1
    named = {"NVALCHEMI_SPEC_FILES": str(files), "NVALCHEMI_SPEC_VERDICTS": str(VERDICTS)}
    return subprocess.run(command, env={**os.environ, **named}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
