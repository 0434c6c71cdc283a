#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export a conservative ORB model (orb-v3) as an archive.

Needs the PyPI package `orb-models` and the file of the model's weights, which the package would
download; this exporter downloads nothing. The file holds numbers alone: no code of it is run.
Neither a GPU nor a compiler is used.

What is exported is the network from edge vectors to energies, with all neighbours within the
cutoff. The plugin differentiates, and finds the exchanges and the sums over the system.
"""

import inspect
import os
import warnings

try:
    import torch
    from ase.data import chemical_symbols
    from ase_numbers import calculator_numbers
    from card import DTYPES, make_card
    from command_line import archive_name, parser, refuse_to_overwrite, run, write_and_check
    from evaluate import add_reference, default_precision, reference_structure
    from orb_models.forcefield.calculator import ORBCalculator
    from orb_models.forcefield.conservative_regressor import ConservativeForcefieldRegressor
    from orb_models.forcefield.embedding import AtomEmbedding
    from orb_models.forcefield.pretrained import ORB_PRETRAINED_MODELS
    from orb_network import OrbNetwork
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs the PyPI package orb-models==0.5.5 in the Python "
        "environment that runs it; 'nvalchemi-export orb --make-environment' makes one"
    ) from missing

# In words, since it is the name of a family of functions: which of the package's models there are.
CONSERVATIVE = [name for name in ORB_PRETRAINED_MODELS if "-conservative-" in name]
ALL_NEIGHBORS = 100  # a limit below this drops neighbours in common solids


def refuse_what_cannot_be_exported(name, regressor):
    """Raise unless the model's energy is a smooth function of species and positions alone."""
    if not isinstance(regressor, ConservativeForcefieldRegressor):
        raise ValueError(
            f"--model: {name} predicts forces directly, expected a conservative model: its forces "
            "are no derivative of its energy, and edge vectors cannot carry them"
        )
    if regressor.model.conditioner is not None:
        raise ValueError(
            f"--model: {name} takes the total charge and spin beside the atoms, which this "
            "exporter does not feed; expected a model of species and positions alone"
        )
    limit = regressor.system_config.max_num_neighbors
    if limit < ALL_NEIGHBORS:
        raise ValueError(
            f"--model: {name} keeps the nearest {limit} neighbours of each atom, expected a model "
            "of all neighbours within the cutoff (-inf-): the choice is no function of edge "
            "vectors, and energies jump where it changes"
        )
    refuse_other_layers(name, regressor)


def refuse_other_layers(name, regressor):
    """Raise for layers that orb_network.py does not have."""
    network = regressor.model
    expected = {
        "gates of edges": all(layer._attention_gate == "sigmoid" for layer in network.gnn_stacks),
        "a cutoff of edges": all(layer._distance_cutoff for layer in network.gnn_stacks),
        "features of edges": network.outer_product_with_cutoff,
        "an embedding of elements": isinstance(getattr(network, "atom_emb", None), AtomEmbedding),
        "the mean over atoms": regressor.heads[regressor.energy_name].atom_avg,
        "pair repulsion": regressor.pair_repulsion,
    }
    other = [what for what, there in expected.items() if not there]
    if other:
        raise ValueError(f"--model: {name} differs from orb-v3 in {', '.join(other)}")


def load_regressor(name, path, dtype):
    """The model of the package with the weights of the file, on the CPU, in `dtype`."""
    if name not in ORB_PRETRAINED_MODELS:
        raise ValueError(f"--model: got '{name}', expected one of {', '.join(CONSERVATIVE)}")
    if not os.path.isfile(path):
        raise ValueError(
            f"WEIGHTS: {path} is not a file; expected the weights of {name} (NAME.ckpt), which "
            f"orb-models fetches from {published_at(name)}"
        )
    precision = {torch.float64: "float64", torch.float32: "float32-highest"}[dtype]
    try:
        with warnings.catch_warnings(), default_precision(dtype):
            warnings.simplefilter("ignore")
            return ORB_PRETRAINED_MODELS[name](
                weights_path=path, device="cpu", precision=precision, compile=False
            ).eval()
    except Exception as error:  # a damaged or foreign file can raise anything
        raise ValueError(
            f"WEIGHTS: {path} cannot be loaded into {name} ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no message'})"
        ) from error


def published_at(name):
    """Where the package would download the weights from."""
    return inspect.signature(ORB_PRETRAINED_MODELS[name]).parameters["weights_path"].default


def network_card(name, regressor, dtype_name):
    """The contract of the exported network."""
    elements = len(regressor.heads[regressor.energy_name].reference.linear.weight.reshape(-1)) - 1
    return make_card(
        name=name,
        family="orb",
        cutoff=float(regressor.system_config.radius),
        dtype=dtype_name,
        species=chemical_symbols[1 : elements + 1],
        species_index=list(range(1, elements + 1)),
        inputs={
            "atomic_numbers": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "atomic_energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows,1)"}
        },
        forces="edge_vectors",
        receiver_row=1,
    )


def reference_numbers(regressor, dtype, atoms):
    """Energy, forces and stress by the package's own calculator; it has no energies of atoms."""
    with default_precision(dtype):
        return calculator_numbers(ORBCalculator(regressor, device="cpu"), atoms, energies=False)


def script_network(regressor):
    """The scripted network; not frozen, so that the plugin's listing can name its modules."""
    for parameter in regressor.parameters():
        parameter.requires_grad_(False)
    return torch.jit.script(OrbNetwork(regressor).eval())


def export(regressor, name, dtype_name, output):
    """Write the archive of a model of the package's class."""
    card = network_card(name, regressor, dtype_name)
    atoms = reference_structure(card["species"])
    add_reference(card, atoms, reference_numbers(regressor, DTYPES[dtype_name], atoms))
    write_and_check(script_network(regressor), card, output)


def main(arguments=None):
    options = parser(__doc__, "orb")
    options.add_argument("weights", metavar="WEIGHTS", help="the file of the model's weights")
    options.add_argument(
        "--model",
        default="orb-v3-conservative-inf-omat",
        help="the name that orb-models has for the model",
    )
    options = options.parse_args(arguments)
    refuse_to_overwrite(options.weights, options.output)
    regressor = load_regressor(options.model, options.weights, DTYPES[options.dtype])
    refuse_what_cannot_be_exported(options.model, regressor)
    name = archive_name(options.weights, options.dtype)
    export(regressor, name, options.dtype, options.output)


if __name__ == "__main__":
    run(main)
