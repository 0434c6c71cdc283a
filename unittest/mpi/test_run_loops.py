# SPDX-License-Identifier: GPL-2.0-only
"""Relaxed boxes, several time scales, changing atoms and boxes: numbers stay the model's own."""

import re

import numpy as np
from comparison import evaluate_alone
from own_models import write_pair_model
from simulation import read_thermo, vectors
from structure import Structure, to_restricted_frame
from suite import LammpsTest, main, model, replace

THERMO = ["thermo_style custom step pe press vol lx", "thermo_modify format float %.17g"]
CHECK = "fix check all nvalchemi/validate every 5"


class Volume(LammpsTest):
    """The volume that the pressure leads to is that of the lowest energy."""

    def crystal(self, length):
        basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        return Structure(["Na"] * 4, length * basis, length * np.eye(3)).repeated((3, 3, 3))

    def settings(self, archive):
        return model("toy_index_add").settings(
            ranks=2, pair_lines=("pair_style nvalchemi", f'pair_coeff * * "{archive}" Na')
        )

    def relaxed_length(self, archive, lines):
        run = self.run_structure(self.crystal(3.78), self.settings(archive), [*THERMO, *lines])
        return run, read_thermo(run.log)[-1]["Lx"][-1] / 3

    def length_of_least_energy(self, archive):
        """By energies alone."""
        lengths = np.linspace(3.6, 3.8, 9)
        energies = [
            self.decomposed(self.crystal(length), self.settings(archive)).reference.energy
            for length in lengths
        ]
        best = int(np.argmin(energies))
        self.assertTrue(0 < best < len(lengths) - 1)
        near = slice(max(0, best - 3), best + 4)
        fit = np.polyfit(lengths[near] - lengths[best], energies[near], 5)
        roots = np.roots(np.polyder(fit))
        roots = roots[np.abs(roots.imag) < 1e-9].real
        return lengths[best] + roots[np.argmin(np.abs(roots))]

    def test_of_box_relax_and_of_a_damped_barostat(self):
        archive = write_pair_model(self.folder, "pair")
        expected = self.length_of_least_energy(archive)
        run, length = self.relaxed_length(
            archive, ["fix box all box/relax iso 0.0 vmax 0.001", "minimize 0 1e-8 200 400"]
        )
        self.assertAlmostEqual(length, expected, delta=1e-4)
        _, length = self.relaxed_length(
            archive,
            [
                "fix box all nph iso 0.0 0.0 0.2 drag 2.0 ptemp 100.0",
                "fix slow all viscous 0.1",
                "timestep 0.002",
                "thermo 100",
                "run 1500",
            ],
        )
        self.assertAlmostEqual(length, expected, delta=2e-3)


class Loops(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = to_restricted_frame(self.toy.case("nacl64")[0])

    def run_lines(self, lines, ranks=2, **options):
        return self.run_structure(
            self.structure, self.toy.settings(ranks=ranks, **options), [*THERMO, *lines]
        )

    def check_last_forces(self, lines, structure=None, **options):
        """The forces after `lines` are those of the model on the atoms as they are then."""
        run = self.run_lines(
            [
                *lines,
                "write_dump all custom last.dump id type x y z fx fy fz modify sort id "
                "format float %.17g",
            ],
            **options,
        )
        self.assertNotIn("DIFFERENT", run.log)
        snapshot = self.snapshots("last.dump")[0]
        species = self.structure.species
        box = structure or self.structure
        found = replace(
            box,
            symbols=[species[int(kind) - 1] for kind in snapshot["type"]],
            positions=vectors(snapshot, "x y z"),
        )
        expected = evaluate_alone(self.installation, found, self.toy.settings())
        self.assert_close(vectors(snapshot, "fx fy fz"), expected.forces, 1e-9)
        return run, snapshot

    def test_respa_at_the_level_of_pair(self):
        start = ["velocity all create 300.0 4711", "timestep 0.001", "fix move all nve"]
        plain = read_thermo(self.run_lines([*start, "run 20"]).log)[0]
        respa = self.run_lines([*start, "run_style respa 2 1 pair 2", "run 20"])
        self.assert_close(read_thermo(respa.log)[0]["PotEng"], plain["PotEng"], 1e-12)

    def test_respa_inside_the_pair_style_is_refused(self):
        self.write_structure(self.structure)
        lines = ["fix move all nve", "run_style respa 2 2 inner 1 4.0 5.0 outer 2", "run 1"]
        run = self.run_input(self.script(self.structure, self.toy.settings(ranks=2), lines), 2)
        self.assertNotIn(run.status, (0, None))
        self.assertRegex(run.message, "(?i)respa")

    def test_types_that_are_swapped_during_a_run(self):
        run, snapshot = self.check_last_forces(
            [
                "fix swap all atom/swap 1 20 29494 1000.0 ke no types 1 2",
                "fix move all nve",
                "timestep 0.0005",
                CHECK,
                "thermo_style custom step pe f_swap[2]",
                "run 10",
            ]
        )
        self.assertGreater(read_thermo(run.log)[0]["f_swap[2]"][-1], 0)
        symbols = [self.structure.species[int(kind) - 1] for kind in snapshot["type"]]
        self.assertNotEqual(symbols, self.structure.symbols)

    def test_atoms_that_are_deleted_moved_and_created_between_runs(self):
        run, snapshot = self.check_last_forces(
            [
                "run 0",
                "group some id 3 17 40 41",
                "delete_atoms group some compress no",
                CHECK,
                "run 0",
                "displace_atoms all random 0.05 0.05 0.05 4711",
                "run 0",
                "create_atoms 1 single 1.0 1.0 1.0",
                "set atom 1 type 2",
                "run 0",
            ]
        )
        self.assertEqual(len(snapshot["id"]), len(self.structure) - 3)
        self.assertGreater(snapshot["id"].max(), len(snapshot["id"]))

    def test_atoms_that_come_and_go_during_a_run(self):
        run = self.run_lines(
            [
                "fix move all nve",
                "timestep 0.0005",
                "region box block EDGE EDGE EDGE EDGE EDGE EDGE units box",
                "fix fewer all evaporate 4 2 box 49892",
                "fix more all deposit 6 1 5 12345 region box near 1.2",
                CHECK,
                "thermo_style custom step atoms pe",
                "thermo 1",
                "run 30",
            ],
            ranks=3,
        )
        self.assertNotIn("DIFFERENT", run.log)
        atoms = read_thermo(run.log)[0]["Atoms"]
        self.assertGreater(len(np.unique(atoms)), 4)

    def test_a_box_that_is_sheared_over_a_flip(self):
        run = self.run_lines(
            [
                "fix move all nve/limit 0.05",
                "timestep 0.001",
                "fix shear all deform 1 xy erate 15.0 remap x flip yes",
                "fix check all nvalchemi/validate every 5 on_failure error",
                "thermo_style custom step pe xy",
                "thermo 1",
                "run 45",
            ]
        )
        tilt = read_thermo(run.log)[0]["Xy"]
        self.assertLess(np.min(np.diff(tilt)), -1.0)
        self.assertNotIn("DIFFERENT", run.log)

    def test_a_system_without_atoms(self):
        run = self.run_lines(["delete_atoms group all", *THERMO, "run 0"])
        self.assertEqual(read_thermo(run.log)[0]["PotEng"][0], 0.0)

    def test_a_repeated_run_gives_the_same_bits(self):
        lines = ["velocity all create 300.0 4711", "fix move all nve", "run 20"]
        first, second = (
            read_thermo(self.run_lines(["thermo 1", *lines]).log)[0]["PotEng"] for _ in range(2)
        )
        self.assertTrue(np.array_equal(first, second))

    def test_another_model_in_the_middle_of_an_input(self):
        other = model("mace_rand_f64")
        coeff = 'pair_coeff * * "{}" Na Cl'
        run = self.run_lines(
            [
                "run 0",
                coeff.format(other.archive),
                "run 0",
                "pair_style nvalchemi",
                coeff.format(self.toy.archive),
                "run 0",
            ]
        )
        first, second, third = (table["PotEng"][0] for table in read_thermo(run.log))
        self.assertAlmostEqual(first, third, delta=1e-9)
        self.assertNotAlmostEqual(first, second, delta=0.1)
        self.assertEqual(len(re.findall("nvalchemi: model ", run.log)), 3)


if __name__ == "__main__":
    main()
