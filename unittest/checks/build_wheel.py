# SPDX-License-Identifier: GPL-2.0-only
"""Builds the wheel with pip, against the packages of this environment, and tests what it holds."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).parent / "test_wheel.py"
RUNNER = REPOSITORY / "unittest" / "script_runner.py"


def build(folder):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    command += ["--wheel-dir", str(folder), str(REPOSITORY)]
    for name, value in (("CMAKE_CXX_COMPILER_LAUNCHER", "ccache"),):
        if subprocess.run(["sh", "-c", f"command -v {value}"], capture_output=True).returncode == 0:
            os.environ[name] = value
    subprocess.run(command, check=True)
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


def check_content(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    kernels = [name for name in names if "libnvalchemi_kernels.so" in name]
    if len(kernels) != 1 or "lammps_nvalchemi/lib/nvalchemi/requirements.txt" not in names:
        sys.exit(f"{wheel.name} holds {kernels} and {sorted(names)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(folder)
        check_content(wheel)
        environment = {**os.environ, "NVALCHEMI_TEST_WHEEL": str(wheel)}
        sys.exit(subprocess.run(["python3", RUNNER, TESTS], env=environment).returncode)
