#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export a model of the NequIP framework, NequIP or Allegro, as an archive.

The model comes from a checkpoint of nequip's training (NAME.ckpt) or from a package
(NAME.nequip.zip), as foundation models are passed on. Needs the PyPI package `nequip`, and
`nequip-allegro` for a checkpoint of Allegro. Neither a GPU nor a compiler is used.

Both kinds of file run the code that they hold when they are loaded, here as in nequip itself. Take
one from people you trust.

What is exported is the network up to its per-atom energies, with edge vectors as input. The plugin
differentiates and finds the exchanges between ranks.
"""

import warnings

try:
    import torch
    from ase_numbers import calculator_numbers
    from card import DTYPES, make_card
    from command_line import archive_name, parser, refuse_to_overwrite, run, write_and_check
    from e3nn.util.jit import compile_mode
    from e3nn.util.jit import script as script_e3nn
    from evaluate import add_reference, reference_structure
    from fused_convolution import FusedConvolution, fuse_convolutions, fused_spec
    from nequip.integrations.ase import NequIPCalculator
    from nequip.integrations.utils import basic_transforms
    from nequip_checkpoint import energy_network, load_model
    from operators import add_fused_option
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs the PyPI packages nequip==0.19.1 and "
        "nequip-allegro==0.8.3 in the Python environment that runs it; "
        "'nvalchemi-export nequip --make-environment' makes one"
    ) from missing


@compile_mode("script")
class EdgeVectorNetwork(torch.nn.Module):
    """Hands the package's network edge vectors in place of positions, of which it then reads the
    number alone."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        species = data["atom_types"]
        vectors = data["edge_vectors"].to(torch.float64)  # which geometry is in, whatever the model
        graph = {
            "atom_types": species,
            "edge_index": data["edge_index"],
            "edge_vectors": vectors,
            "pos": torch.zeros(species.size(0), 3, dtype=vectors.dtype, device=vectors.device),
        }
        return {"atomic_energy": self.network(graph)["atomic_energy"]}


@compile_mode("script")
class FusedScatter(torch.nn.Module):
    """nequip's TensorProductScatter by one operator, without a message of each edge in memory."""

    def __init__(self, product, dtype):
        super().__init__()
        self.convolution = FusedConvolution(product, dtype)

    def forward(
        self,
        x: torch.Tensor,
        edge_attr: torch.Tensor,
        edge_weight: torch.Tensor,
        edge_dst: torch.Tensor,
        edge_src: torch.Tensor,
    ) -> torch.Tensor:
        return self.convolution(x, edge_attr, edge_weight, torch.stack([edge_dst, edge_src]))


def fused(module, dtype):
    """What stands in for a convolution of NequIP; None for another module. A package brings classes
    of its own, so names decide."""
    if type(module).__name__ != "TensorProductScatter":
        return None
    return FusedScatter(module.tp, dtype)


def message_layers(model):
    """Convolutions of NequIP; an Allegro has none: its layers work within one neighbourhood."""
    return sum(type(module).__name__ == "ConvNetLayer" for module in model.modules())


def network_card(name, model, dtype_name, is_fused):
    """The contract of the exported network."""
    layers = message_layers(model)
    return make_card(
        name=name,
        family="nequip" if layers else "allegro",
        cutoff=float(model.metadata["r_max"]),
        dtype=dtype_name,
        species=list(model.type_names),
        inputs={
            "atom_types": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "atomic_energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows,1)"}
        },
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=max(layers - 1, 0),
        spec=fused_spec() if is_fused else None,
    )


def package_calculator(model):
    """nequip's own ASE calculator of the model, whose types are chemical symbols."""
    names = list(model.type_names)
    transforms = basic_transforms(
        model.metadata, float(model.metadata["r_max"]), names, {name: name for name in names}
    )
    return NequIPCalculator(model=model, device="cpu", transforms=transforms)


def script_network(path, model):
    """The scripted network that ends at per-atom energies and differentiates nothing.

    It is not frozen, so that the plugin's listing can name its modules."""
    network = energy_network(path, model)
    network._modules.pop("total_energy_sum", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript's, on annotations in the package's classes
        try:
            return script_e3nn(EdgeVectorNetwork(network))
        except Exception as error:  # the code of a package is its author's, of any version
            raise ValueError(
                f"CHECKPOINT: {path} holds code that TorchScript refuses: "
                f"{str(error).strip().splitlines()[0]}"
            ) from error


def main(arguments=None, default_name="nequip"):
    options = parser(__doc__, default_name)
    options.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="NAME.ckpt or NAME.nequip.zip; loading it runs the code that it holds",
    )
    options.add_argument("--model", help="the model's name in a file that holds several")
    add_fused_option(options, "convolutions", default=False)
    options = options.parse_args(arguments)
    path = options.checkpoint
    refuse_to_overwrite(path, options.output)
    model = load_model(path, options.model, DTYPES[options.dtype])
    stem = path.removesuffix(".nequip.zip")
    parts = [options.model, options.dtype] if options.model else [options.dtype]
    card = network_card(archive_name(stem, *parts), model, options.dtype, options.fused)
    atoms = reference_structure(card["species"])
    add_reference(card, atoms, calculator_numbers(package_calculator(model), atoms))
    if options.fused:
        network = energy_network(path, model)
        fuse_convolutions(network, lambda module: fused(module, DTYPES[options.dtype]))
    write_and_check(script_network(path, model), card, options.output)


if __name__ == "__main__":
    run(main)
