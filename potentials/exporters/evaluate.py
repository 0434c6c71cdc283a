# SPDX-License-Identifier: GPL-2.0-only
"""Evaluate a model through its card on a small structure, in one process, and nothing else.

Exporters use this to compute the card's `reference` and to prove that the written archive gives
back the numbers of the package that it came from. It shares no code with the plugin.
"""

import contextlib
import itertools

import numpy as np
import torch
from card import DTYPES, NAMED_ROLES

# Agreement asked of an archive with the calculator it was made from, relative to the largest
# absolute value of each quantity (or to 1): reordered sums in the model's own precision.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def structure(symbols, positions, cell, pbc=(True, True, True)):
    """A structure as plain values: symbols, (n, 3) Angstrom, rows of lattice vectors."""
    return {
        "symbols": list(symbols),
        "positions": np.asarray(positions, dtype=float).tolist(),
        "cell": np.asarray(cell, dtype=float).tolist(),
        "pbc": [bool(p) for p in pbc],
    }


def rattled_rocksalt(
    symbols=("Na", "Cl"),
    lattice_constant=5.64,
    repeat=1,
    displacement=0.1,
    strain=((0.01, 0.006, -0.004), (0.0, -0.008, 0.005), (0.0, 0.0, 0.004)),
    seed=7,
):
    """A strained, rattled rocksalt crystal: 8 * repeat**3 atoms, no force or stress is zero."""
    rng = np.random.default_rng(seed)
    sites = np.array(list(itertools.product(range(2 * repeat), repeat=3)), dtype=float)
    kinds = [symbols[int(s.sum()) % 2] for s in sites]
    deform = np.eye(3) + np.asarray(strain)
    cell = np.eye(3) * lattice_constant * repeat @ deform
    positions = sites * lattice_constant / 2 @ deform
    return structure(kinds, positions + rng.normal(scale=displacement, size=positions.shape), cell)


def reference_structure(species):
    """Eight atoms of rattled rocksalt: NaCl where the model knows it, else its first elements."""
    if {"Na", "Cl"} <= set(species):
        return rattled_rocksalt()
    pair = (species[0], species[-1])
    return rattled_rocksalt(symbols=pair, lattice_constant=4.5)


def neighbor_edges(atoms, cutoff):
    """Directed edges within `cutoff`: (receiver, sender, integer shift, x[sender] + shift - x
    [receiver]). Every image is tried, so that any cell works; meant for small structures."""
    x, cell = np.asarray(atoms["positions"]), np.asarray(atoms["cell"])
    inverse = np.linalg.inv(cell)
    # A sphere of radius c spans c * |row of the reciprocal cell| cells; atoms may lie outside.
    spread = np.ptp(x @ inverse, axis=0)
    reach = np.ceil(cutoff * np.linalg.norm(inverse, axis=0) + spread).astype(int)
    reach = np.where(atoms["pbc"], reach, 0)
    found = []
    for image in itertools.product(*(range(-r, r + 1) for r in reach)):
        vector = x[None, :, :] + np.array(image) @ cell - x[:, None, :]
        near = np.linalg.norm(vector, axis=-1) < cutoff
        if not any(image):
            np.fill_diagonal(near, False)
        i, j = np.nonzero(near)
        found.append((i, j, np.tile(image, (len(i), 1)), vector[i, j]))
    i, j, shift, vector = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(i, kind="stable")
    return i[order], j[order], shift[order], vector[order]


def role_values(card, atoms, edges=None):
    """Every role's natural value as tensors in the model's precision, leaves included; `edges` as
    neighbor_edges() gives them, which it does by default."""
    dtype = DTYPES[card["dtype"]]
    i, j, shift, vector = edges or neighbor_edges(atoms, card["cutoff"])
    forward = card["edges"]["sender_row"] == 1
    rows = (i, j) if forward else (j, i)
    sign = 1 if forward else -1
    cell, n = np.asarray(atoms["cell"]), len(atoms["symbols"])
    position_in_card = [card["species"].index(s) for s in atoms["symbols"]]

    inputs = atoms.get("inputs", {})
    charges = inputs.get("charges", atoms.get("charges"))
    total_charge = inputs.get("total_charge", atoms.get("total_charge", 0.0))

    def real(values):
        return torch.as_tensor(np.ascontiguousarray(values), dtype=dtype)

    return {
        "cutoff": card["cutoff"],
        "receiver": torch.as_tensor(i, dtype=torch.int64),
        "sender": torch.as_tensor(j, dtype=torch.int64),
        "species_index": torch.tensor([card["species_index"][p] for p in position_in_card]),
        "species_one_hot": torch.eye(len(card["species"]), dtype=dtype)[position_in_card],
        "positions": real(atoms["positions"]),
        "edge_index": torch.as_tensor(np.stack(rows), dtype=torch.int64),
        "edge_vectors": real(sign * vector),
        "edge_shifts": real(sign * shift @ cell),
        "edge_cell_shifts": real(sign * shift),
        "cell": real(cell),
        "setup_cell": real(cell),
        **({"charges": real(charges)} if charges is not None else {}),
        "batch": torch.zeros(n, dtype=torch.int64),
        "batch_pointer": torch.tensor([0, n]),
        "n_rows": torch.tensor(n),
        "n_owned": torch.tensor(n),
        "owned_mask": torch.ones(n, dtype=dtype),
        "total_charge": real([float(total_charge)]),
        "inputs": inputs,
    }


def _shaped(value, entry, counts):
    if "shape" not in entry:
        return value
    dims = [d for d in entry["shape"].strip("()").split(",") if d]
    return value.reshape([counts[d] if d in counts else int(d) for d in dims])


TABLE = "(rows,neighbors"


def _table(entry, values, counts, cutoff):
    """Edge values as a table with a line of slots for each receiver, padded with the row itself and
    with vectors as long as the cutoff."""
    rows, receiver = counts["rows"], values["receiver"]
    counts["neighbors"] = max(1, int(torch.bincount(receiver, minlength=rows).max()))
    slots = counts["neighbors"]
    taken = [0] * rows
    place = []
    for row in receiver.tolist():
        place.append(row * slots + taken[row])
        taken[row] += 1
    place = torch.tensor(place, dtype=torch.int64)
    role = entry["role"]
    if role == "neighbor_matrix":
        empty, entries = torch.arange(rows).repeat_interleave(slots), values["sender"]
    elif role == "neighbor_mask":
        empty = torch.zeros(rows * slots, dtype=values["cell"].dtype)
        entries = torch.ones_like(place, dtype=empty.dtype)
    else:
        entries = values[role]
        empty = torch.zeros(rows * slots, 3, dtype=entries.dtype)
        empty[:, 0] = cutoff if role == "edge_vectors" else 0.0
    return _shaped(
        empty.index_copy(0, place, entries), {"shape": "(rows,neighbors)", **entry}, counts
    )


def _named_value(entry, values, counts, dtype):
    """What the structure, or else the card, gives under a name: a number, one of each column, or a
    list with an entry for each atom; (rows), (rows, columns) or (columns)."""
    columns, name = entry.get("columns", 1), entry["name"]
    given = values["inputs"].get(name, entry.get("default"))
    if given is None:
        raise ValueError(f"structure: got no value for the input '{name}', expected one of inputs")
    number = torch.as_tensor(np.asarray(given, dtype=float))
    if entry["role"] == "system_input":
        number = number.reshape(columns)
    elif number.dim() == 0 or (number.dim() == 1 and columns > 1):
        number = number.reshape(1, columns).expand(counts["rows"], columns)
    else:
        number = number.reshape(counts["rows"], columns)
    if "dtype" in entry:
        if bool((number != number.round()).any()):
            raise ValueError(f"structure: got {given} for the input '{name}', expected integers")
        dtype = torch.int64
    number = number.to(dtype).clone()
    if entry["role"] == "atom_input" and columns == 1:
        number = number.reshape(-1)
    return _shaped(number, entry, counts).requires_grad_(entry.get("requires_grad", False))


def _argument(entry, values, counts, dtype):
    if entry["role"] in NAMED_ROLES:
        return _named_value(entry, values, counts, dtype)
    if entry["role"] == "constant":
        if isinstance(entry["value"], (bool, int, float, str)) and "shape" not in entry:
            return entry["value"]
        value = torch.tensor(entry["value"])
        value = _shaped(value.to(dtype) if value.is_floating_point() else value, entry, counts)
        return value.requires_grad_(entry.get("requires_grad", False))
    if entry["role"].startswith("neighbor_") or entry.get("shape", "").startswith(TABLE):
        return _table(entry, values, counts, values["cutoff"])
    if entry["role"] not in values:
        raise NotImplementedError(
            f"input role '{entry['role']}' has no value in one small "
            "structure; compute the reference with the model's own package"
        )
    return _shaped(values[entry["role"]], entry, counts)


@contextlib.contextmanager
def default_precision(dtype):
    """Let torch's default precision be `dtype`: a product of a Python number and an integer tensor
    has it. The plugin evaluates so; a calculator has to, to give the same numbers."""
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(previous)


def evaluate(module, card, atoms):
    """Energy, energies, forces and stress (dE/dstrain / V) of the model, as float64 numpy.

    A model that returns its own forces gives these; otherwise the gradient is taken here."""
    with default_precision(DTYPES[card["dtype"]]):
        return _evaluate(module, card, atoms)


def differentiable_input(card, values):
    """The leaf that forces are derivatives with respect to."""
    leaf = values["edge_vectors" if card["forces"] == "edge_vectors" else "positions"]
    return leaf.requires_grad_(True)


def forward_arguments(card, values):
    """What the model's forward takes, made from role_values()."""
    counts = {"rows": len(values["species_index"]), "edges": values["edge_index"].shape[1]}
    dtype = DTYPES[card["dtype"]]
    data = {k: _argument(e, values, counts, dtype) for k, e in card["inputs"].items()}
    if card["forward"]["style"] == "dict":
        return [data]
    return [
        data if a["role"] == "dict" else _argument(a, values, counts, dtype)
        for a in card["forward"]["arguments"]
    ]


def _evaluate(module, card, atoms):
    values = role_values(card, atoms)
    leaf = differentiable_input(card, values)
    further = _further_leaves(card, values)
    returned = module(*forward_arguments(card, values))
    output = {e["role"]: returned[k] for k, e in card["outputs"].items()}
    energies = output["atomic_energies"].reshape(-1)
    result = {"energy": energies.sum().item(), "energies": energies}
    if card["forces"] == "model":
        result["forces"] = output["forces"]
        if "virial" in output and all(atoms["pbc"]):
            volume = abs(np.linalg.det(np.asarray(atoms["cell"])))
            result["stress"] = -output["virial"].reshape(3, 3) / volume
    else:
        gradient, *others = torch.autograd.grad(
            energies.sum(), [leaf, *(leaf for _, leaf in further)], allow_unused=True
        )
        gradient = torch.zeros_like(leaf) if gradient is None else gradient
        result.update(_forces_and_stress(card, values, gradient, atoms))
        _add_lattice(result, further, others, atoms)
    return {
        k: np.asarray(v.detach().double() if torch.is_tensor(v) else v) for k, v in result.items()
    }


def _further_leaves(card, values):
    """(role, leaf) of what a model of edge vectors depends on besides: its card says
    requires_grad for positions or cell."""
    if card["forces"] != "edge_vectors":
        return []
    roles = [e["role"] for e in card["inputs"].values() if e.get("requires_grad")]
    return [
        (role, values[role].requires_grad_(True)) for role in ("positions", "cell") if role in roles
    ]


def _add_lattice(result, further, gradients, atoms):
    """dE/dstrain = sum of r (x) g over edges + sum of x (x) g over atoms + h^T dE/dh."""
    volume = abs(np.linalg.det(np.asarray(atoms["cell"])))
    for (role, leaf), gradient in zip(further, gradients, strict=True):
        if gradient is None:
            continue
        if role == "positions":
            result["forces"] = result["forces"] - gradient
        if "stress" in result:
            moment = leaf.detach().T @ gradient
            result["stress"] = result["stress"] + (moment + moment.T) / (2 * volume)


def _forces_and_stress(card, values, gradient, atoms):
    if card["forces"] == "positions":
        return {"forces": -gradient}
    forces = torch.zeros(len(atoms["symbols"]), 3, dtype=gradient.dtype)
    first, second = values["edge_index"]  # the vector points from row 0's atom to row 1's
    forces = forces.index_add(0, first, gradient).index_add(0, second, -gradient)
    result = {"forces": forces}
    if all(atoms["pbc"]):
        vectors = values["edge_vectors"].detach()
        volume = abs(np.linalg.det(np.asarray(atoms["cell"])))
        moment = torch.einsum("ea,eb->ab", vectors, gradient)
        # by a symmetric strain: a network with rounded weights is not exactly invariant
        result["stress"] = (moment + moment.T) / (2 * volume)
    return result


def add_reference(card, atoms, numbers):
    """Put `atoms` and its `numbers` (energy, energies, forces, stress) into the card."""
    reference = dict(atoms, energy=float(numbers["energy"]))
    for key in ("energies", "forces", "stress"):
        if key in numbers:
            reference[key] = np.asarray(numbers[key], dtype=float).tolist()
    card["reference"] = reference
    return card


def largest_deviation(module, card):
    """Largest deviation of each quantity from the card's reference, relative to the largest
    absolute value of that quantity (or to 1)."""
    reference = card["reference"]
    numbers = evaluate(module, card, reference)
    deviation = {}
    for key in ("energy", "energies", "forces", "stress"):
        if key in reference and key in numbers:
            expected = np.asarray(reference[key])
            scale = max(1.0, np.abs(expected).max())
            deviation[key] = float(np.abs(numbers[key] - expected).max() / scale)
    return deviation


def check_reference(module, card):
    """Raise RuntimeError unless `module` reproduces the card's reference to rounding."""
    deviation = largest_deviation(module, card)
    allowed = TOLERANCE[card["dtype"]]
    wrong = {k: v for k, v in deviation.items() if not v <= allowed}
    if wrong:
        raise RuntimeError(
            f"archive '{card['name']}' does not reproduce its reference: largest "
            f"relative deviations {wrong}, allowed {allowed}; the card does not "
            "describe what the model takes, or the conversion changed the model"
        )
    return deviation
