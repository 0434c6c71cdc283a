#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fit the graph transformer of graph_transformer.py to an ionic pair potential for NaCl and export
it, with the distribution spec that lies beside this file.

    nvalchemi-python export_graph_transformer.py --ops ../../../build/lib/libfused_message.so

The fit starts from a fixed seed and is there so that molecular dynamics with the archive behaves;
its accuracy is of no interest.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "potentials" / "exporters")]

try:
    import torch
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
    from export_example_network import SPECIES
    from export_example_network import fit as fit_to_pairs
    from graph_transformer import GraphTransformer
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing

LIBRARY = "libfused_message.so"
SPEC = HERE / "graph_transformer.spec.json"


def fit(network, cutoff, steps):
    """The fit of the example network; returns the loss before and after."""
    return fit_to_pairs(network, cutoff, steps, "atomic_energies")


def network_card(name, network, dtype_name):
    """The contract: what the dictionaries carry, which library to load, what its operators need."""
    card = make_card(
        name=name,
        family="graph transformer",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
            "electronegativity": {"role": "other", "kind": "per_graph", "shape": "(1)"},
        },
        forces="edge_vectors",
        receiver_row=0,
        spec=json.loads(SPEC.read_text()),
    )
    card["ops"] = [LIBRARY]
    return card


def main(arguments=None):
    options = parser(__doc__, "graph_transformer")
    options.add_argument("--ops", default=LIBRARY, help="the operator library to train with")
    options.add_argument("--cutoff", type=float, default=5.0, help="Angstrom")
    options.add_argument("--steps", type=int, default=300, help="steps of the fit; 0: random")
    options.add_argument("--seed", type=int, default=1, help="of the initial weights")
    options = options.parse_args(arguments)
    for name, smallest in (("cutoff", 3.0), ("steps", 0)):
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
    network = GraphTransformer(len(SPECIES), options.cutoff).double()
    before, after = fit(network, options.cutoff, options.steps)
    print(f"fit: loss {before:.3g} -> {after:.3g} in {options.steps} steps")
    network = network.to(DTYPES[options.dtype]).eval()
    card = network_card(f"graph_transformer_{options.dtype}", network, options.dtype)
    atoms = rattled_rocksalt(SPECIES)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
