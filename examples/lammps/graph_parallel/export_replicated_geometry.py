#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the example network as a function of positions, with policy graph_parallel and
gp_replicate_geometry: every rank has the positions of all atoms.

    nvalchemi-python export_replicated_geometry.py

The weights are those of examples/lammps/minimal: both archives give the same energies and forces.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "potentials" / "exporters")]

try:
    import torch
    from card import make_card, read_archive
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
    from torch import Tensor, nn
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing

MINIMAL = ROOT / "examples" / "lammps" / "minimal" / "example_network.pt"
SPEC = {
    "version": 2,
    "core": {"policy": {"kind": "graph_parallel"}, "shard_fields": []},
    "gp_replicate_geometry": True,
    "owned_only_outputs": ["atomic_energies", "forces"],
    "output_kinds": [["atomic_energies", "per_node"], ["energy", "per_graph"]],
}


class OfPositions(nn.Module):
    """A network of edge vectors as one of positions. A row shows its atom where it is; which image
    of the sender an edge means is in the shift."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        data["edge_vectors"] = (
            data["positions"][sender] - data["positions"][receiver] + data["edge_shifts"]
        )
        return self.network(data)


def main(arguments=None):
    options = parser(__doc__, "replicated_geometry")
    options.add_argument("--archive", default=str(MINIMAL), help="of the example network")
    options = options.parse_args(arguments)
    torch.set_num_threads(1)
    network, before = read_archive(options.archive)
    card = make_card(
        name=f"replicated_geometry_{before['dtype']}",
        family="example",
        cutoff=before["cutoff"],
        dtype=before["dtype"],
        species=before["species"],
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "positions": "positions",
            "edge_shifts": "edge_shifts",
        },
        outputs=before["outputs"],
        forces="positions",
        receiver_row=0,
        expected_exchanges=before["expected_exchanges"],
        spec=SPEC,
    )
    atoms = rattled_rocksalt(before["species"])
    scripted = torch.jit.script(OfPositions(network))
    add_reference(card, atoms, evaluate(scripted, card, atoms))
    write_and_check(scripted, card, options.output)


if __name__ == "__main__":
    run(main)
