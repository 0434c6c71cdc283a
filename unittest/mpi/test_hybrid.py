# SPDX-License-Identifier: GPL-2.0-only
"""The style beside others under pair_style hybrid: the sum of separate runs."""

from dataclasses import replace

import numpy as np
from comparison import Reference
from suite import LammpsTest, main, model

LJ = "lj/cut 6.0"
# type pair -> epsilon, sigma
LJ_COEFFICIENTS = {"1 1": "0.01 2.5", "1 2": "0.02 2.4", "2 2": "0.03 2.9"}


def added(a, b):
    return Reference(
        a.energy + b.energy, a.energies + b.energies, a.forces + b.forces, a.virial + b.virial
    )


def lj_lines(style=""):
    return [f"pair_coeff {pair} {style} {values}" for pair, values in LJ_COEFFICIENTS.items()]


def model_line(archive, symbols, style="nvalchemi"):
    return f'pair_coeff * * {style} "{archive.archive}" {symbols}'


class Hybrid(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy, self.d3 = model("toy_index_add"), model("d3bj_pbe")
        self.structure = self.toy.case("nacl64")[0]

    def numbers(self, lines, ranks=1, structure=None, **options):
        settings = self.toy.settings(ranks=ranks, pair_lines=tuple(lines), **options)
        return self.decomposed(structure or self.structure, settings).reference

    def check_sum(self, overlay, parts, structure=None, **options):
        expected = added(*(self.numbers(lines, structure=structure) for lines in parts))
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks, **options):
                found = self.numbers(overlay, ranks, structure, **options)
                self.assert_same(found, expected, self.structure.volume)

    def test_overlay_with_a_pair_potential_in_both_orders(self):
        alone = (
            ["pair_style nvalchemi", model_line(self.toy, "Na Cl", "")],
            [f"pair_style {LJ}", *lj_lines()],
        )
        for order in (f"nvalchemi {LJ}", f"{LJ} nvalchemi"):
            with self.subTest(order=order):
                self.check_sum(
                    [
                        f"pair_style hybrid/overlay {order}",
                        model_line(self.toy, "Na Cl"),
                        *lj_lines("lj/cut"),
                    ],
                    alone,
                )

    def test_overlay_with_newton_off(self):
        alone = (
            ["pair_style nvalchemi", model_line(self.toy, "Na Cl", "")],
            [f"pair_style {LJ}", *lj_lines()],
        )
        self.check_sum(
            [
                f"pair_style hybrid/overlay nvalchemi {LJ}",
                model_line(self.toy, "Na Cl"),
                *lj_lines("lj/cut"),
            ],
            alone,
            newton="off",
        )

    def test_two_instances(self):
        alone = (
            ["pair_style nvalchemi", model_line(self.toy, "Na Cl", "")],
            ["pair_style nvalchemi", model_line(self.d3, "Na Cl", "")],
        )
        self.check_sum(
            [
                "pair_style hybrid/overlay nvalchemi nvalchemi",
                model_line(self.toy, "Na Cl", "nvalchemi 1"),
                model_line(self.d3, "Na Cl", "nvalchemi 2"),
            ],
            alone,
        )

    def check_unmapped_atoms(self, structure):
        """Atoms of type 3 have another potential only: the model must not see them."""
        kept = [k for k, symbol in enumerate(structure.symbols) if symbol != "Ar"]
        mapped = replace(
            structure,
            symbols=[structure.symbols[k] for k in kept],
            positions=structure.positions[kept],
        )
        part = self.alone(mapped, self.toy.settings())
        model_part = Reference(
            part.energy, np.zeros(len(structure)), np.zeros((len(structure), 3)), part.virial
        )
        model_part.energies[kept], model_part.forces[kept] = part.energies, part.forces
        argon = [f"pair_coeff {pair} {{}} 0.01 3.0" for pair in ("1 3", "2 3", "3 3")]
        lj = self.numbers(
            [f"pair_style {LJ}", "pair_coeff * * 0.0 1.0", *(line.format("") for line in argon)],
            structure=structure,
        )
        expected = added(model_part, lj)
        for ranks, grid in ((1, ""), (2, "2 1 1"), (3, "3 1 1"), (4, "2 2 1")):
            with self.subTest(ranks=ranks):
                found = self.numbers(
                    [
                        f"pair_style hybrid/overlay nvalchemi {LJ}",
                        model_line(self.toy, "Na Cl NULL"),
                        *(line.format("lj/cut") for line in argon),
                    ],
                    ranks,
                    structure,
                    processors=grid,
                )
                self.assert_same(found, expected, structure.volume)

    def test_unmapped_atoms_on_one_rank_only(self):
        fractions = self.structure.positions @ np.linalg.inv(self.structure.cell)
        symbols = [
            "Ar" if x > 0.55 and k % 3 == 0 else symbol
            for k, (symbol, x) in enumerate(zip(self.structure.symbols, fractions[:, 0]))
        ]
        self.check_unmapped_atoms(replace(self.structure, symbols=symbols))

    def test_a_rank_all_of_whose_atoms_are_unmapped(self):
        fractions = self.structure.positions @ np.linalg.inv(self.structure.cell)
        symbols = [
            "Ar" if x >= 0.48 else symbol
            for symbol, x in zip(self.structure.symbols, fractions[:, 0])
        ]
        self.check_unmapped_atoms(replace(self.structure, symbols=symbols))


if __name__ == "__main__":
    main()
