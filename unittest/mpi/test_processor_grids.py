# SPDX-License-Identifier: GPL-2.0-only
"""The same numbers on every processor grid, communication style, balance and newton setting."""

from suite import LONG, LammpsTest, main, models

GRIDS = (
    "2 1 1",
    "1 2 1",
    "1 1 2",
    "3 1 1",
    "2 2 1",
    "1 1 4",
    "5 1 1",
    "3 2 1",
    "1 7 1",
    "2 2 2",
    "8 1 1",
)  # and 1 1 1
NAMES = () if LONG else ("toy_index_add", "nequip_rand_f64_energy", "d3bj_pbe")
SHORT_GRIDS = {
    "nequip_rand_f64_energy": ("1 2 1", "3 1 1", "2 2 1", "2 2 2"),
    "d3bj_pbe": ("1 1 2", "5 1 1", "3 2 1", "8 1 1"),
}


def ranks(grid):
    x, y, z = map(int, grid.split())
    return x * y * z


class ProcessorGrids(LammpsTest):
    def setUp(self):
        super().setUp()
        self.known = {}

    def expected(self, model, structure):
        """The style's own numbers on one rank."""
        if model.name not in self.known:
            self.known[model.name] = self.decomposed(structure, model.settings()).reference
        return self.known[model.name]

    def check(self, model, **options):
        structure, _ = model.case("nacl64")
        expected = self.expected(model, structure)
        with self.subTest(model=model.name, **options):
            found = self.decomposed(structure, model.settings(**options))
            self.assert_same(found.reference, expected, structure.volume)
            self.assertEqual(found.exchanges["forward"], model.exchanges)

    def test_grids_of_1_to_8_ranks(self):
        for model in models(*NAMES):
            for grid in GRIDS if LONG else SHORT_GRIDS.get(model.name, GRIDS):
                self.check(model, ranks=ranks(grid), processors=grid)

    def test_tiled_communication(self):
        for model in models(*NAMES):
            self.check(model, ranks=3, comm="tiled", balance="rcb")
            if LONG:
                self.check(model, ranks=4, processors="2 2 1", comm="tiled")
                self.check(model, ranks=8, comm="tiled", balance="rcb")

    def test_shifted_cuts(self):
        for model in models(*NAMES):
            self.check(model, ranks=4, processors="2 2 1", balance="x 0.3 y 0.6")

    def test_newton_off(self):
        for model in models(*NAMES):
            self.check(model, ranks=1, newton="off")
            self.check(model, ranks=4, newton="off", processors="2 1 2")
            if LONG:
                self.check(model, ranks=3, newton="off", comm="tiled", balance="rcb")


if __name__ == "__main__":
    main()
