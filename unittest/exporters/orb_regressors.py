# SPDX-License-Identifier: GPL-2.0-only
"""Small conservative ORB models with random weights, built by orb-models' own architecture.

Importing this in a Python without orb-models ends the test as skipped."""

import unittest

import torch
from support import EXPORTERS  # noqa: F401  (puts the exporters on the path)

try:
    import export_orb
    from evaluate import default_precision
    from orb_models.forcefield.atomic_system import SystemConfig
    from orb_models.forcefield.pretrained import (
        orb_v3_conservative_architecture,
        orb_v3_direct_architecture,
    )
except SystemExit as missing:
    raise unittest.SkipTest(str(missing)) from missing


def regressor(
    dtype=torch.float64, build=orb_v3_conservative_architecture, neighbors=400, seed=1, **changes
):
    """A model of two layers whose energy is far from linear in the mean of its features."""
    torch.manual_seed(seed)
    sizes = dict(latent_dim=8, base_mlp_hidden_dim=8, head_mlp_hidden_dim=8)
    arguments = dict(sizes, num_message_passing_steps=2, device="cpu", **changes)
    config = SystemConfig(radius=6.0, max_num_neighbors=neighbors)
    with default_precision(dtype):
        model = build(system_config=config, **arguments).eval()
    with torch.no_grad():
        model.heads["energy"].mlp[0].weight.mul_(5.0)
    return model


def direct():
    return regressor(build=orb_v3_direct_architecture)


__all__ = ["export_orb"]
