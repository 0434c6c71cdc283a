# SPDX-License-Identifier: GPL-2.0-only
"""Small MACE models with random weights, made by mace's own classes, saved as mace saves them.

Importing this in a Python without mace ends the test as skipped."""

import unittest

import numpy as np
import torch
from support import EXPORTERS  # noqa: F401  (puts the exporters on the path)

try:
    import export_mace
    import mace_checkpoint
    from e3nn import o3
    from evaluate import default_precision
    from mace import modules
except SystemExit as missing:
    raise unittest.SkipTest(str(missing)) from missing

ELEMENTS = (8, 11, 17)  # O, Na, Cl
INTERACTIONS = modules.interaction_classes


def settings(layers=2, heads=None, **changes):
    """Arguments of a small MACE whose many-body terms are not small beside the pair terms."""
    energies = np.array([-1.5, -2.5, -3.25])
    if heads:
        energies = energies + 0.7 * np.arange(len(heads))[:, None]
    residual = INTERACTIONS["RealAgnosticResidualInteractionBlock"]
    arguments = dict(
        r_max=4.0,
        num_bessel=6,
        num_polynomial_cutoff=5,
        max_ell=2,
        interaction_cls=residual,
        interaction_cls_first=residual,
        num_interactions=layers,
        num_elements=len(ELEMENTS),
        hidden_irreps=o3.Irreps("16x0e + 16x1o"),
        MLP_irreps=o3.Irreps("8x0e"),
        atomic_energies=energies,
        avg_num_neighbors=2.0,
        atomic_numbers=list(ELEMENTS),
        correlation=2,
        gate=torch.nn.functional.silu,
        heads=heads,
    )
    arguments.update(changes)
    return arguments


def build(name, dtype=torch.float64, seed=3, **arguments):
    """The model of class `name`, with the same weights each time."""
    torch.manual_seed(seed)
    with default_precision(dtype):
        return getattr(modules, name)(**arguments)


def shifted(layers=2, heads=None, dtype=torch.float64, **changes):
    """A ScaleShiftMACE; each head has a scale, a shift and isolated atoms of its own."""
    count = len(heads or [None])
    return build(
        "ScaleShiftMACE",
        dtype,
        atomic_inter_scale=(3.0 + 0.5 * np.arange(count)) if heads else 3.0,
        atomic_inter_shift=(0.1 - 0.3 * np.arange(count)) if heads else 0.1,
        **settings(layers, heads, **changes),
    )


def two_layers():
    return shifted()


def one_layer():
    """The class without scale and shift, and a distance transform."""
    return build("MACE", **settings(layers=1, distance_transform="Soft"))


def two_heads():
    """As a foundation model after fine-tuning: trained in single precision, with pair repulsion."""
    return shifted(
        heads=["pbe", "r2scan"],
        dtype=torch.float32,
        pair_repulsion=True,
        distance_transform="Agnesi",
    )


def gated():
    """Three layers of the nonlinear interactions, whose gates the exporter replaces."""
    nonlinear = INTERACTIONS["RealAgnosticResidualNonLinearInteractionBlock"]
    return shifted(
        layers=3,
        hidden_irreps=o3.Irreps("8x0e + 8x1o"),
        interaction_cls=nonlinear,
        interaction_cls_first=nonlinear,
        readout_cls=modules.NonLinearBiasReadoutBlock,
        apply_cutoff=False,
        use_last_readout_only=True,
    )


def dipoles():
    arguments = settings(MLP_irreps=o3.Irreps("8x0e + 8x1o"), atomic_energies=None)
    del arguments["heads"]
    return build("AtomicDipolesMACE", **arguments)


def charged():
    """A model that is told the total charge beside the atoms."""
    charge = {"type": "continuous", "per": "graph", "in_dim": 1, "emb_dim": 4}
    return shifted(embedding_specs={"total_charge": charge})


__all__ = [
    "export_mace",
    "mace_checkpoint",
    "two_layers",
    "one_layer",
    "two_heads",
    "gated",
    "dipoles",
    "charged",
]
