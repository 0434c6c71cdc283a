# SPDX-License-Identifier: GPL-2.0-only
"""Tensor products of e3nn by the package's own operator, and those that are refused."""

import os
import subprocess
import sys
import tempfile
import unittest

import torch
from support import EXPORTERS

try:
    from e3nn import o3
    from fused_convolution import FusedConvolution, fuse_convolutions, fused_spec
except ImportError as missing:
    if __name__ == "__main__":
        print(f"SKIPPED: {missing}")
        raise SystemExit(77) from missing
    raise unittest.SkipTest(str(missing)) from missing

BARS = {torch.float64: 1e-12, torch.float32: 1e-5}


def product(features, filters, results, **changes):
    """What equivariant networks convolve with: all couplings that lead to `results`, sorted."""
    features, filters, results = map(o3.Irreps, (features, filters, results))
    outputs, steps = [], []
    for i, (multiplicity, irrep) in enumerate(features):
        for j, (_, other) in enumerate(filters):
            for result in irrep * other:
                if result in results:
                    steps.append((i, j, len(outputs), "uvu", True))
                    outputs.append((multiplicity, result))
    outputs, place, _ = o3.Irreps(outputs).sort()
    steps = [(i, j, place[k], mode, weights) for i, j, k, mode, weights in steps]
    arguments = dict(shared_weights=False, internal_weights=False) | changes
    return o3.TensorProduct(features, filters, outputs, steps, **arguments)


def value_and_gradients(convolve, inputs, edges):
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    value = convolve(*leaves, edges)
    factors = torch.linspace(-1, 1, value.numel(), dtype=value.dtype).view(value.shape)
    return [value.detach(), *torch.autograd.grad((value * factors).sum(), leaves)]


def largest_difference(found, expected):
    """Relative to the largest number of each tensor."""
    return max(
        ((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found, expected, strict=True)
    )


class AgainstE3nn(unittest.TestCase):
    CASES = (
        ("5x0e+3x1o+2x2e", "0e+1o+2e", "0e+1o+2e"),
        ("40x0e+33x1o", "0e+1o+2e+3o", "0e+1o+2e+1e+3o"),
    )

    def compare(self, words, dtype, change=0.0):
        torch.manual_seed(5)
        plain = product(*words).to(dtype)
        rows, edges = 11, torch.randint(0, 11, (2, 60))
        columns = (plain.irreps_in1.dim, plain.irreps_in2.dim, plain.weight_numel)
        inputs = [
            torch.randn(count, width, dtype=dtype)
            for count, width in zip((rows, 60, 60), columns, strict=True)
        ]
        fused = FusedConvolution(plain, dtype)
        fused.coefficients[0] += change

        def by_messages(x, filters, weights, index):
            messages = plain(x[index[1]], filters, weights)
            return messages.new_zeros(rows, messages.shape[1]).index_add(0, index[0], messages)

        return largest_difference(
            value_and_gradients(torch.jit.script(fused), inputs, edges),
            value_and_gradients(by_messages, inputs, edges),
        )

    def test_gives_the_values_and_gradients_of_the_product_and_a_sum(self):
        for words in self.CASES:
            for dtype, bar in BARS.items():
                with self.subTest(words=words, dtype=dtype):
                    self.assertLess(self.compare(words, dtype), bar)

    def test_another_coefficient_is_seen(self):
        self.assertGreater(self.compare(self.CASES[0], torch.float64, change=1e-4), 1e-7)


class Network(torch.nn.Module):
    """Holds one product, as networks do."""

    def __init__(self, convolution):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Module()])
        self.layers[0].convolution = convolution


class Refusals(unittest.TestCase):
    def refuse(self, text, convolution):
        def replacement(module):
            return FusedConvolution(module, torch.float64) if module is convolution else None

        with self.assertRaises(ValueError) as caught:
            fuse_convolutions(Network(convolution), replacement)
        self.assertEqual(
            str(caught.exception), f"--fused: layers.0.convolution: {text}; export with --no-fused"
        )

    def test_mixed_channels(self):
        self.refuse(
            "got a tensor product of 2x0e and 1x0e with an instruction 'uvw', 1 channels of the "
            "filter and weights, expected 'uvu' with one and weights",
            o3.FullyConnectedTensorProduct(
                "2x0e", "1x0e", "2x0e", shared_weights=False, internal_weights=False
            ),
        )

    def test_several_channels_of_the_filter(self):
        self.refuse(
            "got a tensor product of 2x0e and 3x0e with an instruction 'uvu', 3 channels of the "
            "filter and weights, expected 'uvu' with one and weights",
            product("2x0e", "3x0e", "0e"),
        )

    def test_weights_of_its_own(self):
        self.refuse(
            "got a tensor product with weights of its own, expected weights of each edge",
            product("2x0e", "1x0e", "0e", shared_weights=True, internal_weights=True),
        )

    def test_products_of_another_library(self):
        self.refuse(
            "got a tensor product of class Linear, expected one of e3nn", torch.nn.Linear(2, 2)
        )

    def test_networks_without_a_convolution(self):
        with self.assertRaisesRegex(ValueError, "--fused: got a network without a convolution"):
            fuse_convolutions(Network(torch.nn.Linear(2, 2)), lambda module: None)

    def test_without_the_library_it_says_how_to_do_without(self):
        script = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "import torch, fused_convolution\n"
            "fused_convolution.FusedConvolution(None, torch.float64)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-c", script, str(EXPORTERS)],
                env={**os.environ, "NVALCHEMI_KERNELS_LIBRARY": f"{folder}/absent.so"},
                capture_output=True,
                text=True,
                timeout=120,
            )

        self.assertNotEqual(run.returncode, 0)
        self.assertIn("absent.so, expected the built libnvalchemi_kernels.so", run.stderr)
        self.assertIn("; --no-fused exports without this package's operator", run.stderr)


class Spec(unittest.TestCase):
    def test_declares_the_operator(self):
        self.assertEqual(
            [entry["op"] for entry in fused_spec()["core"]["custom_ops"]],
            ["nvalchemi_lmp::tensor_product_convolution"],
        )


if __name__ == "__main__":
    unittest.main(warnings="ignore")
