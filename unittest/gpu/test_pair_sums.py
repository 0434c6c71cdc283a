# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of the pair potentials on a GPU against the operators that it stands for: on the CPU,
and on the GPU where something is to be differentiated. Needs a Python with torch for CUDA, and
NVALCHEMI_KERNELS_LIBRARY."""

import os
import unittest

import torch

ROWS, KINDS = 61, 2
BARS = {torch.float64: 1e-12, torch.float32: 1e-5}  # of the largest number
TABLES = {
    "lj": ((0.01, 0.02), (2.0, 2.4), (5.0, 6.0), (0.001, 0.002)),
    "buckingham": ((900.0, 1200.0), (0.3, 0.35), (30.0, 60.0), (5.0, 6.0), (0.001, 0.002)),
    "morse": ((0.3, 0.4), (1.5, 1.2), (2.5, 2.9), (5.0, 6.0), (0.001, 0.002)),
}


def setUpModule():
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
    torch.ops.load_library(os.environ["NVALCHEMI_KERNELS_LIBRARY"])


def table_of(style, dtype, kinds):
    """Symmetric, from the two numbers of each parameter."""
    rows = [[[low, high], [high, 0.5 * (low + high)]] for low, high in TABLES[style]]
    return torch.tensor(rows, dtype=dtype)[:, :kinds, :kinds].contiguous()


def inputs(style, edges, dtype, ordered, kinds=KINDS):
    """Edge vectors of 1.5 to 6 Angstrom, edges, species and table; the last rows have no edges."""
    generator = torch.Generator().manual_seed(edges)
    direction = torch.randn(edges, 3, dtype=torch.float64, generator=generator)
    length = 1.5 + 4.5 * torch.rand(edges, 1, dtype=torch.float64, generator=generator)
    vectors = length * direction / direction.norm(dim=1, keepdim=True).clamp(min=1e-9)
    index = torch.randint(0, ROWS - 3, (2, edges), generator=generator)
    if ordered:
        index[0] = index[0].sort().values
    species = torch.randint(0, kinds, (ROWS,), generator=generator)
    return vectors.to(dtype), index, species, table_of(style, dtype, kinds)


def sums(style, arguments, device, differentiable=False):
    arguments = [tensor.to(device) for tensor in arguments]
    if differentiable:
        arguments[0].requires_grad_()
    operator = getattr(torch.ops.nvalchemi_lmp, f"{style}_energy_forces_virial")
    return [tensor.detach().cpu() for tensor in operator(*arguments)]


def largest_difference(found, expected):
    """Relative to the largest number of each tensor."""
    return max(
        ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item()
        for a, b in zip(found, expected, strict=True)
    )


class OnAGpu(unittest.TestCase):
    def test_gives_the_sums_of_the_cpu(self):
        for style in TABLES:
            for edges in (0, 1, 33, 5000):
                for ordered in (True, False):
                    for dtype, bar in BARS.items():
                        for kinds in (1, 2):
                            arguments = inputs(style, edges, dtype, ordered, kinds)
                            expected = sums(style, arguments, "cpu")
                            found = sums(style, arguments, "cuda")
                            with self.subTest(style=style, edges=edges, ordered=ordered,
                                              dtype=dtype, kinds=kinds):  # fmt: skip
                                self.assertLess(largest_difference(found, expected), bar)

    def test_gives_the_sums_of_the_operators_that_are_differentiated(self):
        for style in TABLES:
            arguments = inputs(style, 700, torch.float64, True)
            expected = sums(style, arguments, "cuda", differentiable=True)
            with self.subTest(style=style):
                found = sums(style, arguments, "cuda")
                self.assertLess(largest_difference(found, expected), 1e-12)

    def test_one_other_parameter_is_seen(self):
        for style in TABLES:
            arguments = inputs(style, 700, torch.float64, True)
            expected = sums(style, arguments, "cpu")
            arguments[-1][0] *= 1.001
            with self.subTest(style=style):
                found = sums(style, arguments, "cuda")
                self.assertGreater(largest_difference(found, expected), 1e-6)

    def test_ordered_edges_give_the_same_bits_twice(self):
        for dtype in BARS:
            arguments = inputs("lj", 5000, dtype, True)
            first, second = (sums("lj", arguments, "cuda") for _ in range(2))
            for a, b in zip(first, second, strict=True):
                self.assertTrue(torch.equal(a, b))

    def test_a_distance_that_is_not_a_number_is_not_lost(self):
        arguments = inputs("morse", 700, torch.float64, True)
        arguments[0][5, 1] = float("nan")
        self.assertTrue(torch.isnan(sums("morse", arguments, "cuda")[0]).any())


if __name__ == "__main__":
    unittest.main()
