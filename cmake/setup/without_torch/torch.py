# SPDX-License-Identifier: GPL-2.0-only
"""Stands before the libraries of LibTorch where nvalchemi-python has no torch for Python."""

raise ImportError(
    "this Python has no torch. Run 'nvalchemi-export sevennet --make-environment' once (a download "
    "of 2 to 3 GB): nvalchemi-python then has it. Or set NVALCHEMI_EXPORT_PYTHON to a Python that "
    "has torch and numpy."
)
