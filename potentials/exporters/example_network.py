# SPDX-License-Identifier: GPL-2.0-only
"""A small message-passing potential to copy from. It knows nothing about ranks or halos.

What makes it run on any number of ranks, and what a network of your own should keep:

* the geometry comes in as edge vectors, x[sender] - x[receiver], one for each directed edge;
* messages are summed into their *receiver*; the sender is only read;
* an atom's energy depends on its own row and on messages, never on row numbers as data; a sum or
  a mean over all atoms would be right as well, at the price of a sum over all ranks in each step;
* everything is smooth (C^2 at the cutoff), so that energy is conserved;
* it returns one energy for each row and does not differentiate.

A network of L layers then needs L - 1 exchanges between ranks: the first layer reads only species,
which every rank knows already.
"""

import math

import torch
from torch import Tensor, nn


def smooth_cutoff(r: Tensor, cutoff: float) -> Tensor:
    """1 at r = 0, and zero with zero slope and curvature at the cutoff."""
    return (1.0 - (r / cutoff).square()).clamp(min=0.0).pow(3)


class MessageLayer(nn.Module):
    """h_i <- h_i + update(h_i, sum over edges (i, j) of filter(r_ij) * W h_j)."""

    def __init__(self, width: int, radial: int):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(radial, width), nn.SiLU(), nn.Linear(width, width))
        self.mix = nn.Linear(width, width, bias=False)
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(
        self, h: Tensor, receiver: Tensor, sender: Tensor, radial: Tensor, envelope: Tensor
    ) -> Tensor:
        message = self.filter(radial) * envelope * self.mix(h)[sender]  # (edges, width)
        received = torch.zeros_like(h).index_add(0, receiver, message)  # (rows, width)
        return h + self.update(torch.cat([h, received], dim=-1))


class ExampleNetwork(nn.Module):
    """Per-atom energies (eV) of a few species from edge vectors (Angstrom)."""

    def __init__(
        self,
        n_species: int,
        cutoff: float,
        layers: int = 3,
        width: int = 16,
        radial: int = 8,
        contact: float = 1.6,
    ):
        super().__init__()
        self.cutoff = cutoff
        self.contact = contact
        self.embedding = nn.Embedding(n_species, width)
        self.layers = nn.ModuleList([MessageLayer(width, radial) for _ in range(layers)])
        self.readout = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        # A buffer moves with the module to another device or precision.
        self.register_buffer("frequency", torch.arange(1, radial + 1) * (math.pi / cutoff))

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1, keepdim=True)  # (edges, 1)
        envelope = smooth_cutoff(r, self.cutoff)
        radial = torch.sin(r * self.frequency) / r  # (edges, radial)
        h = self.embedding(data["species"])  # (rows, width)
        for layer in self.layers:
            h = layer(h, receiver, sender, radial, envelope)
        energy = self.readout(h).squeeze(-1)  # (rows,)
        # Half of a steep pair term for each directed edge keeps atoms apart at distances that
        # no fit has seen.
        wall = 0.5 * envelope.squeeze(-1) * (self.contact / r.squeeze(-1)).pow(12)
        return {"energy": energy.index_add(0, receiver, wall)}
