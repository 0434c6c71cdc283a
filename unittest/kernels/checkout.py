# SPDX-License-Identifier: GPL-2.0-only
"""Makes the Python module of this checkout importable."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = REPOSITORY / "kernels" / "python"
sys.path.insert(0, str(MODULES))
