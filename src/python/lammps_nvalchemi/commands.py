# SPDX-License-Identifier: GPL-2.0-only
"""The package's commands: compiled tools, and exporters."""

import os
import sys
from pathlib import Path

from . import prefix


def _run_tool(name, *before):
    os.execv(prefix() / "bin" / name, [name, *before, *sys.argv[1:]])


def evaluate():
    _run_tool("nvalchemi-evaluate")


def spec():
    _run_tool("nvalchemi-spec")


def validate():
    _run_tool("nvalchemi-validate")


def compose():
    _run_tool("nvalchemi-compose")


def _run_exporter(*arguments):
    """It runs in this Python if that has what the family needs."""
    os.environ["NVALCHEMI_WHEEL_PYTHON"] = sys.executable
    _run_tool("nvalchemi-export", *arguments)


def export_family():
    """nvalchemi-export-FAMILY: the family is in the command's own name."""
    _run_exporter(Path(sys.argv[0]).stem.removeprefix("nvalchemi-export-"))


def export():
    """nvalchemi-export FAMILY [arguments of that exporter]"""
    _run_exporter()
