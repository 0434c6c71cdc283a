# SPDX-License-Identifier: GPL-2.0-only
"""The operator tensor_product_convolution on a GPU against the CPU, for plans at random: values and
gradients. Needs a Python with torch for CUDA, and NVALCHEMI_KERNELS_LIBRARY."""

import os
import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))
from random_plans import FILTER_COLUMNS, random_plan

ROWS = 57
BARS = {torch.float64: 1e-12, torch.float32: 1e-5}  # of the largest number


def setUpModule():
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
    torch.ops.load_library(os.environ["NVALCHEMI_KERNELS_LIBRARY"])


def inputs(plan, edges, dtype):
    """x, filter, weights and edges; the last rows have none."""
    generator = torch.Generator().manual_seed(edges)
    widths = ((ROWS, plan.x_columns), (edges, FILTER_COLUMNS), (edges, plan.weight_columns))
    values = [torch.randn(*shape, dtype=dtype, generator=generator) for shape in widths]
    return values, torch.randint(0, ROWS - 3, (2, edges), generator=generator)


def value_and_gradients(plan, values, edges, device, coefficients=None):
    """Of a fixed weighted sum of the result, on the CPU again."""
    leaves = [value.to(device).requires_grad_() for value in values]
    result = torch.ops.nvalchemi_lmp.tensor_product_convolution(
        *leaves, edges.to(device), plan.paths, coefficients or plan.coefficients
    )
    factors = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view(result.shape)
    gradients = torch.autograd.grad((result * factors.to(device)).sum(), leaves)
    return [tensor.detach().cpu() for tensor in (result, *gradients)]


def largest_difference(found, expected):
    """Relative to the largest number of each tensor."""
    return max(
        ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item() if b.numel() else 0.0
        for a, b in zip(found, expected, strict=True)
    )


class OnAGpu(unittest.TestCase):
    def test_gives_the_values_and_gradients_of_the_cpu(self):
        for seed in range(8):
            plan = random_plan(seed)
            for dtype, bar in BARS.items():
                values, edges = inputs(plan, (0, 1, 700)[seed % 3], dtype)
                expected = value_and_gradients(plan, values, edges, "cpu")
                found = value_and_gradients(plan, values, edges, "cuda")
                with self.subTest(seed=seed, dtype=dtype):
                    self.assertLess(largest_difference(found, expected), bar)

    def test_one_other_coefficient_is_seen(self):
        plan = random_plan(2)
        values, edges = inputs(plan, 700, torch.float64)
        place = next(n for n, value in enumerate(plan.coefficients) if value)
        other = list(plan.coefficients)
        other[place] += 1e-3

        found = value_and_gradients(plan, values, edges, "cuda", other)

        expected = value_and_gradients(plan, values, edges, "cpu")
        self.assertGreater(largest_difference(found, expected), 1e-6)

    def test_gives_the_same_bits_twice(self):
        plan = random_plan(2)
        values, edges = inputs(plan, 700, torch.float32)

        first, second = (value_and_gradients(plan, values, edges, "cuda") for _ in range(2))

        for a, b in zip(first, second, strict=True):
            self.assertTrue(torch.equal(a, b))

    def test_refuses_tensors_on_two_devices(self):
        plan = random_plan(2)
        values, edges = inputs(plan, 5, torch.float32)

        with self.assertRaisesRegex(RuntimeError, "got tensors on cuda:0 and cpu, expected one"):
            torch.ops.nvalchemi_lmp.tensor_product_convolution(
                values[0].cuda(), *values[1:], edges.cuda(), plan.paths, plan.coefficients
            )


if __name__ == "__main__":
    unittest.main()
