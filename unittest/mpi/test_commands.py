# SPDX-License-Identifier: GPL-2.0-only
"""LAMMPS's ways to run: minimize, run 0 twice, rerun, NPT, restarts, run pre no, units, plugins."""

import numpy as np
from comparison import evaluate_alone
from simulation import read_thermo, vectors
from structure import to_restricted_frame
from suite import LammpsTest, main, model, replace

THERMO = "thermo_style custom step pe press pxx pyy pzz pxy pxz pyz"
FORMAT = "thermo_modify format float %.17g"
START = ("velocity all create 300.0 4711", "timestep 0.001")


class Commands(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = to_restricted_frame(self.toy.case("nacl64")[0])

    def thermo(self, lines, ranks=2, archive=None, **options):
        settings = (archive or self.toy).settings(ranks=ranks, **options)
        return read_thermo(self.run_structure(self.structure, settings, lines).log)

    def test_run_0_twice_gives_the_same_numbers(self):
        for name in ("toy_index_add", "mace_rand_f64"):
            first, second = self.thermo([THERMO, FORMAT, "run 0", "run 0"], archive=model(name))
            pressures = [column for column in first if column[0] == "P" and column != "PotEng"]
            self.assertEqual(len(pressures), 7)
            # components that cancel round as the largest does
            for columns in (["Step"], ["PotEng"], pressures):
                again, once = ([run[column] for column in columns] for run in (second, first))
                self.assert_close(again, once, 1e-13, f"{name} {columns}")

    def test_minimize_ends_where_the_model_has_no_forces(self):
        for style in ("cg", "fire"):
            settings = self.toy.settings(ranks=3)
            run = self.run_structure(
                self.structure,
                settings,
                [
                    f"min_style {style}",
                    "fix check all nvalchemi/validate every 5",
                    "thermo_style custom step pe fnorm fmax",
                    FORMAT,
                    "minimize 0.0 1e-4 200 400",
                    "write_dump all custom final.dump id x y z fx fy fz modify sort id "
                    "format float %.17g",
                ],
            )
            thermo = read_thermo(run.log)[0]
            self.assertLess(thermo["PotEng"][-1], thermo["PotEng"][0])
            snapshot = self.snapshots("final.dump")[0]
            final = replace(self.structure, positions=vectors(snapshot, "x y z"))
            expected = evaluate_alone(self.installation, final, settings)
            with self.subTest(style=style):
                self.assert_same_forces(snapshot, expected)
                self.assertAlmostEqual(thermo["PotEng"][-1], expected.energy, delta=1e-8)

    def assert_same_forces(self, snapshot, expected):
        difference = np.max(abs(vectors(snapshot, "fx fy fz") - expected.forces))
        self.assertLessEqual(difference, 1e-10)

    def test_rerun_repeats_the_energies_of_a_run(self):
        run, again = self.thermo(
            [
                *START,
                "fix move all nve",
                THERMO,
                FORMAT,
                "thermo 5",
                "dump track all custom 5 track.dump id type x y z vx vy vz",
                "dump_modify track sort id format float %.17g",
                "run 20",
                "undump track",
                "unfix move",
                "fix check all nvalchemi/validate",
                "rerun track.dump dump x y z vx vy vz box yes",
            ]
        )
        for column in ("PotEng", "Pxx", "Pyz"):
            self.assert_close(again[column], run[column], 1e-10, column)

    def test_constant_pressure(self):
        npt = [
            *START,
            "fix move all npt temp 300 300 0.1 tri 0.0 0.0 1.0",
            THERMO,
            FORMAT,
            "thermo 10",
            "fix check all nvalchemi/validate every 10",
            "run 40",
        ]
        one, two = (self.thermo(npt, ranks)[0] for ranks in (1, 2))
        for column in one:
            self.assert_close(two[column], one[column], 1e-9, column)
        self.assertGreater(np.ptp(one["Pxx"]), 0.0)

    def test_restart_continues_the_run(self):
        settings = self.toy.settings(ranks=2)
        opening = self.script(self.structure, settings, [])
        whole = self.thermo(
            [
                *START,
                "fix move all nve",
                THERMO,
                FORMAT,
                "run 10",
                "write_restart halfway.restart",
                "run 10",
            ]
        )[1]
        lines = opening.splitlines()
        at = lines.index("read_data case.data")
        lines[at] = "read_restart halfway.restart"
        lines += ["timestep 0.001", "fix move all nve", THERMO, FORMAT, "run 10"]
        for ranks in (1, 3):
            run = self.run_input("\n".join(lines) + "\n", ranks).require_success()
            self.assert_close(
                read_thermo(run.log)[0]["PotEng"][-1],
                whole["PotEng"][-1],
                1e-12,
                "energy after the restart",
            )

    def test_run_pre_no_continues(self):
        whole = self.thermo([*START, "fix move all nve", THERMO, FORMAT, "run 20"])[0]
        parts = self.thermo(
            [*START, "fix move all nve", THERMO, FORMAT, "run 10", "run 10 pre no"]
        )[1]
        self.assert_close(parts["PotEng"][-1], whole["PotEng"][-1], 1e-12)

    def test_plugin_unload_and_load_again(self):
        settings = self.toy.settings(ranks=2)
        again = self.script(self.structure, settings, [THERMO, FORMAT, "run 0"])
        self.write_structure(self.structure)
        for between in (
            ["plugin unload pair nvalchemi", "plugin unload fix nvalchemi/validate"],
            ["plugin clear"],
        ):
            with self.subTest(between=between):
                script = again + "\n".join([*between, "clear"]) + "\n" + again
                log = self.run_input(script, 2).require_success().log
                first, second = read_thermo(log)
                self.assert_close(second["PotEng"], first["PotEng"], 1e-13)

    def test_clear_and_begin_again(self):
        settings = self.toy.settings(ranks=2)
        again = self.script(self.structure, settings, [THERMO, FORMAT, "run 0"])
        self.write_structure(self.structure)
        log = self.run_input(again + "clear\n" + again, 2).require_success().log
        first, second = read_thermo(log)
        self.assert_close(second["PotEng"], first["PotEng"], 1e-13)

    def test_real_units(self):
        for name in ("toy_index_add", "mace_rand_f64", "d3bj_pbe"):
            archive = model(name)
            settings = archive.settings(
                ranks=2, units="real", before_run=("fix check all nvalchemi/validate",)
            )
            found = self.decomposed(self.structure, settings)
            with self.subTest(model=name):
                expected = self.alone(self.structure, settings)
                self.assert_same(found.reference, expected, self.structure.volume)


if __name__ == "__main__":
    main()
