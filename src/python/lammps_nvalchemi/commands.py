# SPDX-License-Identifier: GPL-2.0-only
"""The package's commands: compiled tools, and exporters that run in this Python."""

import os
import sys
from pathlib import Path

from . import let_threads_sleep, prefix


def _run_tool(name):
    let_threads_sleep()
    os.execv(prefix() / "bin" / name, [name, *sys.argv[1:]])


def evaluate():
    _run_tool("nvalchemi-evaluate")


def spec():
    _run_tool("nvalchemi-spec")


def validate():
    _run_tool("nvalchemi-validate")


def compose():
    _run_tool("nvalchemi-compose")


def _exporters():
    """{family: script} of what this package can export."""
    folder = prefix() / "share" / "nvalchemi" / "exporters"
    scripts = sorted(folder.glob("export_*.py"))
    return {script.stem.removeprefix("export_").replace("_", "-"): script for script in scripts}


def _run_exporter(family, arguments):
    let_threads_sleep()
    os.execv(sys.executable, [sys.executable, str(_exporters()[family]), *arguments])


def export_family():
    """nvalchemi-export-FAMILY: the family is in the command's own name."""
    _run_exporter(Path(sys.argv[0]).stem.removeprefix("nvalchemi-export-"), sys.argv[1:])


def export():
    """nvalchemi-export FAMILY [arguments of that exporter]"""
    families = ", ".join(_exporters())
    usage = f"usage: nvalchemi-export FAMILY [...], where FAMILY is one of: {families}"
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(f"{usage}\nnvalchemi-export FAMILY --help tells the rest")
        return
    if not arguments or arguments[0] not in _exporters():
        got = f"'{arguments[0]}'" if arguments else "no family"
        sys.exit(f"error: nvalchemi-export: got {got}, expected one of: {families}\n{usage}")
    _run_exporter(arguments[0], arguments[1:])
