#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the network of escn.py with random weights, the preset SPEC_UMA_REFRESH_HALO and the two
operators that it calls.

    nvalchemi-python export_escn.py --ops ../../../build/lib/libescn_edges.so

The weights start from a fixed seed; what the network says of a crystal is of no interest, only that
it says the same on any number of ranks.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "potentials" / "exporters")]

try:
    import torch
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from escn import eSCNMDMoeBackbone
    from evaluate import add_reference, evaluate, rattled_rocksalt
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing

LIBRARY = "libescn_edges.so"
SPECIES = ("Na", "Cl")
PRESET = ROOT / "spec" / "presets" / "SPEC_UMA_REFRESH_HALO.json"
OPERATORS = ("escn::node_to_edge", "escn::edge_to_node")


def network_spec():
    """The adapters of UMA as they are, and the two operators, which need no transform: a receiver's
    edges are all on one rank."""
    spec = json.loads(PRESET.read_text())
    spec["core"]["custom_ops"] = [
        {"op": name, "arg_transforms": {}, "output_transforms": {}} for name in OPERATORS
    ]
    return spec


def network_card(name, network, dtype_name):
    """The contract: what the dictionaries carry, and which library to load."""
    card = make_card(
        name=name,
        family="uma",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "species": "species_index",
            "pos": "positions",
            "edge_index": "edge_index",
            "shifts": "edge_shifts",
            "batch": "batch",
            "strain": {
                "role": "constant",
                "value": [[0.0] * 3] * 3,
                "shape": "(3,3)",
                "requires_grad": True,
            },
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
            "energy": {"role": "energy", "kind": "per_graph", "shape": "(1,1)", "autograd": False},
            "forces": {"role": "forces", "kind": "per_node", "shape": "(rows,3)", "autograd": True},
            "virial": {"role": "virial", "kind": "per_graph", "shape": "(3,3)", "autograd": True},
        },
        forces="model",
        rows="raw",
        receiver_row=1,
        # each block reads its senders once; the composition is one sum
        expected_exchanges=len(network.blocks) + 1,
        spec=network_spec(),
    )
    card["ops"] = [LIBRARY]
    return card


def main(arguments=None):
    options = parser(__doc__, "escn")
    options.add_argument("--ops", default=LIBRARY, help="the operator library")
    options.add_argument("--cutoff", type=float, default=5.0, help="Angstrom")
    options.add_argument("--blocks", type=int, default=2, help="message-passing blocks")
    options.add_argument("--seed", type=int, default=1, help="of the weights")
    options = options.parse_args(arguments)
    for name, smallest in (("cutoff", 3.0), ("blocks", 1)):
        if getattr(options, name) < smallest:
            raise ValueError(
                f"--{name}: got {getattr(options, name)}, expected at least {smallest}"
            )
    if not Path(options.ops).exists():
        raise ValueError(
            f"--ops: {options.ops} does not exist; this folder's CMakeLists.txt builds it"
        )
    torch.ops.load_library(str(Path(options.ops).resolve()))
    torch.set_num_threads(1)  # sums of one order on every machine, and faster at this size
    torch.manual_seed(options.seed)
    network = eSCNMDMoeBackbone(len(SPECIES), options.cutoff, options.blocks)
    network = network.to(DTYPES[options.dtype]).eval()
    card = network_card(f"escn_{options.dtype}", network, options.dtype)
    atoms = rattled_rocksalt(SPECIES)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
