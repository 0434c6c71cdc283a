#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the network of magnet.py, whose card names two inputs: moments of atoms and a field.

    nvalchemi-python export_magnet.py

Its weights are random, from a fixed seed, and small beside a Morse potential for nickel, so that a
crystal is stable; what the network says of magnetism is of no interest.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "potentials" / "exporters")]

try:
    import numpy as np
    import torch
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
    from magnet import Magnet
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing

SPECIES = ("Ni",)


def network_card(name, network, dtype_name):
    """The contract: which key of the dictionary carries what. Moments have no default, so that a
    user cannot forget them; without a field it is zero."""
    return make_card(
        name=name,
        family="example",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
            "moments": {"role": "atom_input", "name": "moments", "columns": 3, "unit": "mu_B"},
            "field": {
                "role": "system_input",
                "name": "field",
                "columns": 3,
                "unit": "T",
                "default": [0, 0, 0],
            },
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
            "neighbor_moments": {"role": "other", "kind": "per_node", "shape": "(rows,3)"},
            "magnetization": {"role": "other", "kind": "per_graph", "shape": "(3)"},
        },
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=1,  # the sum over the system, "magnetization"; sums count as well
    )


def reference_atoms():
    """A few atoms in disorder, with the values of the named inputs beside their positions."""
    atoms = rattled_rocksalt((SPECIES[0], SPECIES[0]), lattice_constant=5.0)
    moments = np.random.default_rng(3).normal(scale=0.6, size=(len(atoms["symbols"]), 3))
    return dict(atoms, inputs={"moments": moments.tolist(), "field": [10.0, 0.0, -500.0]})


def main(arguments=None):
    options = parser(__doc__, "magnet")
    options.add_argument("--cutoff", type=float, default=5.0, help="Angstrom")
    options.add_argument("--seed", type=int, default=1, help="of the weights")
    options = options.parse_args(arguments)
    if options.cutoff < 3.0:
        raise ValueError(f"--cutoff: got {options.cutoff}, expected at least 3.0")
    torch.set_num_threads(1)  # sums of one order on every machine, and faster at this size
    torch.manual_seed(options.seed)
    network = Magnet(len(SPECIES), options.cutoff).to(DTYPES[options.dtype]).eval()
    card = network_card(f"magnet_{options.dtype}", network, options.dtype)
    atoms = reference_atoms()
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
