# SPDX-License-Identifier: GPL-2.0-only
"""Importing this makes sure that numpy is there: a Python without it is replaced by the one of the
environment that the build was made with, as after `. build/env.sh`."""

import importlib.util
import os
import re
import sys
from pathlib import Path


def _environment_of_build():
    named = os.environ.get("NVALCHEMI_ENV_DIR")
    build = os.environ.get("NVALCHEMI_BUILD_DIR") or Path(__file__).resolve().parents[2] / "build"
    script = Path(build) / "env.sh"
    if not named and script.is_file():
        found = re.search(r'^NVALCHEMI_ENV_DIR="(.*)"$', script.read_text(), re.MULTILINE)
        named = found and found.group(1)
    return named


if importlib.util.find_spec("numpy") is None:
    python = Path(_environment_of_build() or "/nonexistent") / "bin" / "python3"
    if not python.exists() or Path(sys.executable) == python:
        sys.exit("this Python lacks numpy: run `. build/env.sh` first, which puts one on the path")
    os.execv(python, [str(python), *sys.argv])
