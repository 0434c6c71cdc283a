# SPDX-License-Identifier: GPL-2.0-only
"""Atom ids, order and maps; neighbours that the input takes away from the style."""

import numpy as np
from suite import LammpsTest, main, model

IDS = 7 * np.random.default_rng(1).permutation(64) + 3


class Atoms(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def check(self, ids=None, **options):
        expected = self.alone(self.structure, self.toy.settings())
        for ranks in (1, 3):
            with self.subTest(ranks=ranks, **options):
                found = self.decomposed(
                    self.structure, self.toy.settings(ranks=ranks, **options), ids
                )
                self.assert_same(found.reference, expected, self.structure.volume)

    def test_ids_that_are_not_consecutive(self):
        self.check(IDS)

    def test_validation_with_ids_that_are_not_consecutive(self):
        self.check(IDS, before_run=("fix check all nvalchemi/validate",))

    def test_atom_order(self):
        for modify in ("sort 0 0.0", "sort 1 0.0", "sort 1 3.0", "map array", "map hash"):
            self.check(before_box=(f"atom_modify {modify}",))

    def test_order_that_changes_during_a_run(self):
        lines = [
            "velocity all create 900.0 4711",
            "fix move all nve",
            "fix check all nvalchemi/validate every 5",
            "neigh_modify every 2 delay 0 check no",
            "run 20",
        ]
        for modify in ("sort 0 0.0", "sort 3 3.0"):
            settings = self.toy.settings(ranks=3, before_box=(f"atom_modify {modify}",))
            with self.subTest(modify=modify):
                run = self.run_structure(self.structure, settings, lines)
                self.assertNotIn("DIFFERENT", run.log)


class MissingNeighbors(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def refused(self, lines, *texts, settings=None):
        self.write_structure(self.structure)
        settings = settings or self.toy.settings(ranks=2)
        run = self.run_input(self.script(self.structure, settings, lines), settings.ranks)
        self.assertNotEqual(run.status, 0)
        for text in texts:
            self.assertIn(text, " ".join(run.message.split()))

    def test_exclusions_are_refused_by_name(self):
        for exclude in ("type 1 2", "group all all"):
            self.refused(
                [f"neigh_modify exclude {exclude}", "run 0"],
                "neigh_modify exclude",
                "exclusions allow",
            )

    def test_exclusions_of_fix_gcmc_are_refused(self):
        self.refused(
            ["fix insert all gcmc 1 1 1 1 29494 300.0 -0.5 0.1", "run 1"],
            "neigh_modify exclude",
            "fix gcmc",
        )

    def test_neighbours_of_a_group_only_are_refused(self):
        self.refused(
            ["group some id 1:32", "atom_modify first some", "neigh_modify include some", "run 0"],
            "neigh_modify include",
        )

    def test_exclusions_can_be_allowed(self):
        settings = self.toy.settings(ranks=2, pair_arguments="exclusions allow")
        run = self.run_structure(
            self.structure,
            settings,
            ["neigh_modify exclude type 1 2", "thermo_style custom step pe", "run 0"],
        )
        self.assertEqual(run.status, 0)

    def test_weights_of_bonded_neighbours_are_refused(self):
        data = [
            "bonded",
            "",
            "2 atoms",
            "1 bonds",
            "2 atom types",
            "1 bond types",
            "1 extra bond per atom",
            "2 extra special per atom",
            "0 20 xlo xhi",
            "0 20 ylo yhi",
            "0 20 zlo zhi",
            "",
            "Masses",
            "",
            "1 22.99",
            "2 35.45",
            "",
            "Atoms # bond",
            "",
            "1 1 1 5 5 5",
            "2 1 2 7.5 5 5",
            "",
            "Bonds",
            "",
            "1 1 1 2",
            "",
        ]
        (self.folder / "bonded.data").write_text("\n".join(data))
        for weights, accepted in (("0.0 0.0 0.5", False), ("1.0 1.0 1.0", True)):
            script = (
                "\n".join(
                    [
                        "units metal",
                        "atom_style bond",
                        f"plugin load {self.installation.plugin}",
                        "read_data bonded.data",
                        "bond_style zero",
                        "bond_coeff 1 2.5",
                        "pair_style nvalchemi",
                        f'pair_coeff * * "{self.toy.archive}" Na Cl',
                        f"special_bonds lj/coul {weights}",
                        "run 0",
                    ]
                )
                + "\n"
            )
            run = self.run_input(script, 2)
            if accepted:
                run.require_success()
            else:
                self.assertNotEqual(run.status, 0)
                self.assertIn("special_bonds", run.message)


if __name__ == "__main__":
    main()
