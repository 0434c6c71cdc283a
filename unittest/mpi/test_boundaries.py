# SPDX-License-Identifier: GPL-2.0-only
"""Open and periodic boundaries, tilted boxes, atoms that cross faces, translated systems."""

from dataclasses import replace

import numpy as np
from comparison import evaluate_alone
from simulation import vectors
from structure import Structure, to_restricted_frame
from suite import LONG, LammpsTest, main, models

NAMES = () if LONG else ("toy_scatter_reduce", "mace_rand_f64", "d3bj_pbe")
BOUNDARIES = (
    ("f", (True, True, False)),
    ("f", (True, False, False)),
    ("f", (False, True, True)),
    ("f", (False, False, False)),
    ("s", (False, False, False)),
    ("m", (False, True, False)),
)


class Boundaries(LammpsTest):
    def check(self, model, structure, note, **options):
        settings = model.settings(**{"ranks": 2, **options})
        found = self.decomposed(structure, settings)
        self.assert_same(
            found.reference, self.alone(structure, settings), structure.volume, note=note
        )

    def test_open_directions(self):
        for model in models(*NAMES):
            for kind, periodic in BOUNDARIES:
                structure = model.case("nacl64")[0].opened(periodic)
                with self.subTest(model=model.name, kind=kind, periodic=periodic):
                    self.check(
                        model,
                        structure,
                        kind,
                        open_boundary=kind,
                        processors="2 1 1" if periodic[0] else "1 2 1",
                    )

    def test_tilted_boxes(self):
        for model in models(*NAMES):
            structure = to_restricted_frame(model.case("nacl64")[0])
            shear = np.array([[1, 0, 0], [0.45, 1, 0], [-0.4, 0.35, 1]])
            tilted = replace(
                structure, cell=structure.cell @ shear, positions=structure.positions @ shear
            )
            for grid in ("2 1 1", "1 2 1", "1 1 2"):
                with self.subTest(model=model.name, grid=grid):
                    self.check(model, tilted, "tilted", processors=grid)

    def test_very_skewed_lattice_vectors(self):
        # the same crystal described by c + a + 2 b: the tilt exceeds half of the box
        for model in models(*NAMES):
            structure, _ = model.case("si64")
            cell = structure.cell.copy()
            cell[2] += cell[0] + 2 * cell[1]
            with self.subTest(model=model.name):
                self.check(model, replace(structure, cell=cell), "skewed", ranks=3)

    def test_translated_by_any_vector(self):
        for model in models(*NAMES):
            structure, _ = model.case("si64")
            for shift in ([3.21, -47.3, 1234.5], [-5.4843, 0.0, 5.45]):
                with self.subTest(model=model.name, shift=shift):
                    self.check(model, structure.translated(shift), "translated", ranks=3)

    def test_atoms_on_the_faces_between_ranks(self):
        # a perfect crystal whose planes lie exactly on the box and domain faces
        basis = 1.41 * np.array(
            [
                [0, 0, 0],
                [2, 2, 0],
                [2, 0, 2],
                [0, 2, 2],
                [2, 0, 0],
                [0, 2, 0],
                [0, 0, 2],
                [2, 2, 2],
            ],
            dtype=float,
        )
        crystal = Structure(["Na"] * 4 + ["Cl"] * 4, basis, 5.64 * np.eye(3)).repeated((2, 2, 2))
        crystal.positions[5] += [0.1, -0.05, 0.02]
        for model in models(*NAMES):
            for grid in ("2 1 1", "2 2 1"):
                with self.subTest(model=model.name, grid=grid):
                    self.check(
                        model,
                        crystal,
                        "on faces",
                        processors=grid,
                        ranks=4 if grid == "2 2 1" else 2,
                    )

    def test_atoms_that_cross_faces_between_rebuilds(self):
        structure = to_restricted_frame(models("toy_index_add")[0].case("nacl64")[0])
        for archive in models(*NAMES):
            settings = archive.settings(ranks=4, processors="2 2 1", skin=2.0)
            self.run_structure(
                structure,
                settings,
                [
                    "neigh_modify every 50 delay 50 check no",
                    "velocity all create 3000.0 4711",
                    "velocity all set 60.0 -40.0 30.0 sum yes",
                    "fix move all nve",
                    "timestep 0.0005",
                    "compute atomic all pe/atom",
                    "dump track all custom 12 track.dump id x y z fx fy fz c_atomic",
                    "dump_modify track sort id format float %.17g",
                    "run 24",
                ],
            )
            snapshot = self.snapshots("track.dump")[-1]
            moved = replace(structure, positions=vectors(snapshot, "x y z"))
            fractions = moved.positions @ np.linalg.inv(moved.cell)
            self.assertGreater(np.sum((fractions < 0) | (fractions >= 1)), 0)
            expected = evaluate_alone(self.installation, moved, settings)
            with self.subTest(model=archive.name):
                self.assert_close(vectors(snapshot, "fx fy fz"), expected.forces, note="forces")
                self.assert_close(snapshot["c_atomic"], expected.energies, note="energies")


if __name__ == "__main__":
    main()
