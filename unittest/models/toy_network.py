# SPDX-License-Identifier: GPL-2.0-only
"""A message-passing network of three layers with random weights, which sums its messages in one of
four ways. Small, smooth, and with forces that depend on every layer."""

import math

import torch
from torch import Tensor

CUTOFF = 5.0
WIDTH = 8
RADIAL = 6
SPECIES = {"O": 0, "Na": 0, "Si": 1, "Cl": 1, "Hf": 2}  # elements that share an embedding


class Toy(torch.nn.Module):
    """Layers h_i <- h_i + tanh(sum_j m_ij + |sum_j m_ij r_ij / |r_ij||^2) with messages
    m_ij = filter(|r_ij|) * mixing(h_j), channel by channel; energies by a small network of h."""

    def __init__(self, layers: int = 3):
        super().__init__()
        self.cutoff = CUTOFF
        self.embedding = torch.nn.Embedding(1 + max(SPECIES.values()), WIDTH)
        self.filters = torch.nn.ModuleList(
            torch.nn.Linear(RADIAL, WIDTH, bias=False) for _ in range(layers)
        )
        self.mixing = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(layers))
        self.readout = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, 1)
        )
        self.register_buffer("orders", math.pi * torch.arange(1, RADIAL + 1) / self.cutoff)

    def radial(self, length: Tensor) -> Tensor:
        """(edges, RADIAL): sines over the length, which end smoothly at the cutoff."""
        envelope = (1.0 - (length / self.cutoff).square()).clamp(min=0.0).pow(3)
        return envelope * torch.sin(length * self.orders) / length

    def sum_over_edges(self, rows: int, receiver: Tensor, values: Tensor) -> Tensor:
        """(rows, columns): the sum of (edges, columns) over each receiver's edges."""
        raise NotImplementedError

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        length = torch.linalg.vector_norm(data["edge_vec"], dim=1, keepdim=True)
        direction = (data["edge_vec"] / length).unsqueeze(1)
        basis = self.radial(length)
        h = self.embedding(data["types"])
        rows, width = h.size(0), h.size(1)
        for filters, mixing in zip(self.filters, self.mixing):
            messages = filters(basis) * mixing(h)[sender]
            scalars = self.sum_over_edges(rows, receiver, messages)
            arrows = (messages.unsqueeze(2) * direction).reshape(-1, 3 * width)
            vectors = self.sum_over_edges(rows, receiver, arrows).reshape(rows, width, 3)
            h = h + torch.tanh(scalars + vectors.square().sum(2))
        return {"energies": self.readout(h).squeeze(1)}


class IndexAdd(Toy):
    def sum_over_edges(self, rows: int, receiver: Tensor, values: Tensor) -> Tensor:
        return values.new_zeros(rows, values.size(1)).index_add(0, receiver, values)


class IndexPut(Toy):
    def sum_over_edges(self, rows: int, receiver: Tensor, values: Tensor) -> Tensor:
        return values.new_zeros(rows, values.size(1)).index_put(
            (receiver,), values, accumulate=True
        )


class ScatterAdd(Toy):
    def sum_over_edges(self, rows: int, receiver: Tensor, values: Tensor) -> Tensor:
        index = receiver.unsqueeze(1).expand_as(values)
        return values.new_zeros(rows, values.size(1)).scatter_add(0, index, values)


class ScatterReduce(Toy):
    def sum_over_edges(self, rows: int, receiver: Tensor, values: Tensor) -> Tensor:
        index = receiver.unsqueeze(1).expand_as(values)
        return values.new_zeros(rows, values.size(1)).scatter_reduce(0, index, values, reduce="sum")


TOYS = {
    "toy_index_add": IndexAdd,
    "toy_index_put": IndexPut,
    "toy_scatter_add": ScatterAdd,
    "toy_scatter_reduce": ScatterReduce,
}


def toy(name):
    """The network of that name; all have the same weights, so the same numbers."""
    torch.manual_seed(5)
    return TOYS[name]().double().eval()
