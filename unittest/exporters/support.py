# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the exporters share: paths, a scripted pair potential."""

import sys
from pathlib import Path

import torch

REPOSITORY = Path(__file__).resolve().parents[2]
EXPORTERS = REPOSITORY / "potentials" / "exporters"
sys.path.insert(0, str(EXPORTERS))

ARCHIVES = REPOSITORY / "unittest" / "models" / "archives"


class PairPotential(torch.nn.Module):
    """0.5 * exp(-r) * (1 - r/rc)^3 for each edge: analytic, smooth, and depends on species."""

    def __init__(self, cutoff: float = 4.0):
        super().__init__()
        self.cutoff = cutoff

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1)
        pair = 0.5 * torch.exp(-r) * (1.0 - r / self.cutoff).pow(3)
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        weight = 1.0 + data["species"].to(r.dtype)
        pair = pair * weight[receiver] * weight[sender].square()
        return {"energy": torch.zeros_like(weight).index_add(0, receiver, pair)}


def pair_card(**changes):
    """Arguments of make_card for PairPotential."""
    arguments = dict(
        name="pair",
        family="toy",
        cutoff=4.0,
        dtype="float64",
        species=("Na", "Cl"),
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={"energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
        forces="edge_vectors",
        expected_exchanges=0,
    )
    arguments.update(changes)
    return arguments
