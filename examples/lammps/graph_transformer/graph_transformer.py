# SPDX-License-Identifier: GPL-2.0-only
"""A small graph transformer whose messages are one fused operator of a library of its own.

It is written for one process and knows nothing about ranks. Two of its operators cannot be looked
into, so that its distribution spec says what they need:

* `fused_message::push`: every atom sends a message along its edges to its neighbours. The results
  are sums over *senders*, of which each rank has a part;
* `fused_message::pool`: a sum over all atoms, which the network needs in the middle.

Attention is gated by a sigmoid for each edge, not normalised over a neighbourhood, and the filter
of an edge goes to zero at the cutoff with zero slope and curvature: a neighbour that leaves changes
neither energy nor forces.
"""

import math

import torch
from torch import Tensor, nn


def smooth_cutoff(r: Tensor, cutoff: float) -> Tensor:
    """1 at r = 0, and zero with zero slope and curvature at the cutoff."""
    return (1.0 - (r / cutoff).square()).clamp(min=0.0).pow(3)


class AttentionLayer(nn.Module):
    """h_s <- h_s + update(h_s, sum over edges (r, s) of gate(q_s . k_r) * filter(r_rs) * v_r)."""

    def __init__(self, width: int, heads: int, radial: int):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.filter = nn.Sequential(nn.Linear(radial, width), nn.SiLU(), nn.Linear(width, heads))
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(
        self, h: Tensor, receiver: Tensor, sender: Tensor, radial: Tensor, envelope: Tensor
    ) -> Tensor:
        query = self.query(h).unflatten(1, [self.heads, self.depth])
        key_value = self.key_value(h).unflatten(1, [2, self.heads, self.depth])
        edge = self.filter(radial) * envelope  # (edges, heads)
        sent = torch.ops.fused_message.push(query, key_value, receiver, sender, edge)
        return h + self.update(torch.cat([h, sent.flatten(1)], dim=1))


class GraphTransformer(nn.Module):
    """Per-atom energies (eV) of a few species from edge vectors (Angstrom), and the
    electronegativity that all atoms of the system settle on."""

    def __init__(
        self,
        n_species: int,
        cutoff: float,
        width: int = 16,
        heads: int = 4,
        radial: int = 8,
        contact: float = 1.6,
    ):
        super().__init__()
        self.cutoff = cutoff
        self.contact = contact
        self.embedding = nn.Embedding(n_species, width)
        self.first = AttentionLayer(width, heads, radial)
        self.electronegativity = nn.Linear(width, 1)
        self.charge = nn.Linear(1, width, bias=False)
        self.second = AttentionLayer(width, heads, radial)
        self.readout = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.register_buffer("frequency", torch.arange(1, radial + 1) * (math.pi / cutoff))

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1, keepdim=True)  # (edges, 1)
        envelope = smooth_cutoff(r, self.cutoff)
        radial = torch.sin(r * self.frequency) / r  # (edges, radial)
        h = self.first(self.embedding(data["species"]), receiver, sender, radial, envelope)

        # Charge flows between atoms until they agree: charges sum to zero over the system.
        own = self.electronegativity(h)  # (rows, 1)
        total = torch.ops.fused_message.pool(torch.cat([own, torch.ones_like(own)], dim=1))
        common = total[:1] / total[1:]  # (1)
        h = h + self.charge(common - own)

        h = self.second(h, receiver, sender, radial, envelope)
        energy = self.readout(h).squeeze(-1)  # (rows)
        # Half of a steep pair term for each directed edge keeps atoms apart at distances that
        # no fit has seen.
        wall = 0.5 * envelope.squeeze(-1) * (self.contact / r.squeeze(-1)).pow(12)
        return {
            "atomic_energies": energy.index_add(0, receiver, wall),
            "electronegativity": common,
        }
