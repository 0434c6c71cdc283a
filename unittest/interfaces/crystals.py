# SPDX-License-Identifier: GPL-2.0-only
"""What these tests share: crystals, and what the archive alone says about them."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["NVALCHEMI_BUILD_DIR"])
ARCHIVE = REPOSITORY / "examples" / "lammps" / "minimal" / "example_network.pt"
SKIPPED = 77

sys.path.insert(0, str(REPOSITORY / "unittest" / "mpi"))


def rattled(symbols, basis, cell, repeat, seed, amplitude=0.08):
    """(symbols, positions (n, 3), cell rows), Angstrom, of a repeated crystal off its sites."""
    cell = np.asarray(cell, dtype=float)
    shifts = [np.array(index) for index in np.ndindex(*repeat)]
    positions = np.concatenate([(np.asarray(basis) + shift) @ cell for shift in shifts])
    noise = np.random.default_rng(seed).normal(scale=amplitude, size=positions.shape)
    return list(symbols) * len(shifts), positions + noise, cell * np.array(repeat)[:, None]


def rocksalt(seed=1, repeat=(2, 2, 2)):
    """NaCl from its primitive cell, so that the box is triclinic."""
    half = 5.64 / 2
    cell = half * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    return rattled(["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]], cell, repeat, seed)


def archive_alone(symbols, positions, cell, archive=ARCHIVE):
    """Energy, energies, forces and stress (dE/dstrain / V) without LAMMPS, in eV and Angstrom."""
    with tempfile.TemporaryDirectory() as folder:
        case, output = Path(folder) / "case.json", Path(folder) / "out.json"
        document = {"symbols": symbols, "pbc": [True] * 3}
        document |= {"positions": np.asarray(positions).tolist(), "cell": np.asarray(cell).tolist()}
        case.write_text(json.dumps(document))
        command = [
            BUILD / "bin" / "nvalchemi-evaluate",
            "--archive",
            archive,
            "--structure",
            case,
            "--output",
            output,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(output.read_text())
    return {name: np.array(found[name]) for name in ("energy", "energies", "forces", "stress")}


def skip_without_lammps_module():
    """End this program as skipped where Python cannot import LAMMPS's module."""
    try:
        import lammps  # noqa: F401
    except ImportError as missing:
        print(f"SKIPPED: {missing}: LAMMPS's Python module is not in this environment")
        sys.exit(SKIPPED)
