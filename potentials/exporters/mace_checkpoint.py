# SPDX-License-Identifier: GPL-2.0-only
"""Load a MACE checkpoint, in mace's plain form and a chosen precision, or say why it is refused."""

import os
import warnings

import torch
from evaluate import default_precision
from mace.modules import MACE, ScaleShiftMACE

# What cannot be had from edge vectors, or is not an energy.
REFUSED = {
    "AtomicDipolesMACE": "it predicts dipoles and has no energy",
    "AtomicDielectricMACE": "it predicts dipoles and polarizabilities and has no energy",
    "EnergyDipolesMACE": "it predicts dipoles beside the energy",
    "PolarMACE": "this exporter does not know its sums over the reciprocal lattice",
    "MACELES": "this exporter does not know its sums over the reciprocal lattice",
    "LAMMPS_MACE": "it is the form for another interface; give the .model file behind it",
    "LAMMPS_MLIAP_MACE": "it is the form for LAMMPS's ML-IAP; give the .model file behind it",
}
ACCELERATED = ("cuequivariance", "cuequivariance_torch", "openequivariance")


def unpickle(path):
    """The object in the file; runs the code that the file holds."""
    if not os.path.isfile(path):
        raise ValueError(
            f"CHECKPOINT: {path} is not a file; expected one that mace saved (NAME.model)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on TorchScript files, refused below
            return torch.load(path, map_location="cpu", weights_only=False)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in ACCELERATED:
            raise ValueError(accelerated_message(path, missing.name.split(".")[0])) from missing
        raise ValueError(
            f"CHECKPOINT: {path} needs the Python package '{missing.name}', which this environment "
            "has not; export it where that package is installed"
        ) from missing
    except Exception as error:  # a damaged or foreign file can raise anything
        raise ValueError(
            f"CHECKPOINT: {path} cannot be loaded ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no message'}); expected a model that "
            "mace saved (NAME.model), of a version that mace-torch 0.3.16 reads"
        ) from error


def accelerated_message(path, library):
    """What to do with a checkpoint whose layers are those of a GPU library."""
    library = library.removesuffix("_torch")
    where = "Convert it where that library is installed"
    if library == "cuequivariance":
        where = "Install it here (pip install cuequivariance-torch) and export again, or convert it"
    form = {"cuequivariance": "cueq", "openequivariance": "oeq"}[library]
    return (
        f"CHECKPOINT: {path} holds layers of the library {library}, expected mace's plain form. "
        f"{where}: python -m mace.cli.convert_{form}_e3nn {path} --return_model "
        "--output_model plain.model"
    )


def plain_form(path, model):
    """The model without layers of cuEquivariance. The library is there: the file was loaded."""
    libraries = {type(m).__module__.split(".")[0] for m in model.modules()} & set(ACCELERATED)
    if not libraries:
        return model
    if "openequivariance" in libraries:
        raise ValueError(accelerated_message(path, "openequivariance"))
    if type(model) is not ScaleShiftMACE:
        raise ValueError(
            f"CHECKPOINT: {path} is of class {type(model).__name__} with layers of cuequivariance; "
            "mace converts these for ScaleShiftMACE alone. Train it without enable_cueq"
        )
    from mace.cli.convert_cueq_e3nn import run as convert

    with default_precision(torch.get_default_dtype()):  # which the conversion changes
        return convert(model)


def refuse_what_cannot_be_exported(path, model):
    """Raise unless the loaded object is a MACE of species and edge vectors."""
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            f"CHECKPOINT: {path} is a TorchScript file, as mace writes for other interfaces "
            "(NAME.model-lammps.pt, NAME_compiled.model); give the .model file behind it"
        )
    if isinstance(model, dict):
        raise ValueError(
            f"CHECKPOINT: {path} holds a dictionary with the keys {', '.join(map(str, model))}, as "
            "mace's training writes to continue from; give the .model file of the finished training"
        )
    kind = type(model).__name__
    if type(model) not in (MACE, ScaleShiftMACE):
        reason = REFUSED.get(kind, "this exporter does not know it")
        raise ValueError(
            f"CHECKPOINT: {path} is of class {kind}, expected MACE or ScaleShiftMACE: {reason}"
        )
    if hasattr(model, "joint_embedding"):
        raise ValueError(
            f"CHECKPOINT: {path} takes the further inputs {', '.join(model.embedding_specs)}, "
            "which this exporter does not feed; expected a model of species and positions alone"
        )


def load_model(path, dtype):
    """The checkpoint's model on the CPU. Single-precision weights are widened exactly, so that a
    float64 network is the trained one evaluated with less rounding."""
    model = unpickle(path)
    refuse_what_cannot_be_exported(path, model)
    model = plain_form(path, model).to(dtype).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


def choose_head(model, name):
    """(index, name) of the head that energies come from; mace's own calculator chooses alike."""
    heads = [str(head) for head in getattr(model, "heads", None) or ["Default"]]
    if name is None:
        defaults = [head for head in heads if head.lower() == "default"]
        if len(heads) > 1 and not defaults:
            raise ValueError(f"--head: not given, expected one of {', '.join(heads)}")
        name = defaults[0] if defaults else heads[0]
    if name not in heads:
        raise ValueError(f"--head: got '{name}', expected one of {', '.join(heads)}")
    return heads.index(name), name
