# SPDX-License-Identifier: GPL-2.0-only
"""Small NequIP and Allegro models with random weights, built, saved and packaged by nequip itself.

Importing this in a Python without nequip ends the test as skipped."""

import contextlib
import io
import logging
import unittest
import warnings

import numpy as np
import torch
from support import EXPORTERS  # noqa: F401  (puts the exporters on the path)

try:
    import export_nequip
    import lightning
    import nequip_checkpoint
    from ase.build import bulk
    from ase.calculators.singlepoint import SinglePointCalculator
    from ase.io import write
    from nequip.model import NequIPGNNModel
    from nequip.scripts import package
    from nequip.train import EMALightningModule, NequIPLightningModule
    from nequip.utils import get_current_code_versions
    from nequip.utils.global_state import set_global_state
except SystemExit as missing:
    raise unittest.SkipTest(str(missing)) from missing

ELEMENTS = ["O", "Na", "Cl"]
CUTOFF = 4.0


def settings(**changes):
    """What every model is told, in nequip's words."""
    energies = {"O": -1.5, "Na": -2.5, "Cl": -3.25}
    arguments = dict(
        seed=3,
        model_dtype="float64",
        type_names=ELEMENTS,
        r_max=CUTOFF,
        avg_num_neighbors=6.0,
        per_type_energy_scales=4.0,
        per_type_energy_shifts=energies,
    )
    arguments.update(changes)
    return arguments


def nequip(**changes):
    """A NequIP of three layers, with nequip's pair repulsion."""
    arguments = dict(
        _target_="nequip.model.NequIPGNNModel",
        num_layers=3,
        l_max=1,
        num_features=6,
        radial_mlp_width=8,
        pair_potential={
            "_target_": "nequip.nn.pair_potential.ZBL",
            "units": "metal",
            "chemical_species": ELEMENTS,
        },
    )
    return settings(**(arguments | changes))


def allegro(**changes):
    """An Allegro of two layers, with a cutoff of its own for sodium's neighbours."""
    arguments = dict(
        _target_="allegro.model.AllegroModel",
        l_max=2,
        num_layers=2,
        num_scalar_features=8,
        num_tensor_features=4,
        radial_chemical_embed={"_target_": "allegro.nn.TwoBodyBesselScalarEmbed"},
        per_edge_type_cutoff={"Na": 3.2},
    )
    return settings(**(arguments | changes))


def two_models():
    """Two of them in one file, as a training of several writes."""
    return nequip(num_layers=1, pair_potential=None) | {"_target_": "nequip_models.build_two"}


def build_two(**arguments):
    """What nequip calls to make the two."""
    return torch.nn.ModuleDict(
        {name: NequIPGNNModel(**dict(arguments, seed=n)) for n, name in enumerate(("a", "b"))}
    )


@contextlib.contextmanager
def quiet():
    """lightning and nequip tell what they do, on both streams."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def crystal_for_packaging(folder):
    """The data that nequip wants in a package: two frames of rocksalt, and how to read them."""
    atoms = bulk("NaCl", "rocksalt", 5.64, cubic=True)
    atoms.calc = SinglePointCalculator(atoms, energy=0.0, forces=np.zeros((8, 3)))
    path = str(folder / "frames.xyz")
    write(path, [atoms, atoms])
    transforms = "nequip.data.transforms."
    return dict(
        _target_="nequip.data.datamodule.ASEDataModule",
        seed=1,
        train_file_path=path,
        val_file_path=path,
        transforms=[
            dict(
                _target_=transforms + "ChemicalSpeciesToAtomTypeMapper",
                model_type_names=ELEMENTS,
                chemical_species_to_atom_type_map={name: name for name in ELEMENTS},
            ),
            dict(_target_=transforms + "NeighborListTransform", r_max=CUTOFF),
        ],
    )


def save_checkpoint(model, path, averaged=False):
    """A checkpoint as nequip's training writes it. With `averaged`, its weights and their moving
    average differ."""
    set_global_state()
    kind = EMALightningModule if averaged else NequIPLightningModule
    information = dict(
        versions=get_current_code_versions(verbose=False),
        training_module={"_target_": f"nequip.train.{kind.__name__}"},
        data=crystal_for_packaging(path.parent),
    )
    counts = dict(train=1, val=0, test=0, predict=0)
    with quiet():
        training = kind(model=model, num_datasets=counts, info_dict=information)
        if averaged:
            with torch.no_grad():
                for weight in training.model.parameters():
                    weight.mul_(1.5)
        trainer = lightning.Trainer(
            logger=False,
            enable_checkpointing=False,
            accelerator="cpu",
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.strategy.connect(training)
        trainer.save_checkpoint(path)


def save_package(model, path):
    """A package as `nequip-package build` makes it."""
    checkpoint = path.parent / "to_be_packaged.ckpt"
    save_checkpoint(model, checkpoint)
    with quiet():
        package.main(["build", str(checkpoint), str(path)])


__all__ = ["export_nequip", "nequip_checkpoint"]
