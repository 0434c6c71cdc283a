# SPDX-License-Identifier: GPL-2.0-only
"""A small network for a magnetic metal: besides elements and edges it reads a magnetic moment of
each atom and a magnetic field, which the user of the archive gives under these names. It is
written for one process.

An atom's energy depends on sums over its neighbours j of functions of their distance, and of these
times the product of both moments; the field acts on an atom's moment, more or less so depending on
its surroundings. Moments are inputs, not variables: nothing here turns them. A rank is
given those of its neighbours' atoms as well, so that this one layer needs no exchange of features.
"""

import math

import torch
from torch import Tensor, nn

BOHR_MAGNETON = 5.7883818e-5  # eV/T
DEPTH, STEEPNESS, DISTANCE = 0.4205, 1.4199, 2.780  # eV, 1/Angstrom, Angstrom: Morse, fcc nickel


def smooth_cutoff(r: Tensor, cutoff: float) -> Tensor:
    """1 at r = 0, and zero with zero slope and curvature at the cutoff."""
    return (1.0 - (r / cutoff).pow(6)).clamp(min=0.0).pow(3)


class Magnet(nn.Module):
    """Per-atom energies (eV) from edge vectors (Angstrom), moments (mu_B) and a field (T)."""

    def __init__(self, n_species: int, cutoff: float, width: int = 8, radial: int = 6):
        super().__init__()
        self.cutoff = cutoff
        self.depth, self.steepness, self.distance = DEPTH, STEEPNESS, DISTANCE
        self.bohr_magneton = BOHR_MAGNETON
        self.embedding = nn.Embedding(n_species, width)
        self.filter = nn.Sequential(nn.Linear(radial, width), nn.SiLU(), nn.Linear(width, width))
        self.readout = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, 2))
        self.register_buffer("frequency", torch.arange(1, radial + 1) * (math.pi / cutoff))

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        moments, field = data["moments"], data["field"]  # (rows, 3), (3)
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1, keepdim=True)  # (edges, 1)
        envelope = smooth_cutoff(r, self.cutoff)

        # the message layer: what the neighbours are, and how their moments stand to one's own
        radial = torch.sin(r * self.frequency) / r
        message = self.filter(radial) * envelope * self.embedding(data["species"])[sender]
        product = (moments[receiver] * moments[sender]).sum(1, keepdim=True)
        message = torch.cat([message, message * product], dim=1)  # (edges, 2 width)
        rows = moments.size(0)
        zeros = torch.zeros([rows, message.size(1)], dtype=r.dtype, device=r.device)
        energy, response = self.readout(zeros.index_add(0, receiver, message)).unbind(1)

        # half of a Morse potential for each directed edge holds the crystal together
        decay = torch.exp(-self.steepness * (r - self.distance))
        morse = 0.5 * self.depth * (envelope * decay * (decay - 2.0)).squeeze(1)
        along = (moments * field).sum(1)
        energy = 0.1 * energy - self.bohr_magneton * (1.0 + response) * along
        return {
            "atomic_energies": energy.index_add(0, receiver, morse),
            # the moments around an atom, nearer ones with a larger weight
            "neighbor_moments": torch.zeros_like(moments).index_add(
                0, receiver, envelope * moments[sender]
            ),
            "magnetization": moments.sum(0),
        }
