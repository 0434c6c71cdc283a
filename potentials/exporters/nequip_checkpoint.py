# SPDX-License-Identifier: GPL-2.0-only
"""Load a model of the NequIP framework in a chosen precision, or say why it is refused."""

import os
import warnings

import torch
from ase.data import chemical_symbols
from nequip.model.saved_models.load_utils import load_saved_model
from nequip.utils.global_state import set_global_state

COMPILED = (".pth", ".pt2")  # what nequip-compile and its predecessor nequip-deploy write
NO_INPUT = "none beside species, positions and cell"


def load_models(path):
    """All models in the file, by name; runs the code that the file holds."""
    if path.startswith("nequip.net:"):
        raise ValueError(
            f"CHECKPOINT: got {path}, expected a file: this exporter downloads nothing; fetch the "
            "model's NAME.nequip.zip from that site and give its path"
        )
    if path.endswith(COMPILED):
        raise ValueError(
            f"CHECKPOINT: {path} is a compiled model; give the NAME.ckpt or NAME.nequip.zip that "
            "it was made from"
        )
    if not os.path.isfile(path):
        raise ValueError(
            f"CHECKPOINT: {path} is not a file; expected a checkpoint of nequip's training "
            "(NAME.ckpt) or a package (NAME.nequip.zip)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, and on what packages are made of
            set_global_state()
            return load_saved_model(path, model_key=None)
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"CHECKPOINT: {path} needs the Python package '{missing.name}', which this environment "
            "has not; export it where that package is installed"
        ) from missing
    except Exception as error:  # a damaged or foreign file can raise anything
        raise ValueError(
            f"CHECKPOINT: {path} cannot be loaded ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no message'}); expected a checkpoint "
            "of nequip's training (NAME.ckpt) or a package (NAME.nequip.zip), of a version that "
            "nequip 0.19.1 reads"
        ) from error


def choose_model(models, name):
    """The model of that name, or the only one of the file."""
    names = list(models.keys())
    if name is None:
        if len(names) > 1:
            raise ValueError(f"--model: not given, expected one of {', '.join(names)}")
        name = names[0]
    if name not in names:
        raise ValueError(f"--model: got '{name}', expected one of {', '.join(names)}")
    return models[name]


def energy_network(path, model):
    """The part of the model that ends at per-atom energies, or an error that says what is there."""
    network = getattr(model.model, "func", None)  # within what differentiates it
    fields = set(getattr(network, "irreps_out", ()))
    if "atomic_energy" not in fields or not isinstance(network, torch.nn.Sequential):
        raise ValueError(
            f"CHECKPOINT: {path} holds a {type(model.model).__name__}, expected a model whose "
            "forces and stress are derivatives of a sum of per-atom energies"
        )
    return network


def refuse_what_cannot_be_exported(path, model):
    """Raise unless the model takes species, positions and cell alone, and species are elements."""
    energy_network(path, model)
    embedding = [getattr(m, "categorical_graph_field_embed_shifts", {}) for m in model.modules()]
    fields = sorted({field for found in embedding for field in found})
    if fields:
        raise ValueError(
            f"CHECKPOINT: {path} takes the further inputs {', '.join(fields)}, expected {NO_INPUT}"
        )
    foreign = [name for name in model.type_names if name not in chemical_symbols[1:]]
    if foreign:
        raise ValueError(
            f"CHECKPOINT: {path} has the types {', '.join(foreign)}, expected chemical symbols: an "
            "archive's species are elements"
        )


def set_precision(model, dtype):
    """Let the network compute in `dtype`. Weights in single precision are widened exactly. Where it
    computes in single precision, energies, and all of geometry, stay in double, as in nequip."""
    if model.model_dtype == dtype:
        return
    model.to(dtype)
    for module in model.modules():
        for name in ("_output_dtype", "model_dtype"):
            if isinstance(getattr(module, name, None), torch.dtype):
                setattr(module, name, dtype)
        if type(module).__name__ == "PerTypeScaleShift":
            module.to(torch.float64)  # shifts may be thousands of eV: kept in double precision


def load_model(path, name, dtype):
    """The chosen model of the file, on the CPU, in `dtype`, without gradients of its weights."""
    model = choose_model(load_models(path), name)
    refuse_what_cannot_be_exported(path, model)
    set_precision(model, dtype)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model.eval()
