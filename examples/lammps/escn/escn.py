# SPDX-License-Identifier: GPL-2.0-only
"""A small network of the UMA kind: an eSCN whose edge work is two fused operators of a library of
its own, with a mixture of weights that the composition of the system chooses.

It is written for one process. Its classes and functions bear the Python names of the `fairchem`
package, so that the adapters of the real UMA spec bind to them as they are (preset
SPEC_UMA_REFRESH_HALO): the blocks and their edge-wise part, the edge-degree embedding, the sums
over atoms, the element references, and the composition. What is smaller than in UMA: coefficients
end at l = 1, layers are narrow, and a steep pair term keeps atoms apart, since the weights are
random.

A feature is (rows, 4, channels): l = 0, and l = 1 as a vector. The network differentiates itself.
"""

import math

import torch
from torch import Tensor, nn


def smooth_cutoff(r: Tensor, cutoff: float) -> Tensor:
    """1 at r = 0, and zero with zero slope and curvature at the cutoff."""
    return (1.0 - (r / cutoff).square()).clamp(min=0.0).pow(3)


def edge_frames(n: Tensor) -> Tensor:
    """(edges, 4, 4): 1 for l = 0, and for l = 1 the rotation of a unit vector n onto the second
    axis. Which way the other two axes point is arbitrary: layers do not see it."""
    axes = torch.eye(3, dtype=n.dtype, device=n.device)
    helper = torch.where(n[:, 2:].abs() < 0.7, axes[2], axes[0])
    first = helper - (helper * n).sum(1, keepdim=True) * n
    first = first / torch.linalg.vector_norm(first, dim=1, keepdim=True)
    rotation = torch.stack([first, n, torch.linalg.cross(first, n, dim=1)], dim=1)
    scalar = torch.ones_like(n[:, :1]).unsqueeze(2)
    return torch.cat(
        [
            nn.functional.pad(scalar, [0, 3]),
            nn.functional.pad(rotation, [1, 0]),
        ],
        dim=1,
    )


def _reduce(values: Tensor, batch: Tensor, systems: int) -> Tensor:
    total = torch.zeros([systems, values.size(1)], dtype=values.dtype, device=values.device)
    return total.index_add(0, batch, values)


def reduce_node_to_system(values: Tensor, batch: Tensor, systems: int) -> Tensor:
    """(systems, width) sums of (rows, width): of energies."""
    return _reduce(values, batch, systems)


def reduce_composition(values: Tensor, batch: Tensor, systems: int) -> Tensor:
    """The same, of numbers of atoms; under the name that the backbone's module imports."""
    return _reduce(values, batch, systems)


class SO2Convolution(nn.Module):
    """Linear maps of coefficients in the frame of an edge that commute with turns about the edge.
    The weights are a mixture of `experts`, in proportions that are the same for all edges."""

    def __init__(self, before: int, after: int, experts: int):
        super().__init__()
        scale = 1.0 / math.sqrt(2 * before)
        self.zero = nn.Parameter(scale * torch.randn(experts, 2 * before, 2 * after))
        self.one = nn.Parameter(scale * torch.randn(experts, before, 2 * after))
        self.after = after

    def forward(self, x: Tensor, experts: Tensor) -> Tensor:
        """x: (edges, 4, before), ordered by m"""
        zero = torch.einsum("k,kab->ab", experts, self.zero)
        one = torch.einsum("k,kab->ab", experts, self.one)
        of_zero = torch.matmul(x[:, :2].flatten(1), zero).unflatten(1, [2, self.after])
        plus, minus = torch.matmul(x[:, 2], one), torch.matmul(x[:, 3], one)
        real, imaginary = plus[:, : self.after], plus[:, self.after :]
        real_minus, imaginary_minus = minus[:, : self.after], minus[:, self.after :]
        of_one = torch.stack([real - imaginary_minus, imaginary + real_minus], dim=1)
        return torch.cat([of_zero, of_one], dim=1)


class EdgeDegreeEmbedding(nn.Module):
    """What an atom knows of its neighbours' distances before the first block."""

    def __init__(self, channels: int, radial: int):
        super().__init__()
        self.radial = nn.Sequential(
            nn.Linear(radial, channels), nn.SiLU(), nn.Linear(channels, 2 * channels)
        )
        self.channels = channels

    def forward(
        self, x: Tensor, edge: Tensor, receiver: Tensor, frame: Tensor, envelope: Tensor
    ) -> Tensor:
        zero = (self.radial(edge) * envelope).unflatten(1, [2, self.channels])
        message = torch.cat([zero, torch.zeros_like(zero)], dim=1)  # m = +1 and -1: none
        return x + torch.ops.escn.edge_to_node(message, receiver, frame, x)


class Edgewise(nn.Module):
    """Messages: two convolutions in the frame of the edge with a gate between them."""

    def __init__(self, channels: int, radial: int, experts: int):
        super().__init__()
        self.radial = nn.Sequential(
            nn.Linear(radial, channels), nn.SiLU(), nn.Linear(channels, 2 * channels)
        )
        self.first = SO2Convolution(2 * channels, channels, experts)
        self.second = SO2Convolution(channels, channels, experts)

    def forward(
        self,
        x: Tensor,
        edge: Tensor,
        sender: Tensor,
        receiver: Tensor,
        frame: Tensor,
        envelope: Tensor,
        experts: Tensor,
    ) -> Tensor:
        ends = torch.ops.escn.node_to_edge(x, sender, receiver, frame)
        message = self.first(ends * self.radial(edge).unsqueeze(1), experts)
        gate = torch.sigmoid(message[:, :1])
        message = torch.cat([nn.functional.silu(message[:, :1]), message[:, 1:] * gate], dim=1)
        message = self.second(message, experts) * envelope.unsqueeze(1)
        return torch.ops.escn.edge_to_node(message, receiver, frame, x)


class Norm(nn.Module):
    """Each feature divided by its root mean square."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(dim=[1, 2], keepdim=True) + 1e-6)


class eSCNMD_Block(nn.Module):  # noqa: N801 (as the package spells it)
    def __init__(self, channels: int, radial: int, experts: int):
        super().__init__()
        self.norm = Norm()
        self.edge_wise = Edgewise(channels, radial, experts)
        self.scalars = nn.Sequential(
            nn.Linear(channels, channels), nn.SiLU(), nn.Linear(channels, 2 * channels)
        )
        self.vectors = nn.Linear(channels, channels, bias=False)

    def forward(
        self,
        x: Tensor,
        edge: Tensor,
        sender: Tensor,
        receiver: Tensor,
        frame: Tensor,
        envelope: Tensor,
        experts: Tensor,
    ) -> Tensor:
        x = x + self.edge_wise(self.norm(x), edge, sender, receiver, frame, envelope, experts)
        scalar, gate = self.scalars(x[:, 0]).chunk(2, dim=1)
        vector = self.vectors(x[:, 1:]) * torch.sigmoid(gate).unsqueeze(1)
        return x + torch.cat([scalar.unsqueeze(1), vector], dim=1)


class ElementReferences(nn.Module):
    def __init__(self, n_species: int):
        super().__init__()
        self.register_buffer("reference", -1.0 - 0.5 * torch.arange(n_species, dtype=torch.float64))

    def forward(self, energy: Tensor, species: Tensor) -> Tensor:
        return self.undo_refs(energy, species)

    @torch.jit.export
    def undo_refs(self, energy: Tensor, species: Tensor) -> Tensor:
        """Energies of atoms with those of the free atoms, which the network leaves out."""
        return energy + self.reference[species].to(energy.dtype)


class eSCNMDMoeBackbone(nn.Module):  # noqa: N801
    """Forward takes positions and edges of one system and returns energies, forces and stress."""

    def __init__(
        self,
        n_species: int,
        cutoff: float,
        blocks: int = 2,
        channels: int = 8,
        radial: int = 8,
        experts: int = 3,
        contact: float = 1.7,
    ):
        super().__init__()
        self.cutoff, self.contact, self.n_species = cutoff, contact, n_species
        self.embedding = nn.Embedding(n_species, channels)
        self.edge_degree = EdgeDegreeEmbedding(channels, radial)
        self.blocks = nn.ModuleList(
            [eSCNMD_Block(channels, radial, experts) for _ in range(blocks)]
        )
        self.routing = nn.Linear(n_species, experts)
        self.energy = nn.Sequential(
            nn.Linear(channels, channels), nn.SiLU(), nn.Linear(channels, 1)
        )
        self.references = ElementReferences(n_species)
        self.register_buffer("frequency", torch.arange(1, radial + 1) * (math.pi / cutoff))

    @torch.jit.export
    def _get_merged_mole_consistency_info(self, species: Tensor, batch: Tensor) -> Tensor:
        """(species) which part of the system's atoms each element is"""
        kinds = nn.functional.one_hot(species, self.n_species).to(self.frequency.dtype)
        counts = reduce_composition(kinds, batch, 1)[0].clamp(min=1e-9)
        return counts / counts.sum()

    @torch.jit.export
    def set_MOLE_coefficients(self, composition: Tensor) -> Tensor:  # noqa: N802
        """(experts) the mixture of weights for this composition"""
        return torch.softmax(self.routing(composition), dim=0)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        sender, receiver = data["edge_index"][0], data["edge_index"][1]
        species, batch, strain = data["species"], data["batch"], data["strain"]
        vector = data["pos"][receiver] - data["pos"][sender] + data["shifts"]
        vector = vector + torch.matmul(vector, 0.5 * (strain + strain.t()))
        r = torch.linalg.vector_norm(vector, dim=1, keepdim=True)  # (edges, 1)
        frame = edge_frames(vector / r)
        envelope = smooth_cutoff(r, self.cutoff)
        edge = torch.sin(r * self.frequency) / r

        experts = self.set_MOLE_coefficients(self._get_merged_mole_consistency_info(species, batch))
        scalar = self.embedding(species).unsqueeze(1)  # (rows, 1, channels)
        x = torch.cat([scalar, torch.zeros_like(scalar).expand(-1, 3, -1)], dim=1)
        x = self.edge_degree(x, edge, receiver, frame, envelope)
        for block in self.blocks:
            x = block(x, edge, sender, receiver, frame, envelope, experts)

        energies = self.energy(x[:, 0]).squeeze(1)
        wall = 0.5 * envelope.squeeze(1) * (self.contact / r.squeeze(1)).pow(12)
        energies = self.references.undo_refs(energies.index_add(0, receiver, wall), species)
        energy = reduce_node_to_system(energies.unsqueeze(1), batch, 1)
        forces, d_strain = torch.autograd.grad([energy.sum()], [data["pos"], strain])
        assert forces is not None and d_strain is not None
        return {
            "atomic_energies": energies,
            "energy": energy,
            "forces": -forces,
            "virial": -0.5 * (d_strain + d_strain.t()),
        }


# The names under which TorchScript records them.
SO2Convolution.__module__ = "fairchem.core.models.uma.nn.so2_layers"
EdgeDegreeEmbedding.__module__ = "fairchem.core.models.uma.nn.embedding"
Edgewise.__module__ = eSCNMD_Block.__module__ = "fairchem.core.models.uma.escn_md_block"
ElementReferences.__module__ = "fairchem.core.modules.normalization.element_references"
eSCNMDMoeBackbone.__module__ = "fairchem.core.models.uma.escn_moe"
reduce_node_to_system.__module__ = "fairchem.core.models.uma.outputs"
reduce_composition.__module__ = "fairchem.core.models.uma.escn_md"
reduce_composition.__name__ = "reduce_node_to_system"
