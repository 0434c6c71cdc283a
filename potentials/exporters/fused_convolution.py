# SPDX-License-Identifier: GPL-2.0-only
"""Convolutions of equivariant networks by the package's own operator, which forms no messages.

Needs e3nn. The operator is `nvalchemi_lmp::tensor_product_convolution`: the tensor product of each
sender's features with the edge's filter, summed over the edges of each receiver.
"""

import torch
from e3nn.util.jit import compile_mode
from operators import load_operators, operator_adapter, spec_from_preset

OPERATOR = "tensor_product_convolution"


def fused_spec():
    """The distribution spec of a network with this operator: it reads senders' rows, and rows of
    receivers are complete."""
    return spec_from_preset("SPEC_MPNN_HALO", [operator_adapter(OPERATOR)])


def fuse_convolutions(network, replacement):
    """Put `replacement(module)` in the place of each module below `network`, unless it is None.

    ValueError where a convolution cannot be fused, and where there is none."""
    fused = 0
    for parent_name, parent in list(network.named_modules()):
        for name, child in list(parent.named_children()):
            try:
                new = replacement(child)
            except NotImplementedError as reason:
                path = f"{parent_name}.{name}" if parent_name else name
                raise ValueError(f"--fused: {path}: {reason}; export with --no-fused") from reason
            if new is not None:
                setattr(parent, name, new)
                fused += 1
    if not fused:
        raise ValueError(
            "--fused: got a network without a convolution that could be fused, expected a sum of "
            "tensor products over neighbours (Allegro has none: its layers work within one "
            "neighbourhood); export with --no-fused"
        )


def path_numbers(product):
    """[[multiplicity, sizes of x, filter, result, their first columns and that of weights], ...]

    Only products whose channels do not mix can be fused: instructions 'uvu' with one channel of
    the filter, weights of each edge. Others raise NotImplementedError."""
    if not hasattr(product, "instructions"):
        raise NotImplementedError(
            f"got a tensor product of class {type(product).__name__}, expected one of e3nn"
        )
    x, filters, out = product.irreps_in1, product.irreps_in2, product.irreps_out
    if product.shared_weights or product.internal_weights:
        raise NotImplementedError(
            "got a tensor product with weights of its own, expected weights of each edge"
        )
    paths, weight = [], 0
    for step in product.instructions:
        (multiplicity, first), (channels, second) = x[step.i_in1], filters[step.i_in2]
        if step.connection_mode != "uvu" or channels != 1 or not step.has_weight:
            raise NotImplementedError(
                f"got a tensor product of {x} and {filters} with an instruction "
                f"'{step.connection_mode}', {channels} channels of the filter and "
                f"{'' if step.has_weight else 'no '}weights, expected 'uvu' with one and weights"
            )
        begins = [x.slices()[step.i_in1].start, filters.slices()[step.i_in2].start]
        begins += [weight, out.slices()[step.i_out].start]
        paths.append([multiplicity, first.dim, second.dim, out[step.i_out].ir.dim, *begins])
        weight += multiplicity
    return paths


def path_coefficients(product, path, dtype):
    """(size of x, of filter, of result) of a path, by asking the product for unit vectors: so they
    are the constants that it was made with, rounding included."""
    _, first, second, third, x_begin, filter_begin, weight_begin, out_begin = path
    units = torch.eye(first * second, dtype=dtype).reshape(-1, first, second)
    x = torch.zeros(first * second, product.irreps_in1.dim, dtype=dtype)
    filters = torch.zeros(first * second, product.irreps_in2.dim, dtype=dtype)
    weights = torch.zeros(first * second, product.weight_numel, dtype=dtype)
    x[:, x_begin : x_begin + first] = units.sum(2)
    filters[:, filter_begin : filter_begin + second] = units.sum(1)
    weights[:, weight_begin] = 1.0
    found = product(x, filters, weights)[:, out_begin : out_begin + third].double()
    # what is noise of computing a coupling that is zero
    return torch.where(found.abs() > 1e-10 * found.abs().max(), found, 0.0)


def convolution_plan(product, dtype):
    """(paths, coefficients) of an e3nn TensorProduct, as the operator takes them."""
    paths = path_numbers(product)
    with torch.no_grad():
        coefficients = [path_coefficients(product, path, dtype) for path in paths]
    return (
        [number for path in paths for number in path],
        torch.cat([values.flatten() for values in coefficients]).tolist(),
    )


@compile_mode("script")
class FusedConvolution(torch.nn.Module):
    """The convolution of an e3nn TensorProduct whose weights are those of each edge.

    Called with x (rows, X), filters (edges, F), weights (edges, W) and edge_index (2, edges):
    receivers, then senders; gives (rows, columns of the product)."""

    paths: list[int]
    coefficients: list[float]

    def __init__(self, product, dtype):
        super().__init__()
        try:
            load_operators()
        except ImportError as error:
            raise ImportError(
                f"{error}; --no-fused exports without this package's operator"
            ) from error
        self.paths, self.coefficients = convolution_plan(product, dtype)

    def forward(
        self, x: torch.Tensor, filters: torch.Tensor, weights: torch.Tensor, edges: torch.Tensor
    ) -> torch.Tensor:
        return torch.ops.nvalchemi_lmp.tensor_product_convolution(
            x, filters, weights, edges, self.paths, self.coefficients
        )
