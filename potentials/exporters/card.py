# SPDX-License-Identifier: GPL-2.0-only
"""Build, check, write and read the card of a model archive.

A model archive is a TorchScript file whose extra file `nvalchemi.json` (the *card*) states what
the model takes and returns. doc/model_card.rst describes every key. The modules of this folder need
torch and numpy alone, so that they can be copied beside a model author's own exporter.
"""

import json
import os
import re
import tempfile

import torch
from portable_archive import make_portable

CARD_FILE = "nvalchemi.json"
FORMAT, FORMAT_VERSION = "nvalchemi-model", 1

INPUT_ROLES = (
    "species_index",
    "species_one_hot",
    "positions",
    "edge_index",
    "edge_vectors",
    "edge_shifts",
    "edge_cell_shifts",
    "cell",
    "setup_cell",
    "batch",
    "batch_pointer",
    "n_rows",
    "n_owned",
    "owned_mask",
    "charges",
    "total_charge",
    "atom_input",
    "system_input",
    "neighbor_matrix",
    "neighbor_mask",
    "constant",
)
OUTPUT_ROLES = ("atomic_energies", "energy", "forces", "virial", "stress", "charges", "other")
OUTPUT_KINDS = ("per_node", "per_graph", "global", "unknown")
DTYPES = {"float32": torch.float32, "float64": torch.float64}

REQUIRED_KEYS = (
    "format",
    "format_version",
    "name",
    "family",
    "cutoff",
    "units",
    "dtype",
    "species",
    "species_index",
    "forward",
    "inputs",
    "edges",
    "rows",
    "outputs",
    "forces",
    "ops",
)
OPTIONAL_KEYS = (
    "spec",
    "reference",
    "expected_exchanges",
    "backward_communicates",
    "triplets",
    "torch_version",
)
REFERENCE_KEYS = (
    "symbols",
    "positions",
    "cell",
    "pbc",
    "charges",
    "inputs",
    "energy",
    "energies",
    "forces",
    "stress",
    "total_charge",
)
NAMED_ROLES = ("atom_input", "system_input")  # what the user of a model gives under a name


class CardError(ValueError):
    """A card that cannot be accepted. The text names the place, what was found and expected."""

    def __init__(self, pointer, got, expected):
        super().__init__(f"model card {pointer}: got {json.dumps(got)}, expected {expected}")
        self.pointer = pointer


def make_card(
    *,
    name,
    family,
    cutoff,
    dtype,
    species,
    inputs,
    outputs,
    forces,
    species_index=None,
    rows="folded",
    receiver_row=0,
    expected_exchanges=None,
    spec=None,
):
    """The card of a model in Angstrom and eV that takes one `Dict[str, Tensor]`.

    `inputs`: key of the dictionary -> role, or -> {"role": ..., "shape": ...}; the roles atom_input
    and system_input need a "name", and may have "columns", "default", "unit" and "dtype".
    `outputs`: key of the result -> {"role", "kind", "shape"}.
    `forces`: who differentiates: "edge_vectors" or "positions" (the plugin), or "model".
    """
    card = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": name,
        "family": family,
        "cutoff": float(cutoff),
        "units": {"length": "Angstrom", "energy": "eV"},
        "dtype": dtype,
        "species": list(species),
        "species_index": list(range(len(species)) if species_index is None else species_index),
        "forward": {"style": "dict", "arguments": []},
        "inputs": {k: {"role": v} if isinstance(v, str) else v for k, v in inputs.items()},
        "edges": {"list": "full", "receiver_row": receiver_row, "sender_row": 1 - receiver_row},
        "rows": rows,
        "outputs": outputs,
        "forces": forces,
        "ops": [],
        "torch_version": torch.__version__.split("+")[0],
    }
    if spec is not None:
        card["spec"] = spec
    if expected_exchanges is not None:
        card["expected_exchanges"] = int(expected_exchanges)
    validate_card(card)
    return card


def _one_of(pointer, value, allowed):
    if value not in allowed:
        raise CardError(pointer, value, "one of " + ", ".join(map(repr, allowed)))


def _check_keys(card):
    for key in REQUIRED_KEYS:
        if key not in card:
            raise CardError(f"/{key}", None, "a value: this key is required")
    for key in card:
        if key not in REQUIRED_KEYS + OPTIONAL_KEYS:
            raise CardError(
                f"/{key}",
                card[key],
                "no such key; known keys are " + ", ".join(REQUIRED_KEYS + OPTIONAL_KEYS),
            )


def _check_torch_version(version):
    if not isinstance(version, str) or not re.match(r"\d+\.\d", version):
        raise CardError("/torch_version", version, "a version such as '2.11.0'")


def _check_species(card):
    species, index = card["species"], card["species_index"]
    if not species or len(set(species)) != len(species):
        raise CardError("/species", species, "element symbols, each once, at least one")
    if len(index) != len(species) or any(not isinstance(i, int) or i < 0 for i in index):
        raise CardError(
            "/species_index", index, f"{len(species)} integers >= 0, one for each of /species"
        )


def _check_named(pointer, entry):
    name, columns = entry.get("name"), entry.get("columns", 1)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise CardError(f"{pointer}/name", name, "a name of letters, digits and _, a letter first")
    if name in ("charges", "total_charge"):
        raise CardError(f"{pointer}/name", name, f"another name: it is that of role '{name}'")
    if not isinstance(columns, int) or columns < 1:
        raise CardError(f"{pointer}/columns", columns, "a number from 1 on")
    if entry.get("dtype", "int64") != "int64":
        raise CardError(f"{pointer}/dtype", entry["dtype"], "'int64', or no such key")
    if "default" in entry:
        default = entry["default"]
        values = default if isinstance(default, list) else [default]
        if len(values) != columns:
            raise CardError(f"{pointer}/default", default, f"{columns} number(s)")
        if "dtype" in entry and any(value != int(value) for value in values):
            raise CardError(f"{pointer}/default", default, "whole numbers, as dtype is int64")


def _check_inputs_and_outputs(card):
    for key, entry in card["inputs"].items():
        _one_of(f"/inputs/{key}/role", entry.get("role"), INPUT_ROLES)
        if (entry["role"] == "constant") != ("value" in entry):
            raise CardError(
                f"/inputs/{key}/value",
                entry.get("value"),
                "a value for the role 'constant', and for no other role",
            )
        if entry["role"] in NAMED_ROLES:
            _check_named(f"/inputs/{key}", entry)
    for key, entry in card["outputs"].items():
        _one_of(f"/outputs/{key}/role", entry.get("role"), OUTPUT_ROLES)
        _one_of(f"/outputs/{key}/kind", entry.get("kind"), OUTPUT_KINDS)
        if "shape" not in entry:
            raise CardError(f"/outputs/{key}/shape", None, "a shape such as '(rows,1)'")
    roles = [entry["role"] for entry in card["outputs"].values()]
    if roles.count("atomic_energies") != 1:
        raise CardError("/outputs", roles, "exactly one output of role 'atomic_energies'")


def _check_forces(card):
    given = [entry["role"] for entry in card["inputs"].values()]
    returned = [entry["role"] for entry in card["outputs"].values()]
    _one_of("/forces", card["forces"], ("edge_vectors", "positions", "model"))
    if card["forces"] == "model" and "forces" not in returned:
        raise CardError("/forces", "model", "an output of role 'forces'")
    if card["forces"] != "model" and card["forces"] not in given:
        raise CardError("/forces", card["forces"], f"an input of role '{card['forces']}'")


def _check_reference(reference):
    for key in reference:
        _one_of(f"/reference/{key}", key, REFERENCE_KEYS)
    n = len(reference.get("symbols", []))
    for key, size in (
        ("positions", n),
        ("forces", n),
        ("cell", 3),
        ("pbc", 3),
        ("stress", 3),
        ("energies", n),
        ("charges", n),
    ):
        if key in ("stress", "energies", "charges") and key not in reference:
            continue
        if len(reference.get(key, [])) != size or n == 0:
            raise CardError(f"/reference/{key}", reference.get(key), f"{size} entries, n >= 1")
    if not isinstance(reference.get("energy"), float):
        raise CardError("/reference/energy", reference.get("energy"), "a number")


def validate_card(card):
    """Raise CardError at the first thing that a reader of the card would refuse."""
    _check_keys(card)
    _one_of("/format", card["format"], (FORMAT,))
    _one_of("/format_version", card["format_version"], (FORMAT_VERSION,))
    _one_of("/dtype", card["dtype"], tuple(DTYPES))
    _one_of("/rows", card["rows"], ("folded", "raw"))
    _one_of("/units/length", card["units"].get("length"), ("Angstrom",))
    _one_of("/units/energy", card["units"].get("energy"), ("eV", "kcal/mol", "Hartree"))
    if not isinstance(card["cutoff"], float) or not card["cutoff"] > 0:
        raise CardError("/cutoff", card["cutoff"], "a length > 0 in Angstrom")
    edges = card["edges"]
    _one_of("/edges/list", edges.get("list"), ("full",))
    if sorted((edges.get("receiver_row"), edges.get("sender_row"))) != [0, 1]:
        raise CardError("/edges", edges, "receiver_row and sender_row to be 0 and 1 or 1 and 0")
    _check_species(card)
    _check_inputs_and_outputs(card)
    _check_forces(card)
    if "reference" in card:
        _check_reference(card["reference"])
    if "torch_version" in card:
        _check_torch_version(card["torch_version"])


def write_archive(module, card, path):
    """Save the scripted `module` with its `card`. The file appears whole or not at all."""
    validate_card(card)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as scratch:
        raw, part = os.path.join(scratch, "raw.pt"), os.path.join(scratch, "part.pt")
        torch.jit.save(module, raw, _extra_files={CARD_FILE: json.dumps(card, indent=1)})
        make_portable(raw, part, card["name"])
        os.replace(part, path)


def read_archive(path):
    """Return (module, card) of an archive; the card is None where the archive has none."""
    extra = {CARD_FILE: ""}
    module = torch.jit.load(path, map_location="cpu", _extra_files=extra)
    text = extra[CARD_FILE]
    return module.eval(), (json.loads(text) if text else None)
