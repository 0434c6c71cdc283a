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
            for grid in GRIDS:
                self.check(model, ranks=ranks(grid), processors=grid)

    def test_tiled_communication(self):
        for model in models(*NAMES):
            self.check(model, ranks=3, comm="tiled", balance="rcb")
            self.check(model, ranks=4, processors="2 2 1", comm="tiled")
            self.check(model, ranks=8, comm="tiled", balance="rcb")

    def test_shifted_cuts(self):
        for model in models(*NAMES):
            self.check(model, ranks=4, processors="2 2 1", balance="x 0.3 y 0.6")

    def test_newton_off(self):
        for model in models(*NAMES):
            self.check(model, ranks=1, newton="off")
            self.check(model, ranks=4, newton="off", processors="2 1 2")
            self.check(model, ranks=3, newton="off", comm="tiled", balance="rcb")

    def test_balance_during_a_run(self):
        """Atoms that gather in a corner, so that domains change at every balance."""
        for model in models(*NAMES):
            structure = model.case("nacl64")[0].opened((True, False, True), margin=6.0)
            for comm, style in (("brick", "shift y 10 1.01"), ("tiled", "rcb")):
                settings = model.settings(ranks=4, comm=comm, processors="2 2 1")
                lines = [
                    "velocity all create 900.0 4711",
                    "fix move all nve",
                    "timestep 0.001",
                    "neigh_modify every 2 delay 0 check no",
                    f"fix balance all balance 4 1.0 {style}",
                    "fix check all nvalchemi/validate every 4",
                    "thermo_style custom step pe f_balance",
                    "thermo 4",
                    "run 12",
                ]
                with self.subTest(model=model.name, comm=comm):
                    log = self.run_structure(structure, settings, lines).log
                    self.assertNotIn("DIFFERENT", log)


if __name__ == "__main__":
    main()
