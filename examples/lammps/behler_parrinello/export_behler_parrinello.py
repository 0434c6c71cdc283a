#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fit the potential of behler_parrinello.py to an ionic pair potential for NaCl and export it.

    nvalchemi-python export_behler_parrinello.py

The fit starts from a fixed seed and is there so that molecular dynamics with the archive behaves;
its accuracy is of no interest.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "potentials" / "exporters")]

try:
    import torch
    from behler_parrinello import BehlerParrinello
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
    from export_example_network import SPECIES
    from export_example_network import fit as fit_to_pairs
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing


def scale_and_start(network, graph, target):
    """Let each symmetry function vary by about one over the training structures, and each element's
    network begin at the mean energy of its atoms."""
    features = network.functions(graph["species"], graph["edge_index"], graph["edge_vectors"])
    network.mean.copy_(features.mean(0))
    network.spread.copy_(features.std(0).clamp(min=1e-6))
    for element, part in enumerate(network.networks):
        part[-1].bias.fill_(target[graph["species"] == element].mean().item())


def fit(network, cutoff, steps):
    """The fit of the example network; returns the loss before and after."""
    return fit_to_pairs(network, cutoff, steps, "atomic_energies", scale_and_start)


def network_card(name, network, dtype_name):
    """The contract: which key of the dictionary carries what. Nothing is said of ranks."""
    return make_card(
        name=name,
        family="Behler-Parrinello",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}
        },
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=0,
    )


def main(arguments=None):
    options = parser(__doc__, "behler_parrinello")
    options.add_argument("--cutoff", type=float, default=5.0, help="Angstrom")
    options.add_argument("--steps", type=int, default=200, help="steps of the fit; 0: random")
    options.add_argument("--seed", type=int, default=1, help="of the initial weights")
    options = options.parse_args(arguments)
    for name, smallest in (("cutoff", 3.0), ("steps", 0)):
        if getattr(options, name) < smallest:
            raise ValueError(
                f"--{name}: got {getattr(options, name)}, expected at least {smallest}"
            )
    torch.set_num_threads(1)  # sums of one order on every machine, and faster at this size
    torch.manual_seed(options.seed)
    network = BehlerParrinello(len(SPECIES), options.cutoff).double()
    before, after = fit(network, options.cutoff, options.steps)
    print(f"fit: loss {before:.3g} -> {after:.3g} in {options.steps} steps")
    network = network.to(DTYPES[options.dtype]).eval()
    card = network_card(f"behler_parrinello_{options.dtype}", network, options.dtype)
    atoms = rattled_rocksalt(SPECIES)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
