#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export a SevenNet potential, by default SevenNet-0 with its trained weights, as an archive.

Needs the PyPI package `sevenn` (the checkpoints of the named models lie inside its wheel, so that
nothing is downloaded). Neither a GPU nor a compiler is used.

What is exported is the *serial* network up to its per-atom energies, with edge vectors as input:
the plugin differentiates and finds the exchanges between ranks by itself, so the package's own
"parallel" deployment (one file for each layer) is not needed.
"""

import os
import warnings

try:
    import sevenn.util
    import torch
    from ase.data import chemical_symbols
    from ase_numbers import calculator_numbers
    from card import DTYPES, make_card
    from command_line import archive_name, parser, refuse_to_overwrite, run, write_and_check
    from e3nn.util.jit import compile_mode
    from e3nn.util.jit import script as script_e3nn
    from evaluate import add_reference, reference_structure
    from fused_convolution import FusedConvolution, fuse_convolutions, fused_spec
    from operators import add_fused_option
    from sevenn.calculator import SevenNetCalculator
    from sevenn.nn.convolution import IrrepsConvolution
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs the PyPI package sevenn==0.13.0 in the Python "
        "environment that runs it; 'nvalchemi-export sevennet --make-environment' makes one"
    ) from missing

# Models whose checkpoints are part of the sevenn wheel.
PACKAGED = {
    "7net-0": "sevennet_0",
    "7net-0_22may2024": "sevennet_0_22may2024",
    "7net-l3i5": "sevennet_l3i5",
    "7net-mf-0": "sevennet_mf_0",
}


@compile_mode("script")
class OneHotEmbedding(torch.nn.Module):
    """The package's species embedding, in the network's own precision.

    The original calls `.float()`, which pins a double network to single precision at its start.
    """

    def __init__(self, original, dtype):
        super().__init__()
        self.num_classes: int = original.num_classes
        self.dtype = dtype

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        species = data["x"]
        one_hot = torch.nn.functional.one_hot(species, self.num_classes).to(self.dtype)
        data["x"] = one_hot
        data["node_attr"] = one_hot  # for the self-connections
        data["atom_type"] = species  # for the per-species energy shift
        return data


@compile_mode("script")
class FusedIrrepsConvolution(torch.nn.Module):
    """The package's convolution by one operator, without a message of each edge in memory."""

    def __init__(self, original, dtype):
        super().__init__()
        self.weight_nn = original.weight_nn
        self.convolution = FusedConvolution(original.convolution, dtype)
        self.register_buffer("denominator", original.denominator.detach())
        self.key_x: str = original.key_x
        self.key_filter: str = original.key_filter
        self.key_weight_input: str = original.key_weight_input
        self.key_edges: str = original.key_edge_idx

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        weights = self.weight_nn(data[self.key_weight_input])
        x = self.convolution(data[self.key_x], data[self.key_filter], weights, data[self.key_edges])
        data[self.key_x] = x.div(self.denominator)
        return data


def fused(module, dtype):
    """What stands in for a convolution of the package; None for another module."""
    if not isinstance(module, IrrepsConvolution):
        return None
    return FusedIrrepsConvolution(module, dtype)


def fix_modal(model, network, modal):
    """Let a network trained on several fidelities compute the chosen one, or say what it has."""
    modals = sorted(network.modal_map or {})
    if modals and modal not in modals:
        given = f"got '{modal}'" if modal else "not given"
        raise ValueError(f"--modal: {given}, expected one of {', '.join(modals)} for '{model}'")
    if modal and not modals:
        raise ValueError(
            f"--modal: got '{modal}', but '{model}' knows one fidelity alone; leave the option out"
        )
    if modal:
        network.prepare_modal_deploy(modal)


def load_network(model, dtype, modal=None):
    """Return (network, config) of a checkpoint on the CPU. Single-precision weights are widened
    exactly, so that a float64 network is the trained one evaluated with less rounding."""
    if model.lower() not in PACKAGED and not os.path.isfile(model):
        raise ValueError(
            f"got the model '{model}', expected --model with one of {', '.join(PACKAGED)}, or the "
            "path of a SevenNet checkpoint file as CHECKPOINT"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package advertises GPU accelerators
        checkpoint = sevenn.util.load_checkpoint(model)
        network = checkpoint.build_model()
    fix_modal(model, network, modal)
    embedding = network._modules["onehot_idx_to_onehot"]
    keys = (
        embedding.key_x,
        embedding.key_output,
        embedding.key_additional_output,
        embedding.key_save,
    )
    if keys != ("x", "x", "node_attr", "atom_type"):
        raise RuntimeError(
            f"this sevenn names the species embedding {keys}, which differs from "
            "version 0.13.0; install sevenn==0.13.0"
        )
    network.replace_module("onehot_idx_to_onehot", OneHotEmbedding(embedding, dtype))
    network.set_is_batch_data(False)
    return network.to(dtype).eval(), checkpoint.config


def package_calculator(network, config, dtype, modal=None):
    """The package's own ASE calculator around `network`, in `dtype`."""
    network.type_map, network.cutoff = config["_type_map"], config["cutoff"]

    class Calculator(SevenNetCalculator):
        """SevenNetCalculator whose inputs are converted to `dtype` instead of float32."""

        def calculate(self, *args, **kwargs):
            original = sevenn.util.dtype_correct
            sevenn.util.dtype_correct = lambda value: original(value, float_dtype=dtype)
            try:
                super().calculate(*args, **kwargs)
            finally:
                sevenn.util.dtype_correct = original

    # Accelerated kernels compute other roundings and need a GPU.
    for switch in ("SEVENNET_ENABLE_CUEQ", "SEVENNET_ENABLE_FLASH", "SEVENNET_ENABLE_OEQ"):
        os.environ.pop(switch, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Calculator(network, file_type="model_instance", device="cpu", modal=modal)


def network_card(name, config, dtype_name, is_fused):
    """The contract of the exported network."""
    type_map = sorted(config["_type_map"].items(), key=lambda item: item[1])
    return make_card(
        name=name,
        family="sevennet",
        cutoff=config["cutoff"],
        dtype=dtype_name,
        species=[chemical_symbols[z] for z, _ in type_map],
        species_index=[index for _, index in type_map],
        inputs={"x": "species_index", "edge_index": "edge_index", "edge_vec": "edge_vectors"},
        outputs={
            "atomic_energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows,1)"}
        },
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=config["num_convolution_layer"] - 1,
        spec=fused_spec() if is_fused else None,
    )


def script_network(network):
    """The scripted network that ends at the per-atom energies and differentiates nothing.

    It is not frozen, so that the plugin's listing can name its modules."""
    network.delete_module_by_key("force_output")
    network.delete_module_by_key("reduce_total_enegy")  # the package's spelling
    network.eval_type_map = False  # the plugin hands over indices, not atomic numbers
    network.key_grad = None  # ... and edge vectors that require a gradient already
    return script_e3nn(network)


def main(arguments=None):
    options = parser(__doc__, "sevennet_0")
    options.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        nargs="?",
        help="the path of a checkpoint; loading it runs the code that it holds",
    )
    options.add_argument(
        "--model", default="7net-0", help=f"without CHECKPOINT: {', '.join(PACKAGED)}"
    )
    options.add_argument(
        "--modal",
        metavar="NAME",
        help="the task or fidelity, for a model trained on several (7net-mf-0: PBE or R2SCAN)",
    )
    add_fused_option(options, "convolutions", default=True)
    options = options.parse_args(arguments)
    dtype, modal = DTYPES[options.dtype], options.modal
    model = options.checkpoint or options.model  # which used to be a path, too
    refuse_to_overwrite(model, options.output)
    network, config = load_network(model, dtype, modal)
    stem = PACKAGED.get(model.lower(), model)
    name = archive_name(stem, *([modal, options.dtype] if modal else [options.dtype]))
    card = network_card(name, config, options.dtype, options.fused)
    atoms = reference_structure(card["species"])
    numbers = calculator_numbers(package_calculator(network, config, dtype, modal), atoms)
    add_reference(card, atoms, numbers)
    if options.fused:
        fuse_convolutions(network, lambda module: fused(module, dtype))
    write_and_check(script_network(network), card, options.output)


if __name__ == "__main__":
    run(main)
