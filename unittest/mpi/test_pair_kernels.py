# SPDX-License-Identifier: GPL-2.0-only
"""Lennard-Jones, Buckingham and Morse archives against LAMMPS's own pair styles."""

import json
import subprocess
from dataclasses import dataclass, replace

import numpy as np
from installation import REPOSITORY, find_build_file
from simulation import read_thermo, vectors
from structure import Structure
from suite import LONG, LammpsTest, Settings, main, one_line

ARCHIVES = REPOSITORY / "examples" / "lammps" / "pair_potentials"
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
ROCKSALT = np.concatenate([FCC, (FCC + [0.5, 0, 0]) % 1])
TILT = np.eye(3) + np.array([[0.02, 0, 0], [0.15, -0.03, 0], [-0.1, 0.08, 0.01]])
LANES = [(1, ""), (2, "1 2 1"), (3, "3 1 1"), (4, "2 2 1")]


@dataclass(frozen=True)
class Kind:
    """An archive, and the commands of LAMMPS that stand for it."""

    archive: str
    native: tuple
    wrong: tuple  # commands with one parameter changed
    symbols: tuple
    basis: tuple
    length: float

    def crystal(self, tilted, repeat=(3, 2, 2)):
        cell = self.length * np.eye(3)
        crystal = Structure(list(self.symbols), self.length * np.array(self.basis), cell)
        crystal = crystal.repeated(repeat)
        noise = np.random.default_rng(11).normal(scale=0.08, size=crystal.positions.shape)
        matrix = TILT if tilted else np.eye(3)
        return replace(
            crystal, positions=(crystal.positions + noise) @ matrix, cell=crystal.cell @ matrix
        )

    def settings(self, **options):
        return Settings(archive=str(ARCHIVES / self.archive), **options)

    def of_lammps(self, lines=None, **options):
        return Settings(archive="", pair_lines=lines or self.native, **options)


KINDS = {
    "lj": Kind(
        "argon_lj.pt",
        ("pair_style lj/cut 8.5", "pair_coeff 1 1 0.0104 3.4"),
        ("pair_style lj/cut 8.5", "pair_coeff 1 1 0.0104 3.40001"),
        ("Ar",) * 4,
        tuple(map(tuple, FCC)),
        5.3,
    ),
    "lj_mixed": Kind(
        "argon_krypton_lj.pt",
        (
            "pair_style lj/cut 9.0",
            "pair_modify mix arithmetic shift yes",
            "pair_coeff 1 1 0.0104 3.4 8.5",
            "pair_coeff 2 2 0.0140 3.65 9.0",
        ),
        (
            "pair_style lj/cut 9.0",
            "pair_modify mix geometric shift yes",
            "pair_coeff 1 1 0.0104 3.4 8.5",
            "pair_coeff 2 2 0.0140 3.65 9.0",
        ),
        ("Ar", "Ar", "Kr", "Ar"),
        tuple(map(tuple, FCC)),
        5.5,
    ),
    "buck": Kind(
        "nacl_buck.pt",
        (
            "pair_style buck 9.0",
            "pair_coeff 1 1 424.097 0.317 1.05",
            "pair_coeff 1 2 1256.31 0.317 7.0",
            "pair_coeff 2 2 3488.998 0.317 72.5",
        ),
        (
            "pair_style buck 9.0",
            "pair_coeff 1 1 424.097 0.317 1.05",
            "pair_coeff 1 2 1256.31 0.317 7.0001",
            "pair_coeff 2 2 3488.998 0.317 72.5",
        ),
        ("Na",) * 4 + ("Cl",) * 4,
        tuple(map(tuple, ROCKSALT)),
        5.64,
    ),
    "morse": Kind(
        "copper_morse.pt",
        ("pair_style morse 7.0", "pair_coeff 1 1 0.3429 1.3588 2.866"),
        ("pair_style morse 7.0", "pair_coeff 1 1 0.3429 1.35881 2.866"),
        ("Cu",) * 4,
        tuple(map(tuple, FCC)),
        3.615,
    ),
}


class AgainstLammps(LammpsTest):
    def test_energy_forces_and_pressure_on_one_to_four_ranks(self):
        for name, kind in KINDS.items():
            for tilted in (False, True):
                structure = kind.crystal(tilted)
                native = self.decomposed(structure, kind.of_lammps(ranks=1)).reference
                lanes = LANES if LONG or name == "lj" else LANES[1 + tilted :: 2]
                for ranks, processors in lanes:
                    with self.subTest(kind=name, tilted=tilted, ranks=ranks):
                        found = self.decomposed(
                            structure, kind.settings(ranks=ranks, processors=processors)
                        )
                        self.assert_same(found.reference, native, structure.volume)
                        self.assertEqual(found.exchanges, {"forward": 0, "backward": 0})

    def test_newton_off_gives_the_same(self):
        kind = KINDS["lj_mixed"]
        structure = kind.crystal(True)
        native = self.decomposed(structure, kind.of_lammps()).reference

        found = self.decomposed(structure, kind.settings(ranks=2, newton="off")).reference

        self.assert_same(found, native, structure.volume)

    def test_a_parameter_that_is_off_in_the_sixth_digit_is_seen(self):
        for name, kind in KINDS.items():
            structure = kind.crystal(False)
            wrong = self.decomposed(structure, kind.of_lammps(kind.wrong)).reference
            found = self.decomposed(structure, kind.settings()).reference
            with self.subTest(kind=name), self.assertRaises(AssertionError):
                self.assert_same(found, wrong, structure.volume)

    def track(self, settings, structure):
        run = self.run_structure(
            structure,
            settings,
            [
                "velocity all create 100.0 4711 loop geom",
                "fix move all nve",
                "timestep 0.001",
                "thermo_style custom step etotal press",
                "thermo_modify format float %.17g",
                "thermo 10",
                "dump track all custom 50 track.dump id xu yu zu vx vy vz",
                "dump_modify track sort id format float %.17g",
                "run 50",
            ],
        )
        return read_thermo(run.log)[0], self.snapshots("track.dump")[-1]

    def test_short_trajectory_is_that_of_lammps(self):
        for name in KINDS if LONG else ("lj", "buck"):
            kind = KINDS[name]
            structure = kind.crystal(False)
            expected, last = self.track(kind.of_lammps(skin=1.0), structure)
            found, found_last = self.track(kind.settings(ranks=2, skin=1.0), structure)
            with self.subTest(kind=name):
                for column in ("TotEng", "Press"):
                    self.assert_close(found[column], expected[column], note=column)
                for columns in ("xu yu zu", "vx vy vz"):
                    self.assert_close(
                        vectors(found_last, columns), vectors(last, columns), note=columns
                    )


class WithoutAdapter(LammpsTest):
    def test_load_names_the_operator_that_has_no_adapter(self):
        preset = json.loads((REPOSITORY / "spec" / "presets" / "SPEC_LJ_HALO.json").read_text())
        self.assertEqual(preset["core"]["custom_ops"], [])
        for kind, operator in (
            ("lj", "lj_energy_forces_virial"),
            ("buck", "buckingham_energy_forces_virial"),
            ("morse", "morse_energy_forces_virial"),
        ):
            structure = KINDS[kind].crystal(False)
            self.write_structure(structure)
            settings = KINDS[kind].settings(ranks=2, pair_arguments="spec SPEC_LJ_HALO")
            run = self.run_input(self.script(structure, settings, ["run 0"]), 2)
            with self.subTest(kind=kind):
                self.assertNotEqual(run.status, 0)
                self.assertIn(f"operator nvalchemi_lmp::{operator} at", one_line(run.message))
                self.assertIn("declare it with an adapter", one_line(run.message))

    def test_validator_names_the_operator_that_has_no_adapter(self):
        program = find_build_file("nvalchemi-validate")
        kind = KINDS["lj"]
        case = self.folder / "case.json"
        case.write_text(json.dumps(kind.crystal(True).to_document()))
        archive = str(ARCHIVES / kind.archive)
        words = ["--archive", archive, "--structure", str(case), "--ranks", "2"]

        def validate(*more):
            return subprocess.run(
                [program, *words, *more],
                capture_output=True,
                text=True,
                timeout=300,
                env=self.installation.environment(1),
            )

        good = validate()
        bad = validate("--spec", "SPEC_LJ_HALO")

        self.assertEqual(good.returncode, 0, good.stdout + good.stderr)
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("nvalchemi_lmp::lj_energy_forces_virial", bad.stdout + bad.stderr)


if __name__ == "__main__":
    main()
