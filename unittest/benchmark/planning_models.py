# SPDX-License-Identifier: GPL-2.0-only
"""Write the MACE or NequIP archive whose time and memory doc/planning.rst tells.

    $(nvalchemi-export mace --print-python) unittest/benchmark/planning_models.py mace mace.pt
    $(nvalchemi-export nequip --print-python) unittest/benchmark/planning_models.py nequip nequip.pt

Their weights are random, which changes neither time nor memory. Each is of the size that people
train for a few elements, with a cutoff of 5 Angstrom: MACE has two layers of 64 scalars and 64
vectors and three-body products, NequIP four layers of 32 features up to l = 1.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "exporters"))


def write_mace(output, options):
    import mace_models
    import torch
    from e3nn import o3

    model = mace_models.shifted(
        r_max=5.0,
        num_bessel=8,
        hidden_irreps=o3.Irreps("64x0e + 64x1o"),
        MLP_irreps=o3.Irreps("16x0e"),
        avg_num_neighbors=26.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model, f"{folder}/mace.model")
        mace_models.export_mace.main([f"{folder}/mace.model", *options, "--output", output])


def write_nequip(output, options):
    import nequip_models

    model = nequip_models.nequip(
        num_layers=4,
        l_max=1,
        num_features=32,
        radial_mlp_width=64,
        pair_potential=None,
        r_max=5.0,
        avg_num_neighbors=26.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "nequip.ckpt"
        nequip_models.save_checkpoint(model, checkpoint)
        nequip_models.export_nequip.main([str(checkpoint), *options, "--output", output])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=("mace", "nequip"))
    parser.add_argument("output")
    arguments, options = parser.parse_known_args()  # the others are the exporter's
    write = {"mace": write_mace, "nequip": write_nequip}[arguments.family]
    write(arguments.output, options)


if __name__ == "__main__":
    main()
