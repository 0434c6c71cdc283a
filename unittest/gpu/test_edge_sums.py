# SPDX-License-Identifier: GPL-2.0-only
"""The operators of DFT-D3 and of Ewald's sum in real space on a GPU against the CPU, for graphs at
random: values and gradients. Needs a Python with torch for CUDA, and NVALCHEMI_KERNELS_LIBRARY."""

import os
import unittest

import torch

ROWS, KINDS, REFERENCES = 61, 4, 5
BARS = {torch.float64: 1e-10, torch.float32: 3e-5}  # of the largest number
DAMPINGS = ([], [1.2, 1.0, 0.0, 14.0], [1.2, 1.0, 0.05, 14.0])
EDGES = (0, 1, 31, 33, 255, 257, 5000)


def setUpModule():
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
    torch.ops.load_library(os.environ["NVALCHEMI_KERNELS_LIBRARY"])


class Case:
    """Edges in any order, in that of their receivers, or all of one receiver; the last rows have
    none. Lengths reach beyond the cutoffs."""

    def __init__(self, edges, order, dtype, damping=()):
        self.random = torch.Generator().manual_seed(edges)
        directions = torch.randn(edges, 3, generator=self.random, dtype=torch.float64)
        directions /= directions.norm(dim=1, keepdim=True)
        self.vectors = directions * self.between(0.6, 6.4, edges, 1)
        index = torch.randint(0, ROWS - 3, (2, edges), generator=self.random)
        if order == "sorted":
            index[0] = index[0].sort().values
        elif order == "one row":
            index[0] = 5
        self.index = index
        self.species = torch.arange(ROWS) % KINDS
        self.has_reference = torch.arange(REFERENCES) <= torch.arange(KINDS).unsqueeze(1)
        exists = self.has_reference[:, None, :, None] & self.has_reference[None, :, None, :]
        self.tables = {
            "radii": self.between(0.8, 1.6, KINDS),
            "c6": self.between(5, 90, KINDS, KINDS, REFERENCES, REFERENCES) * exists,
            "reference_cn": self.between(0, 4, KINDS, REFERENCES),
            "r2r4": self.between(2, 6, KINDS),
            "radius": self.between(2, 6, KINDS, KINDS),
        }
        self.coordination = self.between(0, 4, ROWS)
        self.charges = self.between(-1, 1, ROWS)
        self.factors = self.between(-1, 1, ROWS)
        self.damping = list(damping)
        self.dtype = dtype

    def between(self, low, high, *shape):
        random = torch.rand(*shape, generator=self.random, dtype=torch.float64)
        return low + (high - low) * random

    def results(self, device, steepness=1.0, alpha=0.4):
        """Values of the three operators and gradients of weighted sums, on the CPU again."""

        def there(tensor):
            return tensor.to(device, self.dtype)

        ops = torch.ops.nvalchemi_lmp
        t = {name: there(table) for name, table in self.tables.items()}
        index, species = self.index.to(device), self.species.to(device)
        has_reference, factors = self.has_reference.to(device), there(self.factors)
        vectors = there(self.vectors).requires_grad_()
        coordination = there(self.coordination).requires_grad_()
        charges = there(self.charges).requires_grad_()
        count = ops.d3_coordination_numbers(vectors, index, species, t["radii"], 16.0, 8.0, 0.5)
        energies = ops.d3_energies(
            vectors,
            index,
            species,
            coordination,
            t["c6"],
            t["reference_cn"],
            has_reference,
            t["r2r4"],
            t["radius"],
            steepness,
            0.9,
            0.7,
            self.damping,
            12.0,
            0.5,
        )
        real = ops.ewald_real_energies(vectors, index, charges, alpha)
        found = [count, energies, real]
        for value, inputs in (
            (count, [vectors]),
            (energies, [vectors, coordination]),
            (energies, [coordination]),
            (real, [vectors, charges]),
            (real, [charges]),
        ):
            total = (value * factors).sum()
            found += torch.autograd.grad(total, inputs, retain_graph=True)
        return [tensor.detach().cpu() for tensor in found]

    def second(self, device):
        """A second derivative of Ewald's sum."""
        vectors = self.vectors.to(device, self.dtype).requires_grad_()
        charges = self.charges.to(device, self.dtype).requires_grad_()
        real = torch.ops.nvalchemi_lmp.ewald_real_energies(
            vectors, self.index.to(device), charges, 0.4
        )
        (first,) = torch.autograd.grad(real.sum(), charges, create_graph=True)
        found = torch.autograd.grad(first.sin().sum(), [vectors, charges])
        return [tensor.cpu() for tensor in found]


def largest_difference(found, expected):
    """Relative to the largest number of each tensor."""
    return max(
        ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item() if b.numel() else 0.0
        for a, b in zip(found, expected, strict=True)
    )


class OnAGpu(unittest.TestCase):
    def test_gives_the_values_and_gradients_of_the_cpu(self):
        for dtype, bar in BARS.items():
            for number, edges in enumerate(EDGES):
                for order in ("sorted", "any", "one row"):
                    case = Case(edges, order, dtype, DAMPINGS[number % 3])
                    expected, found = case.results("cpu"), case.results("cuda")
                    with self.subTest(dtype=dtype, edges=edges, order=order):
                        self.assertLess(largest_difference(found, expected), bar)

    def test_each_damping(self):
        for damping in DAMPINGS:
            case = Case(5000, "sorted", torch.float64, damping)
            with self.subTest(damping=damping):
                difference = largest_difference(case.results("cuda"), case.results("cpu"))
                self.assertLess(difference, 1e-10)

    def test_other_numbers_are_seen(self):
        case = Case(5000, "sorted", torch.float64)
        expected = case.results("cpu")
        for other in ({"steepness": 1.001}, {"alpha": 0.4001}):
            with self.subTest(**other):
                self.assertGreater(
                    largest_difference(case.results("cuda", **other), expected), 1e-6
                )

    def test_second_derivatives_of_ewald(self):
        case = Case(3000, "sorted", torch.float64)
        self.assertLess(largest_difference(case.second("cuda"), case.second("cpu")), 1e-10)

    def test_no_rows(self):
        case = Case(0, "any", torch.float64)
        found = torch.ops.nvalchemi_lmp.ewald_real_energies(
            case.vectors.cuda(), case.index.cuda(), case.charges[:0].cuda(), 0.4
        )
        self.assertEqual(found.shape, (0,))

    def test_refuses_tensors_on_two_devices(self):
        case = Case(5, "any", torch.float64)
        with self.assertRaisesRegex(RuntimeError, "got edge_index on cpu, expected it on cuda:0"):
            torch.ops.nvalchemi_lmp.ewald_real_energies(
                case.vectors.cuda(), case.index, case.charges.cuda(), 0.4
            )


if __name__ == "__main__":
    unittest.main()
