# SPDX-License-Identifier: GPL-2.0-only
"""Tells CMake, as NAME=VALUE lines, where the Python packages are that the wheel is built against.

They lie in the environment that runs this program, or in one on its path: pip builds in a place
of its own, which it fills with what pyproject.toml asks for.
"""

import importlib.metadata
import sys
from pathlib import Path

import pinned_requirements


def check(requirement):
    """Stop unless the package is there in the version that the wheel will ask for."""
    name, expected = requirement.split("==")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if found.split("+")[0] != expected:
        sys.exit(
            f"{name}: got version {found} in {sys.prefix}, expected {expected}. Run "
            f"'{sys.executable} -m pip install {requirement}', or leave out --no-build-isolation: "
            "pip then builds in a place that has it. For a LAMMPS, MPI or LibTorch of your own "
            "build without pip, as doc/install_hpc.rst says."
        )


def folder_of(package, marker, levels):
    """The folder `levels` above the installed file `marker`, e.g. "torch/version.py"."""
    files = importlib.metadata.files(package) or []
    for file in files:
        if str(file).endswith(marker):
            return Path(file.locate()).resolve().parents[levels]
    sys.exit(f"{package}: {marker} is not among its installed files: install the package again")


def main():
    for requirement in pinned_requirements.get_requires_for_dynamic_metadata():
        check(requirement)
    print(f"NVALCHEMI_TORCH_DIR={folder_of('torch', 'torch/version.py', 0)}")
    print(f"NVALCHEMI_SITE_PACKAGES={folder_of('lammps', 'lammps/__init__.py', 1)}")
    print(f"NVALCHEMI_ENV_DIR={folder_of('mpich', 'include/mpi.h', 1)}")
    print(f"NVALCHEMI_JSON_DIR={folder_of('nlohmann-json', 'nlohmann/json.hpp', 1)}")


if __name__ == "__main__":
    main()
