# SPDX-License-Identifier: GPL-2.0-only
"""Molecular dynamics: conserved energy, the same trajectory on one and two ranks."""

import numpy as np
from simulation import read_thermo, vectors
from suite import LONG, LammpsTest, main, model

STEPS = 2000 if LONG else 600
COPIES = (2, 2, 2) if LONG else (1, 1, 1)  # 512 or 64 atoms
REST = STEPS // 4  # steps before the energy is judged


class Dynamics(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0].repeated(COPIES)

    def nve(self, timestep, steps, ranks=2, extra=()):
        settings = self.toy.settings(ranks=ranks, skin=1.0)
        run = self.run_structure(
            self.structure,
            settings,
            [
                "velocity all create 300.0 4711",
                "fix move all nve",
                f"timestep {timestep}",
                "thermo_style custom step etotal ke pe",
                "thermo_modify format float %.17g",
                "thermo 1",
                *extra,
                f"run {steps}",
            ],
            timeout=1800,
        )
        return read_thermo(run.log)[0]

    def test_total_energy_is_conserved(self):
        fluctuation = []
        for divisor in (1, 2):
            thermo = self.nve(0.001 / divisor, STEPS * divisor)
            steps = np.arange(len(thermo["TotEng"]))[REST * divisor :]
            energy = thermo["TotEng"][REST * divisor :]
            kinetic = np.mean(thermo["KinEng"][REST * divisor :])
            slope, _ = np.polyfit(steps, energy, 1)
            self.assertLess(abs(slope), 1e-7 * kinetic, "drift per step")
            fluctuation.append(np.std(energy - np.polyval(np.polyfit(steps, energy, 1), steps)))
        self.assertAlmostEqual(fluctuation[0] / fluctuation[1], 4.0, delta=0.5)

    def test_trajectory_does_not_depend_on_the_number_of_ranks(self):
        tracks = []
        for ranks in (1, 2):
            self.nve(
                0.001,
                200,
                ranks,
                [
                    "dump track all custom 100 track.dump id xu yu zu",
                    "dump_modify track sort id format float %.17g",
                ],
            )
            tracks.append(self.snapshots("track.dump"))
        for one, two in zip(*tracks, strict=True):
            difference = np.max(abs(vectors(two, "xu yu zu") - vectors(one, "xu yu zu")))
            self.assertLessEqual(difference, 1e-10, f"step {one['step']}")

    def test_one_rank_holds_no_halo_rows(self):
        for ranks, held in ((1, r"halo 0/0\.0/0;"), (2, r"halo [1-9]")):
            settings = self.toy.settings(ranks=ranks)
            run = self.run_structure(self.structure, settings, ["run 0"])
            self.assertRegex(run.log, held)


if __name__ == "__main__":
    main()
