# SPDX-License-Identifier: GPL-2.0-only
"""Primitive cells shorter than the cutoff, up to a third of it, against replicated cells."""

import numpy as np
from comparison import evaluate_alone
from structure import Structure, to_restricted_frame
from suite import LONG, LammpsTest, main, models

NAMES = () if LONG else ("toy_scatter_add", "d3bj_pbe", "mace_rand_f64")


def one_atom(length):
    """A skewed cell with one silicon atom."""
    cell = length * np.array([[1.0, 0.0, 0.0], [0.1, 1.0, 0.0], [-0.2, 0.15, 1.0]])
    return Structure(["Si"], np.array([[0.3, 0.2, 0.1]]), cell)


def two_atoms():
    """The primitive rocksalt cell with a displaced anion."""
    cell = 2.82 * np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    return Structure(["Na", "Cl"], np.array([[0.0, 0.0, 0.0], [2.75, 0.2, -0.1]]), cell)


class SmallCells(LammpsTest):
    def check(self, model, structure, ranks):
        times = 3
        replica = to_restricted_frame(structure).repeated((times,) * 3)
        expected = evaluate_alone(self.installation, replica, model.settings())
        for count in ranks:
            with self.subTest(model=model.name, atoms=len(structure), ranks=count):
                found = self.decomposed(structure, model.settings(ranks=count))
                # symmetry leaves no force on the atom of a one-atom cell
                self.assert_same(
                    found.reference.repeated(times**3), expected, replica.volume, floor={"dF": 0.01}
                )
                self.assertGreater(abs(expected.energy), 1e-3)

    def test_one_atom(self):
        for model in models(*NAMES):
            length = max(2.4, model.cutoff / 3)
            self.check(model, one_atom(length), (1, 2, 4))

    def test_two_atoms(self):
        for model in models(*NAMES):
            self.check(model, two_atoms(), (1, 2, 4))


if __name__ == "__main__":
    main()
