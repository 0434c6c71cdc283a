# SPDX-License-Identifier: GPL-2.0-only
"""ORB's conservative network from edge vectors to energies, in words that TorchScript knows.

The package's own classes pass a graph around as an object and take derivatives inside, which
TorchScript refuses. Their layers are used here as they are; what stands between them is written
anew. ORB's energy is no sum over atoms: one network maps the mean of the features of all atoms to
an energy per atom. Every row gets that, and its element's reference energy, so that the rows of all
atoms add up to ORB's energy.
"""

import torch
from orb_models.forcefield.nn_util import get_cutoff


def sum_into_rows(values: torch.Tensor, index: torch.Tensor, rows: int) -> torch.Tensor:
    """(edges, F) -> (rows, F)"""
    zeros = torch.zeros(rows, values.size(1), dtype=values.dtype, device=values.device)
    return zeros.index_add(0, index, values)


class MessageLayer(torch.nn.Module):
    """One layer of messages; edges are gated by their length and sent to both of their ends."""

    def __init__(self, layer):
        super().__init__()
        self.edge_mlp, self.node_mlp = layer._edge_mlp, layer._node_mlp
        self.receive_gate, self.send_gate = layer._receive_attn, layer._send_attn

    def forward(
        self,
        nodes: torch.Tensor,
        edges: torch.Tensor,
        senders: torch.Tensor,
        receivers: torch.Tensor,
        cutoff: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        receive = torch.sigmoid(self.receive_gate(edges)) * cutoff
        send = torch.sigmoid(self.send_gate(edges)) * cutoff
        ends = torch.cat([edges, nodes[senders], nodes[receivers]], dim=1)
        messages = self.edge_mlp(ends)
        sent = sum_into_rows(messages * send, senders, nodes.size(0))
        received = sum_into_rows(messages * receive, receivers, nodes.size(0))
        nodes = nodes + self.node_mlp(torch.cat([nodes, received, sent], dim=1))
        return nodes, edges + messages


class PairRepulsion(torch.nn.Module):
    """The package's screened repulsion, of which it adds the mean over atoms to the energy. It
    looks elements up at their atomic number plus one, and so does this."""

    def __init__(self, repulsion):
        super().__init__()
        for name in ("c", "d", "covalent_radii"):
            self.register_buffer(name, getattr(repulsion, name).clone())
        self.exponent: float = float(repulsion.a_exp)
        self.prefactor: float = float(repulsion.a_prefactor) * 0.529  # Bohr's radius, as it has it
        self.coulomb: float = 14.3996  # eV Angstrom
        self.power: float = float(repulsion.p)

    def forward(
        self,
        numbers: torch.Tensor,
        lengths: torch.Tensor,
        senders: torch.Tensor,
        receivers: torch.Tensor,
    ) -> torch.Tensor:
        first, second = numbers[senders] + 1, numbers[receivers] + 1
        one, two = first.to(lengths.dtype), second.to(lengths.dtype)
        screening = self.prefactor / (one.pow(self.exponent) + two.pow(self.exponent))
        screened = torch.sum(self.c * torch.exp(-self.d * (lengths / screening)), dim=0)
        reach, p = self.covalent_radii[first] + self.covalent_radii[second], self.power
        ratio = lengths / reach
        envelope = (
            1.0
            - (p + 1.0) * (p + 2.0) / 2.0 * ratio.pow(p)
            + p * (p + 2.0) * ratio.pow(p + 1.0)
            - p * (p + 1.0) / 2.0 * ratio.pow(p + 2.0)
        ) * (lengths < reach).to(lengths.dtype)
        energy = 0.5 * self.coulomb * one * two / lengths * screened * envelope
        return sum_into_rows(energy.unsqueeze(1), receivers, numbers.size(0))


class OrbNetwork(torch.nn.Module):
    """Species and edge vectors -> energies of rows, (rows, 1)."""

    def __init__(self, regressor):
        super().__init__()
        network, head = regressor.model, regressor.heads[regressor.energy_name]
        self.embedding = network.atom_emb
        self.angular, self.radial = network.angular_transform, network.rbf_transform
        self.encoder = network._encoder
        self.layers = torch.nn.ModuleList(MessageLayer(layer) for layer in network.gnn_stacks)
        self.energy_mlp = head.mlp
        normalizer = head.normalizer.bn
        self.register_buffer("scale", normalizer.running_var.reshape(()).sqrt())
        self.register_buffer("shift", normalizer.running_mean.reshape(()).clone())
        references = head.reference.linear.weight.detach().reshape(-1, 1)
        self.register_buffer("references", references.to(torch.float64))  # thousands of eV
        self.repulsion = PairRepulsion(regressor.pair_repulsion_fn)

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        numbers, vectors = data["atomic_numbers"], data["edge_vectors"]
        senders, receivers = data["edge_index"][0], data["edge_index"][1]
        lengths = torch.linalg.vector_norm(vectors, dim=1)
        cutoff = get_cutoff(lengths)
        angular = self.angular(vectors)
        features = self.radial(lengths).unsqueeze(2) * angular.unsqueeze(1)
        nodes, edges = self.encoder(self.embedding(numbers), cutoff * features.flatten(1))
        for layer in self.layers:
            nodes, edges = layer(nodes, edges, senders, receivers, cutoff)
        per_atom = self.energy_mlp(nodes.mean(0, keepdim=True)) * self.scale + self.shift
        repulsion = self.repulsion(numbers, lengths, senders, receivers)
        shared = per_atom + repulsion.mean(0, keepdim=True) / self.count(nodes)
        return {"atomic_energy": self.references[numbers] + shared.to(self.references.dtype)}

    def count(self, nodes: torch.Tensor) -> torch.Tensor:
        """Atoms of the system, as a sum over rows that can be made over ranks."""
        return torch.ones_like(nodes[:, :1]).sum(0, keepdim=True)
