# SPDX-License-Identifier: GPL-2.0-only
"""fix nvalchemi/deviation against each model run alone."""

import numpy as np
import scripted
from simulation import read_thermo, vectors
from suite import LammpsTest, main, one_line, scripted_model

FIGURES = "f_spread[1] f_spread[2] f_spread[3] f_spread[4]"
PRESSURES = [f"c_virial[{k + 1}]" for k in range(6)]
SIX = " ".join(PRESSURES)
DIGITS = "thermo_modify format float %.17g"  # a thermo_style forgets it
DUMP = (
    "dump all all custom 1 found.dump id fx fy fz{}",
    "dump_modify all sort id format float %.17g",
    "compute virial all pressure NULL virial",
)


class Deviation(LammpsTest):
    def setUp(self):
        super().setUp()
        self.models = [
            scripted_model("one_layer", scripted.LAYER, 0),
            scripted_model("two_layers", scripted.TWO_LAYERS, 1),
            scripted_model("accumulating", scripted.ACCUMULATING, 2),
        ]
        self.structure = scripted.crystal("nacl64")

    def fix(self, words="", every=1, group="all"):
        files = " ".join(f'"{model.archive}"' for model in self.models[1:])
        return f"fix spread {group} nvalchemi/deviation {every} {files} {words}"

    def alone(self):
        """Energies, forces and pressures of each model by itself."""
        found = []
        for model in self.models:
            lines = [*DUMP, f"thermo_style custom step pe {SIX}", DIGITS, "run 0"]
            lines[0] = lines[0].format("")
            run = self.run_structure(self.structure, model.settings(), lines)
            thermo = read_thermo(run.log)[0]
            pressure = [thermo[name][0] for name in PRESSURES]
            forces = vectors(self.snapshots("found.dump")[0], "fx fy fz")
            found.append((thermo["PotEng"][0], forces, np.array(pressure)))
        return [np.array(column) for column in zip(*found)]

    def together(self, ranks, words="", lines=(), **options):
        thermo = f"thermo_style custom step pe {SIX} {FIGURES}"
        first = DUMP[0].format(" f_spread")
        run = self.run_structure(
            self.structure,
            self.models[0].settings(ranks=ranks, **options),
            [self.fix(words), first, *DUMP[1:], thermo, DIGITS, "run 0", *lines],
        )
        return read_thermo(run.log)[0], self.snapshots("found.dump")[0], run

    def test_says_how_far_the_models_disagree_on_any_number_of_ranks(self):
        energies, forces, _ = self.alone()
        expected = np.sqrt(((forces - forces.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))
        self.assertGreater(expected.max(), 1e-3)
        for ranks, newton in ((1, "on"), (3, "on"), (2, "off")):
            thermo, atoms, _ = self.together(ranks, newton=newton)
            with self.subTest(ranks=ranks, newton=newton):
                self.assert_close(atoms["f_spread"], expected)
                figures = [thermo[f"f_spread[{k + 1}]"][0] for k in range(4)]
                numbers = [expected.max(), expected.min(), expected.mean(), energies.std()]
                self.assert_close(figures, numbers)
                # the pair style's own model still drives the run
                self.assert_close(vectors(atoms, "fx fy fz"), forces[0])
                self.assert_close(thermo["PotEng"][0], energies[0])

    def test_mean_replaces_forces_energy_and_pressure(self):
        energies, forces, pressures = self.alone()
        for ranks in (1, 3):
            thermo, atoms, _ = self.together(ranks, "mean yes")
            self.assert_close(vectors(atoms, "fx fy fz"), forces.mean(axis=0))
            self.assert_close(thermo["PotEng"][0], energies.mean())
            self.assert_close([thermo[name][0] for name in PRESSURES], pressures.mean(axis=0))

    def test_mean_conserves_the_energy_of_its_dynamics(self):
        lines = ["velocity all create 300 1 loop geom", "fix move all nve", "timestep 0.0005"]
        lines += ["thermo_style custom step etotal ke f_spread", DIGITS, "thermo 1"]
        lines += ["undump all", "run 30"]
        _, _, run = self.together(2, "mean yes", lines)
        thermo = read_thermo(run.log)[1]
        exchanged = np.ptp(thermo["KinEng"])
        self.assertLess(np.ptp(thermo["TotEng"]), 0.02 * exchanged)
        # an energy without the mean's part would not be conserved
        wrong = thermo["TotEng"] - thermo["f_spread"]
        self.assertGreater(np.ptp(wrong), 0.02 * exchanged)

    def test_warns_and_stops_above_a_threshold_and_names_the_atom(self):
        _, forces, _ = self.alone()
        spread = np.sqrt(((forces - forces.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))
        atom, largest = int(spread.argmax()) + 1, spread.max()
        said = f"step 0: 3 models disagree by {largest:.4g} on the force on atom {atom}, expected"
        _, _, run = self.together(2, f"warn_above {0.9 * largest} stop_above {1.1 * largest}")
        self.assertIn(f"{said} at most {0.9 * largest:.4g}", one_line(run.output))
        _, _, run = self.together(2, f"warn_above {1.1 * largest}")
        self.assertNotIn("3 models disagree by", run.output)

        self.write_structure(self.structure)
        lines = [self.fix(f"stop_above {0.9 * largest}"), "run 0"]
        script = self.script(self.structure, self.models[0].settings(ranks=2), lines)
        run = self.run_input(script, 2, timeout=60)
        self.assertNotIn(run.status, (0, None))
        self.assertIn(f"{said} at most {0.9 * largest:.4g}", one_line(run.message))
        self.assertIn("or raise stop_above", one_line(run.message))

    def test_refuses_what_it_cannot_do(self):
        files = " ".join(f'"{model.archive}"' for model in self.models[1:])
        start = "fix spread all nvalchemi/deviation"
        other = ["pair_style lj/cut 5.0", "pair_coeff * * 0.01 2.0"]
        for lines, text in (
            ([f"{start} 1"], "got 4 arguments, expected 'fix ID group nvalchemi/deviation N FILE"),
            ([f"{start} 0 {files}"], "N: got 0, expected a number from 1 on"),
            ([f"{start} 1 mean yes"], "got no model, expected one or more archives"),
            ([f"{start} 2 {files} mean yes"], "keyword mean: got N = 2, expected 1"),
            ([f"{start} 1 {files} mean"], "keyword mean: got no value, expected one"),
            ([f"{start} 1 {files} stop_above -1"], "stop_above: got -1, expected a force above 0"),
            ([f"{start} 1 nowhere.pt"], "cannot read model archive 'nowhere.pt'"),
            ([*other, f"{start} 1 {files}"], "got pair_style lj/cut, expected nvalchemi"),
        ):
            self.write_structure(self.structure)
            script = self.script(
                self.structure, self.models[0].settings(ranks=2), [*lines, "run 0"]
            )
            run = self.run_input(script, 2, timeout=60)
            with self.subTest(line=lines[-1]):
                self.assertNotIn(run.status, (0, None))
                self.assertIn(text, one_line(run.message))


if __name__ == "__main__":
    main()
