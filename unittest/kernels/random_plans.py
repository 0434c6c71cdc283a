# SPDX-License-Identifier: GPL-2.0-only
"""Plans of tensor products for tests: groups of channels, all coupled with filters of sizes 1, 3
and 5, coefficients at random with zeros among them."""

import random

FILTERS = ((0, 1), (1, 3), (4, 5))  # first column and size
FILTER_COLUMNS = 9


class Plan:
    """`paths` and `coefficients` as the operator takes them, and the columns that they lead to."""

    def __init__(self, groups, seed):
        numbers = random.Random(seed)
        self.paths, self.coefficients = [], []
        self.x_columns = self.weight_columns = self.out_columns = 0
        for multiplicity, size in groups:
            for begin, filter_size in FILTERS:
                for out_size in (1, 3, 5):
                    if numbers.random() < 0.3 and self.paths:
                        continue
                    self.paths += [multiplicity, size, filter_size, out_size, self.x_columns]
                    self.paths += [begin, self.weight_columns, self.out_columns]
                    self.coefficients += [
                        numbers.uniform(-1, 1) if numbers.random() < 0.4 else 0.0
                        for _ in range(size * filter_size * out_size)
                    ]
                    self.weight_columns += multiplicity
                    self.out_columns += multiplicity * out_size
            self.x_columns += multiplicity * size


def random_plan(seed):
    """One to three groups, also with multiplicities that no warp divides."""
    numbers = random.Random(seed)
    sizes, multiplicities = (1, 3, 5, 7), (1, 5, 32, 33, 64, 128)
    count = numbers.choice((1, 2, 3))
    return Plan(
        [(numbers.choice(multiplicities), numbers.choice(sizes)) for _ in range(count)], seed
    )
