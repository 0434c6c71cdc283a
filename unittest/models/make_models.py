# SPDX-License-Identifier: GPL-2.0-only
"""Make the model archives that the tests run, with the numbers of the models' own packages.

    python3 make_models.py FAMILY FOLDER [--check]

    FAMILY    toy, sevennet, mace, nequip (with Allegro), orb or d3; the Python that runs this is
              the one that exports models of the family
    FOLDER    where NAME.pt, its card NAME.card.json and the cases *_nacl64.json, *_si64.json stand
    --check   write nothing; make all anew elsewhere and compare it with what FOLDER holds

A case is a crystal of 64 atoms with energy, energies of atoms, forces and stress (dE/dstrain / V)
in eV and Angstrom, from the package's own calculator; D3 and ORB know no energies of atoms, theirs
are those of the archive in plain torch. A case belongs to every archive whose name begins as its
own does.

Small archives are committed beside this file, in archives/. SevenNet-0 (7 MB) is made where tests
run.
"""

import argparse
import copy
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(REPOSITORY / "potentials" / "exporters"),
    str(REPOSITORY / "unittest/exporters"),
]

# isort: split
from card import make_card, validate_card  # noqa: E402
from evaluate import (  # noqa: E402
    add_reference,
    check_reference,
    default_precision,
    evaluate,
    rattled_rocksalt,
    reference_structure,
    structure,
)
from portable_archive import make_portable  # noqa: E402

ELEMENTS = ("O", "Na", "Si", "Cl", "Hf")
NUMBERS = (8, 11, 14, 17, 72)
# Relative, between what was committed and what another machine makes of the same seeds.
SAME = 1e-9


def rattled_silicon(seed=2):
    """64 atoms of strained, rattled diamond silicon."""
    fcc = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    cell = np.array([[5.48, 0.03, -0.02], [0.0, 5.39, 0.03], [0.0, 0.0, 5.45]])
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    sites = (corners[:, None] + np.concatenate([fcc, fcc + 0.25])).reshape(-1, 3)
    noise = np.random.default_rng(seed).normal(scale=0.08, size=sites.shape)
    return structure(["Si"] * len(sites), sites @ cell + noise, 2 * cell)


CRYSTALS = {
    "nacl64": rattled_rocksalt(repeat=2, displacement=0.08, seed=1),
    "si64": rattled_silicon(),
}


def as_lammps_turns(atoms):
    """The crystal in the frame of LAMMPS's boxes, whose cells are lower triangular."""
    rotation, triangle = np.linalg.qr(np.array(atoms["cell"]).T)
    rotation = rotation * np.sign(np.diag(triangle))
    turned = {key: np.array(atoms[key]) @ rotation for key in ("positions", "cell")}
    turned["cell"] = np.tril(turned["cell"])
    return atoms | {key: values.tolist() for key, values in turned.items()}


def write_model(folder, name, script, card, numbers):
    """Write the archive of `script()` and its card; `numbers(atoms)` are the package's, asked for
    first, since scripting may change the model. The archive bears no card, so that tests can read
    and change the one beside it."""
    card["name"] = name
    if numbers is not None:
        atoms = reference_structure(card["species"])
        add_reference(card, atoms, numbers(atoms))
    validate_card(card)
    with tempfile.TemporaryDirectory() as scratch:
        torch.jit.save(script(), f"{scratch}/raw.pt")
        make_portable(f"{scratch}/raw.pt", str(folder / f"{name}.pt"), name)
    module = torch.jit.load(str(folder / f"{name}.pt"))
    if "reference" in card:
        check_reference(module, card)
    (folder / f"{name}.card.json").write_text(json.dumps(card, indent=1) + "\n")
    print(f"{name}: {(folder / f'{name}.pt').stat().st_size / 1e6:.2f} MB")
    return module


def write_cases(folder, stem, numbers, module=None, card=None, crystals=None):
    """Write both crystals with the package's numbers; with `module` the energies of atoms are the
    archive's."""
    for crystal, atoms in (crystals or CRYSTALS).items():
        found = dict(numbers(atoms))
        if module is not None:
            found["energies"] = evaluate(module, card, atoms)["energies"]
            difference = abs(float(found["energies"].sum() - found["energy"]))
            assert difference < 1e-9 * max(1.0, abs(float(found["energy"]))), (stem, difference)
        case = {k: np.asarray(v, dtype=float).tolist() for k, v in found.items()}
        (folder / f"{stem}_{crystal}.json").write_text(json.dumps(atoms | case) + "\n")


# --- families --------------------------------------------------------------------------------


def make_toy(folder):
    from toy_network import CUTOFF, SPECIES, TOYS, toy

    for name in TOYS:
        card = make_card(
            name=name,
            family="toy",
            cutoff=CUTOFF,
            dtype="float64",
            species=list(SPECIES),
            species_index=list(SPECIES.values()),
            inputs={
                "types": "species_index",
                "edge_index": "edge_index",
                "edge_vec": "edge_vectors",
            },
            outputs={
                "energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}
            },
            forces="edge_vectors",
            receiver_row=0,
            expected_exchanges=2,
        )
        network = toy(name)
        write_model(folder, name, partial(torch.jit.script, network), card, None)
    write_cases(folder, "toy", lambda atoms: evaluate(network, card, atoms))


def make_sevennet(folder):
    import export_sevennet
    from ase_numbers import calculator_numbers

    network, config = export_sevennet.load_network("7net-0", torch.float64)
    calculator = export_sevennet.package_calculator(network, config, torch.float64)

    def numbers(atoms):
        return calculator_numbers(calculator, atoms)

    write_cases(folder, "sevennet_0", numbers)
    card = export_sevennet.network_card("sevennet_0_f64", config, "float64", False)
    script = partial(export_sevennet.script_network, network)
    write_model(folder, "sevennet_0_f64", script, card, numbers)


def raw_card(family, cutoff, exchanges, receiver_row, forward, inputs, outputs):
    """The card of a model as its package scripts it: positions of all ghosts in, forces and virial
    out."""
    per_row = {"kind": "per_node", "shape": "(rows)"}
    roles = {
        "atomic_energies": {"role": "atomic_energies", **per_row},
        "forces": {"role": "forces", "kind": "per_node", "autograd": True, "shape": "(rows,3)"},
        "energy": {"role": "energy", "kind": "per_graph", "shape": "()"},
        "virial": {
            "role": "virial",
            "kind": "per_graph",
            "autograd": True,
            "sign": "minus_dE_dstrain",
            "shape": "(1,3,3)",
        },
    }
    card = make_card(
        name=family,
        family=family,
        cutoff=cutoff,
        dtype="float64",
        species=list(ELEMENTS),
        inputs=inputs,
        outputs={key: roles[role] | changes for key, (role, changes) in outputs.items()},
        forces="model",
        receiver_row=receiver_row,
        expected_exchanges=exchanges,
    )
    return card | {"rows": "raw"} | forward


def make_mace(folder):
    import mace_models
    from e3nn import o3
    from e3nn.util import jit
    from mace.calculators import LAMMPS_MACE
    from mace_models import export_mace

    settings = mace_models.settings(
        num_elements=len(ELEMENTS),
        atomic_numbers=list(NUMBERS),
        atomic_energies=np.array([-1.5, -2.5, -1.0, -3.25, -2.0]),
        r_max=5.0,
        hidden_irreps=o3.Irreps("8x0e + 8x1o"),
        correlation=3,
        avg_num_neighbors=6.0,
        radial_MLP=[16, 16],
    )
    scale = {"atomic_inter_scale": 20.0, "atomic_inter_shift": 0.1}
    model = mace_models.build("ScaleShiftMACE", **scale, **settings).eval()

    def numbers(atoms):
        return export_mace.reference_numbers(model, "Default", "float64", atoms)

    write_cases(folder, "mace_rand", numbers)
    card = export_mace.network_card("mace_rand_f64_energy", model, "float64", False)
    script = partial(export_mace.script_network, copy.deepcopy(model), 0)
    write_model(folder, "mace_rand_f64_energy", script, card, numbers)

    flag = {"role": "constant", "value": True}
    whole = {
        "forward": {
            "style": "positional",
            "arguments": [{"role": "dict"}, {"role": "owned_mask"}, flag],
        }
    }
    inputs = {
        "positions": {"role": "positions", "requires_grad": True},
        "node_attrs": {"role": "species_one_hot"},
        "edge_index": {"role": "edge_index"},
        "shifts": {"role": "edge_shifts"},
        "unit_shifts": {"role": "edge_cell_shifts"},
        "cell": {"role": "cell", "shape": "(3,3)"},
        "batch": {"role": "batch"},
        "ptr": {"role": "batch_pointer"},
    }
    outputs = {
        "node_energy": ("atomic_energies", {}),
        "forces": ("forces", {}),
        "virials": ("virial", {}),
        "total_energy_local": ("energy", {"shape": "(1)"}),
    }
    card = raw_card("mace", 5.0, 1, 1, whole, inputs, outputs)
    with default_precision(torch.float64):
        write_model(folder, "mace_rand_f64", lambda: jit.compile(LAMMPS_MACE(model)), card, None)


def make_nequip(folder):
    import nequip_models
    from ase_numbers import calculator_numbers
    from e3nn.util.jit import script
    from nequip_models import export_nequip, nequip_checkpoint

    energies = dict(zip(ELEMENTS, (-1.5, -2.5, -1.0, -3.25, -2.0), strict=True))
    common = dict(type_names=list(ELEMENTS), r_max=4.5, per_type_energy_shifts=energies)
    repulsion = {
        "_target_": "nequip.nn.pair_potential.ZBL",
        "units": "metal",
        "chemical_species": list(ELEMENTS),
    }
    models = {
        "nequip_rand": nequip_models.nequip(pair_potential=repulsion, **common),
        "allegro_rand": nequip_models.allegro(**common),
    }
    with tempfile.TemporaryDirectory() as scratch:
        for stem, settings in models.items():
            path = Path(scratch) / f"{stem}.ckpt"
            nequip_models.save_checkpoint(settings, path)
            model = nequip_checkpoint.load_model(str(path), None, torch.float64)
            calculator = export_nequip.package_calculator(model)

            def numbers(atoms, calculator=calculator):
                return calculator_numbers(calculator, atoms)

            write_cases(folder, stem, numbers)
            if stem == "nequip_rand":
                whole = copy.deepcopy(model)
            card = export_nequip.network_card(stem, model, "float64", False)
            energy = partial(export_nequip.script_network, str(path), model)
            write_model(folder, f"{stem}_f64_energy", energy, card, numbers)

    inputs = {
        "edge_index": {"role": "edge_index"},
        "atom_types": {"role": "species_index"},
        "pos": {"role": "positions"},
        "cell": {"role": "cell", "shape": "(1,3,3)"},
        "edge_cell_shift": {"role": "edge_cell_shifts"},
    }
    outputs = {
        "atomic_energy": ("atomic_energies", {"shape": "(rows,1)"}),
        "forces": ("forces", {}),
        "total_energy": ("energy", {"shape": "(1,1)"}),
        "virial": ("virial", {}),
    }
    card = raw_card("nequip", 4.5, 2, 0, {}, inputs, outputs)
    write_model(folder, "nequip_rand_f64", partial(script, whole), card, None)


def make_orb(folder):
    import orb_regressors
    from orb_regressors import export_orb

    regressor = orb_regressors.regressor()

    def numbers(atoms):
        return export_orb.reference_numbers(regressor, torch.float64, atoms)

    card = export_orb.network_card("orb_rand_f64", regressor, "float64")
    card["expected_exchanges"] = 8  # five of them sums over the system
    script = partial(export_orb.script_network, regressor)
    module = write_model(folder, "orb_rand_f64", script, card, numbers)
    # not invariant under rotations: the numbers are those of the frame that LAMMPS computes in
    turned = {name: as_lammps_turns(atoms) for name, atoms in CRYSTALS.items()}
    write_cases(folder, "orb_rand", numbers, module, card, turned)


def make_d3(folder):
    import export_d3

    tables = export_d3.package_tables()
    elements = export_d3.chosen_elements(["H", "C", "N", *ELEMENTS], tables)
    parameters = export_d3.damping_parameters("bj", "pbe", False)
    settings = (elements, "bj", parameters, 9.0, 7.0)
    package = export_d3.PackageDispersion({k: t.double() for k, t in tables.items()}, *settings)
    for name, fused in (("d3bj_pbe_fused", True), ("d3bj_pbe", False)):
        card = export_d3.dispersion_card(name, elements, 9.0, "float64", fused)

        def numbers(atoms, card=card):
            found = evaluate(package, card, atoms)
            del found["energies"]
            return found

        network = export_d3.dispersion(tables, *settings, fused).double()
        module = write_model(folder, name, partial(torch.jit.script, network), card, numbers)
    write_cases(folder, "d3bj_pbe", numbers, module, card)


MAKERS = {
    "toy": make_toy,
    "sevennet": make_sevennet,
    "mace": make_mace,
    "nequip": make_nequip,
    "orb": make_orb,
    "d3": make_d3,
}


def largest_difference(made, kept):
    """Largest relative difference of any number of two cases of the same structure."""
    differences = {}
    for key in ("positions", "energy", "energies", "forces", "stress"):
        if key not in made and key not in kept:
            continue
        new, old = np.asarray(made[key]), np.asarray(kept[key])
        differences[key] = float(np.abs(new - old).max() / np.abs(old).max())
    return differences


def compare(made, kept):
    """Whether `kept` holds the cards and numbers of the folder `made`; prints what differs."""
    good = True
    for path in sorted(made.glob("*.json")):
        if not (kept / path.name).is_file():
            print(f"{kept / path.name} is missing")
            good = False
            continue
        new, old = json.loads(path.read_text()), json.loads((kept / path.name).read_text())
        if path.name.endswith(".card.json"):
            # numbers of the reference are compared as those of cases are
            texts = [
                json.dumps({k: v for k, v in card.items() if k != "reference"})
                for card in (new, old)
            ]
            if texts[0] != texts[1]:
                print(f"{path.name}: another card is made now")
                good = False
            continue
        for key, difference in largest_difference(new, old).items():
            if not difference < SAME:
                print(
                    f"{path.name}: {key} differs by {difference:.1e}, expected less than {SAME:g}"
                )
                good = False
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("family", choices=sorted(MAKERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)  # sums in the same order on every machine
    if not options.check:
        options.folder.mkdir(parents=True, exist_ok=True)
        MAKERS[options.family](options.folder)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        MAKERS[options.family](Path(scratch))
        return 0 if compare(Path(scratch), options.folder) else 1


if __name__ == "__main__":
    sys.exit(main())
