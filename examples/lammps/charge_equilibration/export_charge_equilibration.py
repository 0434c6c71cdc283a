#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the network of charge_equilibration.py with random weights and the preset
SPEC_AIMNET2_HALO. The weights start from a fixed seed; what the network says of a crystal is of no
interest, only that it says the same on any number of ranks.

    nvalchemi-python export_charge_equilibration.py
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
    from charge_equilibration import AIMNet2
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "that runs it: take nvalchemi-python (doc/exporting.rst)"
    ) from missing

SPECIES = ("Na", "Cl")
SPEC = ROOT / "spec" / "presets" / "SPEC_AIMNET2_HALO.json"


def network_card(name, network, dtype_name):
    """The contract: which key of the dictionary carries what."""
    passes = network.passes - 1
    return make_card(
        name=name,
        family="aimnet2",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "numbers": "species_index",
            "nbmat": {"role": "neighbor_matrix", "shape": "(rows,neighbors)"},
            "mask": {"role": "neighbor_mask", "shape": "(rows,neighbors)"},
            "vectors": {"role": "edge_vectors", "shape": "(rows,neighbors,3)"},
            "mol_idx": "batch",
            "charge": "total_charge",
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
            "charges": {"role": "charges", "kind": "per_node", "shape": "(rows)"},
            "pass_charges": {"role": "other", "kind": "per_node", "shape": f"(rows,{passes})"},
        },
        forces="edge_vectors",
        receiver_row=0,
        # features and charges of neighbours in one exchange, charges and their weights in one sum
        expected_exchanges=2 * passes,
        spec=json.loads(SPEC.read_text()),
    )


def main(arguments=None):
    options = parser(__doc__, "charge_equilibration")
    options.add_argument("--cutoff", type=float, default=6.0, help="of the charges, Angstrom")
    options.add_argument(
        "--passes", type=int, default=3, help="passes; charges change in all but one"
    )
    options.add_argument("--seed", type=int, default=1, help="of the weights")
    options = options.parse_args(arguments)
    for name, smallest in (("cutoff", 5.0), ("passes", 2)):
        if getattr(options, name) < smallest:
            raise ValueError(
                f"--{name}: got {getattr(options, name)}, expected at least {smallest}"
            )
    torch.set_num_threads(1)  # sums of one order on every machine, and faster at this size
    torch.manual_seed(options.seed)
    network = AIMNet2(len(SPECIES), options.cutoff, passes=options.passes)
    network = network.to(DTYPES[options.dtype]).eval()
    card = network_card(f"charge_equilibration_{options.dtype}", network, options.dtype)
    atoms = dict(rattled_rocksalt(SPECIES), total_charge=1.0)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
