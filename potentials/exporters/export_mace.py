#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export a MACE model, from the file that mace saved it in (NAME.model), as an archive.

Needs the PyPI package `mace-torch`. Neither a GPU nor a compiler is used.

A MACE checkpoint is a pickled Python object: loading it runs the code that it holds, here as in
mace itself. Take one from people you trust.

What is exported is the *serial* network, from edge vectors to per-atom energies with the isolated
atoms' energies of the chosen head. The plugin differentiates and finds the exchanges between ranks.
"""

import contextlib
import io
import os
import warnings

# e3nn 0.4.4 reads its own constants in a way that torch 2.6 and later refuse without this.
os.environ.setdefault("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
warnings.filterwarnings("ignore", message=".*TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")

try:
    import torch
    from ase.data import chemical_symbols
    from ase_numbers import calculator_numbers
    from card import DTYPES, make_card
    from command_line import archive_name, parser, refuse_to_overwrite, run, write_and_check
    from e3nn.util.jit import compile_mode
    from e3nn.util.jit import script as script_e3nn
    from evaluate import add_reference, default_precision, reference_structure
    from fused_convolution import FusedConvolution, fuse_convolutions, fused_spec
    from operators import add_fused_option

    with contextlib.redirect_stdout(io.StringIO()):  # mace tells which GPU libraries are absent
        import mace.modules.blocks
        from mace.calculators import MACECalculator
        from mace.modules import GatedEquivariantBlock
        from mace.modules.blocks import InteractionBlock
        from mace_checkpoint import choose_head, load_model
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs the PyPI package mace-torch==0.3.16 in the Python "
        "environment that runs it; 'nvalchemi-export mace --make-environment' makes one"
    ) from missing


@compile_mode("script")
class EdgeVectorNetwork(torch.nn.Module):
    """Hands mace's own network the edge vectors as its shifts, with all positions zero.

    The network forms x[receiver] - x[sender] + shift, so that nothing but the vectors enters."""

    def __init__(self, model, head):
        super().__init__()
        self.model = model
        self.register_buffer("head", torch.tensor([head]))
        self.register_buffer("one_graph", torch.tensor([0, 1]))  # only its length is read
        self.register_buffer("cell", torch.zeros(3, 3, dtype=model.r_max.dtype))  # not read

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        species = data["node_attrs"]  # (rows, elements), one-hot
        graph = {
            "node_attrs": species,
            "edge_index": data["edge_index"],
            "shifts": data["edge_vectors"],
            "positions": torch.zeros(
                species.size(0), 3, dtype=species.dtype, device=species.device
            ),
            "batch": torch.zeros(species.size(0), dtype=torch.long, device=species.device),
            "ptr": self.one_graph,
            "cell": self.cell,
            "head": self.head,
        }
        energy = self.model(graph, training=False, compute_force=False)["node_energy"]
        assert energy is not None
        return {"node_energy": energy}


@compile_mode("script")
class ScriptedGate(torch.nn.Module):
    """mace's gated nonlinearity, in words that TorchScript knows.

    Features are [scalars | gates | gated], and every gated irrep is multiplied by its gate."""

    def __init__(self, gate):
        super().__init__()
        self.scalars: tuple[int, int] = (gate._s_start, gate._s_len)
        self.gates: tuple[int, int] = (gate._g_start, gate._g_len)
        # (start, length, components, multiplicity, offset of the gates) of each gated irrep
        self.gated: list[tuple[int, int, int, int, int]] = list(gate._gated_info)
        self.scalar_activation = gate._act_scalar or torch.nn.Identity()
        self.gate_activation = gate._act_gate or torch.nn.Identity()
        self.scalar_factor: float = gate._scalar_cst
        self.gate_factor: float = gate._gate_cst

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        rows = features.size(0)
        scalars = features.narrow(-1, self.scalars[0], self.scalars[1])
        gates = features.narrow(-1, self.gates[0], self.gates[1])
        gates = self.gate_activation(gates) * self.gate_factor
        parts = [self.scalar_activation(scalars) * self.scalar_factor]
        for start, length, components, multiplicity, offset in self.gated:
            values = features.narrow(-1, start, length).reshape(rows, multiplicity, components)
            factors = gates.narrow(-1, offset, multiplicity).unsqueeze(-1)
            parts.append((values * factors).reshape(rows, length))
        return torch.cat(parts, dim=-1)


@compile_mode("script")
class FusedProduct(torch.nn.Module):
    """Product and sum over receivers, called as mace's interactions call a fused one."""

    def __init__(self, product, dtype):
        super().__init__()
        self.convolution = FusedConvolution(product, dtype)

    def forward(
        self, x: torch.Tensor, filters: torch.Tensor, weights: torch.Tensor, edges: torch.Tensor
    ) -> torch.Tensor:
        # mace's edges are senders, then receivers
        return self.convolution(x, filters, weights, torch.stack([edges[1], edges[0]]))


def fused(module, dtype):
    """mace's interaction with a fused convolution; None for another module."""
    if not isinstance(module, InteractionBlock):
        return None
    module.conv_tp = FusedProduct(module.conv_tp, dtype)
    module.conv_fusion = True  # which makes mace leave the gather and the sum to the product
    return module


def keep_one_head(x: torch.Tensor, head: torch.Tensor, num_heads: int) -> torch.Tensor:
    """What mace's `mask_head` computes, row by row: features of all heads but each row's own
    become 0. The original writes ones by row number, which no decomposition can follow."""
    own = torch.nn.functional.one_hot(head, num_heads).to(x.dtype)
    by_head = x.reshape(x.size(0), num_heads, x.size(1) // num_heads)
    return (by_head * own.unsqueeze(-1)).reshape(x.size(0), x.size(1))


def script_network(model, head):
    """The scripted network. What TorchScript or the decomposition refuses in mace's is replaced.

    It is not frozen, so that the plugin's listing can name its modules."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, GatedEquivariantBlock):
                setattr(module, name, ScriptedGate(child))
    original = mace.modules.blocks.mask_head
    mace.modules.blocks.mask_head = keep_one_head  # the readouts' code is compiled with it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript's, on annotations in mace's classes
            return script_e3nn(EdgeVectorNetwork(model, head))
    finally:
        mace.modules.blocks.mask_head = original


def reference_numbers(model, head, dtype_name, atoms):
    """Energy, energies, forces and stress of a structure from mace's own calculator, with torch's
    default precision that of the model, as in mace's training: pair repulsion depends on it."""
    calculator = MACECalculator(models=[model], device="cpu", default_dtype=dtype_name, head=head)
    with default_precision(DTYPES[dtype_name]):
        return calculator_numbers(calculator, atoms)


def network_card(name, model, dtype_name, is_fused):
    """The contract of the exported network."""
    return make_card(
        name=name,
        family="mace",
        cutoff=float(model.r_max),
        dtype=dtype_name,
        species=[chemical_symbols[int(z)] for z in model.atomic_numbers],
        inputs={
            "node_attrs": "species_one_hot",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={"node_energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
        forces="edge_vectors",
        receiver_row=1,
        expected_exchanges=int(model.num_interactions) - 1,
        spec=fused_spec() if is_fused else None,
    )


def card_name(path, heads, head, dtype_name):
    """The file's stem, the head where there are several, and the precision."""
    return archive_name(path, *([head, dtype_name] if len(heads) > 1 else [dtype_name]))


def main(arguments=None):
    options = parser(__doc__, "mace")
    options.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="the model's file, NAME.model; loading it runs the code that it holds",
    )
    options.add_argument(
        "--head", help="the head of a model that has several; default: the one named Default"
    )
    add_fused_option(options, "convolutions", default=False)
    options = options.parse_args(arguments)
    path = options.checkpoint
    refuse_to_overwrite(path, options.output)
    model = load_model(path, DTYPES[options.dtype])
    index, head = choose_head(model, options.head)
    name = card_name(path, getattr(model, "heads", None) or [head], head, options.dtype)
    card = network_card(name, model, options.dtype, options.fused)
    atoms = reference_structure(card["species"])
    add_reference(card, atoms, reference_numbers(model, head, options.dtype, atoms))
    if options.fused:
        fuse_convolutions(model, lambda module: fused(module, DTYPES[options.dtype]))
    write_and_check(script_network(model, index), card, options.output)


if __name__ == "__main__":
    run(main)
