# SPDX-License-Identifier: GPL-2.0-only
"""Small scripted networks, written by a program of the build, and crystals to go with them.

A body computes per-row features `h` (rows, 4) from receivers `i`, senders `j` and edge features
`m`; see message_network() in unittest/potentials/scripted_network.hpp.
"""

import subprocess

import numpy as np
from installation import find_build_file
from structure import Structure

LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n"
TWO_LAYERS = 2 * LAYER

# Scatters into the features themselves: the adjoint also flows through halo rows of `h`.
ACCUMULATING = 3 * "    h = torch.tanh(h.index_add(0, i, (h[j] @ self.w) * m))\n"

# The aggregate is sent to the sender of each edge, so a halo row holds a part of its owner's sum.
SENDER_SCATTER = """
    g = torch.zeros_like(h).index_add(0, j, (h[i] @ self.w) * m)
    h = h + torch.tanh(g)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
"""

# Every atom sees the mean over all atoms.
MEAN_FIELD = LAYER + "    h = h + 0.1 * h.mean(0)\n" + LAYER

# Fails where two atoms are closer than 1.5 Angstrom, on the ranks that see such a pair: row 3
# of a table with three rows is asked for.
THROWS_FOR_CLOSE_PAIRS = """
    close = (r < 1.5).to(i.dtype) * 3
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m * self.e[close])
"""

# Fails for more than 15 rows.
AT_MOST_15_ROWS = (
    LAYER
    + """
    assert n <= 15, 'planted failure'
"""
)

# Not a number where two atoms are closer than 1.5 Angstrom.
NAN_FOR_CLOSE_PAIRS = (
    """
    q = torch.sqrt(r - 1.5).unsqueeze(-1) * 0.1
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m * q)
"""
    + LAYER
)


def write_archive(folder, name, body, dtype="float64"):
    """Path of the archive NAME.pt in `folder`, its card beside it."""
    program = find_build_file("nvalchemi_write_scripted_archive")
    if program is None:
        raise FileNotFoundError("nvalchemi_write_scripted_archive: not found; build the tests")
    path = folder / f"{name}.pt"
    words = ["float32"] if dtype == "float32" else []
    subprocess.run([program, str(path), *words], input=body, text=True, check=True)
    return str(path)


def _distorted(symbols, fractions, length, seed):
    """A 2 x 2 x 2 crystal with displaced atoms in a general triclinic cell."""
    shear = np.eye(3) + np.array([[0.01, 0.006, -0.004], [0.0, -0.008, 0.005], [0.0, 0.0, 0.004]])
    crystal = Structure(symbols, length * np.array(fractions), length * np.eye(3))
    crystal = crystal.repeated((2, 2, 2))
    noise = np.random.default_rng(seed).normal(scale=0.08, size=crystal.positions.shape)
    return Structure(crystal.symbols, (crystal.positions + noise) @ shear, crystal.cell @ shear)


FCC = [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]


def crystal(name):
    """Crystals for networks without a case, 64 atoms each."""
    if name == "nacl64":
        return _distorted(
            ["Na"] * 4 + ["Cl"] * 4, FCC + [[(x + 0.5) % 1, y, z] for x, y, z in FCC], 5.64, 1
        )
    return _distorted(["O"] * 8, FCC + [[x + 0.25, y + 0.25, z + 0.25] for x, y, z in FCC], 5.43, 2)
