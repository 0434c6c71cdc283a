# SPDX-License-Identifier: GPL-2.0-only
"""What the exporters of Ewald's and the mesh's sum share: options, card and reference."""

import torch
from card import DTYPES, make_card
from command_line import parser, write_and_check
from coulomb import SLAB_OPERATORS, Coulomb, choose
from evaluate import add_reference, evaluate, rattled_rocksalt
from operators import operator_adapter, spec_from_preset


def coulomb_parser(description, name):
    options = parser(description, name)
    options.add_argument(
        "--elements",
        nargs="+",
        default=[],
        metavar="EL",
        help="elements; the charge of each atom is LAMMPS's own",
    )
    options.add_argument(
        "--charge",
        nargs=2,
        action="append",
        default=[],
        metavar=("EL", "Q"),
        help="an element and the charge of its atoms, instead of --elements",
    )
    options.add_argument("--cutoff", type=float, default=9.0, help="of real space, Angstrom")
    options.add_argument(
        "--accuracy",
        type=float,
        default=1e-5,
        help="RMS force error, relative to the force between unit charges 1 Angstrom apart",
    )
    options.add_argument(
        "--density", type=float, default=0.1, help="atoms in a cubic Angstrom, at most"
    )
    options.add_argument(
        "--mean-square-charge",
        type=float,
        help="of all atoms, at most; 1 with --elements, the largest square with --charge",
    )
    options.add_argument("--alpha", type=float, help="1/Angstrom, instead of what follows")
    options.add_argument(
        "--slab",
        type=float,
        default=0.0,
        metavar="FACTOR",
        help="take z as open: empty space up to FACTOR times the box, and the slab's correction",
    )
    return options


def read_charges(options):
    """Elements and their charges (None: those of the atoms)."""
    if bool(options.elements) == bool(options.charge):
        raise ValueError("--elements, --charge: got both or none of them, expected one")
    if options.elements:
        return options.elements, None
    try:
        charges = [float(charge) for _, charge in options.charge]
    except ValueError:
        words = " ".join(options.charge[0])
        raise ValueError(f"--charge: got '{words}', expected an element and a number") from None
    return [element for element, _ in options.charge], torch.tensor(charges, dtype=torch.float64)


def check_options(options):
    for name in ("cutoff", "accuracy", "density", "mean_square_charge", "alpha"):
        value = getattr(options, name)
        if value is not None and not value > 0:
            raise ValueError(f"--{name.replace('_', '-')}: got {value:g}, expected more than 0")
    if options.slab != 0.0 and not options.slab >= 2.0:
        raise ValueError(f"--slab: got {options.slab:g}, expected 2 or more (3 is usual), or 0")


def settle(options, charges):
    """alpha, k_max and the shared part of the network. Fills what the options leave open."""
    if options.mean_square_charge is None:
        options.mean_square_charge = 1.0 if charges is None else charges.square().max().item()
    check_options(options)
    if options.alpha is None:
        alpha, k_max = choose(
            options.accuracy, options.cutoff, options.density, options.mean_square_charge
        )
    else:
        alpha, k_max = options.alpha, None
    return alpha, k_max, Coulomb(alpha, charges, options.slab)


def coulomb_card(name, preset, network, options, elements, charges):
    differentiated = {"requires_grad": True}
    inputs = {
        "edge_index": "edge_index",
        "edge_vectors": "edge_vectors",
        "positions": {"role": "positions", **differentiated},
        "cell": {"role": "cell", **differentiated},
        "setup_cell": "setup_cell",
        "n_owned": "n_owned",
        **({"charges": "charges"} if charges is None else {"species": "species_index"}),
    }
    operators = dict(network.operators, **(SLAB_OPERATORS if options.slab else {}))
    return make_card(
        name=f"{name}_{'-'.join(elements)}_{options.dtype}",
        family=name,
        cutoff=options.cutoff,
        dtype=options.dtype,
        species=elements,
        inputs=inputs,
        outputs={"energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
        forces="edge_vectors",
        expected_exchanges=2 if options.slab else 1,
        spec=spec_from_preset(
            preset,
            [operator_adapter(op, **transforms) for op, transforms in operators.items()],
            node_energy_key="atomic_energies",
        ),
    )


def reference_atoms(elements, charges):
    """Rattled rocksalt; with charges of its own where the model reads those of the atoms."""
    atoms = rattled_rocksalt((elements[0], elements[-1]), displacement=0.2)
    if charges is None:
        # a little off neutral, so that the background counts
        count = len(atoms["symbols"])
        atoms["charges"] = [(1.0 if k % 3 else -1.9) + 0.01 * k for k in range(count)]
    return atoms


def in_precision(network, dtype_name):
    return network.to(DTYPES[dtype_name]).eval()


def write_coulomb(name, preset, network, options, elements, charges):
    """Write the network in the precision asked for, with its card and reference."""
    network = in_precision(network, options.dtype)
    card = coulomb_card(name, preset, network, options, elements, charges)
    atoms = reference_atoms(elements, charges)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)
