# SPDX-License-Identifier: GPL-2.0-only
"""Ranks without atoms, without ghosts, without edges, and ranks that lose their atoms in a run."""

import numpy as np
from simulation import vectors
from structure import Structure
from suite import LONG, LammpsTest, cluster, main, models

NAMES = (
    ()
    if LONG
    else (
        "toy_index_add",
        "mace_rand_f64",
        "nequip_rand_f64_energy",
        "d3bj_pbe",
        "allegro_rand_f64_energy",
    )
)
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
CUBE_SYMBOLS = ["Na" if sum(corner) % 2 == 0 else "Cl" for corner in CUBE]
RATTLE = np.random.default_rng(7).normal(scale=0.08, size=(8, 3))
MOLECULE = 2.82 * CUBE + RATTLE


class EmptyRanks(LammpsTest):
    def check(self, structure, grid, force_floor=0.01):
        count = int(np.prod([int(word) for word in grid.split()]))
        for model in models(*NAMES):
            with self.subTest(model=model.name):
                settings = model.settings(ranks=count, processors=grid)
                found = self.decomposed(structure, settings)
                expected = self.alone(structure, settings)
                self.assert_same(
                    found.reference,
                    expected,
                    structure.volume,
                    floor={"dF": force_floor, "dS": 1e-6},
                )
                self.assertEqual(
                    found.exchanges, {"forward": model.exchanges, "backward": model.exchanges}
                )

    def test_no_atoms_and_no_ghosts(self):
        # all atoms on the first rank, ghosts on the second, nothing on the third and fourth
        self.check(cluster(CUBE_SYMBOLS, MOLECULE + [11.0, 4.0, 4.0], [64.0, 12.0, 12.0]), "4 1 1")

    def test_an_empty_rank_between_two_that_talk(self):
        atoms = np.concatenate([MOLECULE + [1.0, 4.0, 4.0], MOLECULE + [9.0, 4.0, 4.0]])
        structure = cluster(CUBE_SYMBOLS * 2, atoms, [14.0, 12.0, 12.0])
        # cuts at 5.6 and 7.7: the rank between them owns nothing, its neighbours share edges
        for model in models(*NAMES):
            with self.subTest(model=model.name):
                settings = model.settings(ranks=3, processors="3 1 1", balance="x 0.4 0.55")
                found = self.decomposed(structure, settings)
                self.assert_same(found.reference, self.alone(structure, settings), structure.volume)

    def test_atoms_without_edges(self):
        atoms = np.concatenate([MOLECULE + [2.0, 4.0, 4.0], [[41.0, 5.0, 5.0], [61.0, 5.0, 5.0]]])
        self.check(cluster(CUBE_SYMBOLS + ["Na", "Cl"], atoms, [64.0, 12.0, 12.0]), "4 1 1")

    def test_only_atoms_without_edges(self):
        self.check(
            cluster(["Na", "Cl"], [[11.0, 5.0, 5.0], [40.0, 5.0, 5.0]], [64.0, 12.0, 12.0]), "2 1 1"
        )

    def test_periodic_box_with_atoms_at_one_face_only(self):
        structure = Structure(CUBE_SYMBOLS, MOLECULE + [0.2, 0.2, 0.2], np.diag([40.0] * 3))
        self.check(structure, "2 2 1")

    def test_rank_becomes_empty_and_another_gets_its_atoms(self):
        structure = cluster(CUBE_SYMBOLS, MOLECULE + [16.0, 4.0, 4.0], [40.0, 12.0, 12.0])
        for model in models("toy_index_add"):
            runs = []
            for ranks in (1, 2):
                settings = model.settings(ranks=ranks, processors=f"{ranks} 1 1")
                self.run_structure(
                    structure,
                    settings,
                    [
                        "velocity all set 100.0 0.0 0.0",
                        "fix move all nve",
                        "fix check all nvalchemi/validate every 20",
                        "timestep 0.001",
                        "thermo_style custom step atoms pe",
                        "dump track all custom 60 track.dump id proc x y z",
                        "dump_modify track sort id format float %.17g",
                        "run 60",
                    ],
                )
                runs.append(self.snapshots("track.dump"))
            owners = runs[1][0]["proc"], runs[1][-1]["proc"]
            self.assertIn(0, owners[0])
            self.assertNotIn(0, owners[1])
            self.assert_close(vectors(runs[1][-1], "x y z"), vectors(runs[0][-1], "x y z"), 1e-11)


if __name__ == "__main__":
    main()
