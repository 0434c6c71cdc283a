# SPDX-License-Identifier: GPL-2.0-only
"""Ewald's and the particle-mesh sum: Madelung constants, LAMMPS's own sums, ranks, slopes."""

import json
import subprocess
import zipfile
from dataclasses import replace

import numpy as np
import scripted
from comparison import evaluate_alone
from installation import REPOSITORY, find_build_file
from simulation import read_thermo
from structure import Structure
from suite import LONG, LammpsTest, Settings, main, one_line

ARCHIVES = REPOSITORY / "examples" / "lammps" / "coulomb"
COULOMB = 14.399645  # eV Angstrom, LAMMPS's in metal units
ACCURACY = 1e-5  # of ewald.pt and pme.pt
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])

# Madelung constants by nearest distance: R. E. Crandall, J. P. Buhler, J. Phys. A 20, 5497 (1987);
# that of ZnS with charges +1, -1.
CRYSTALS = {
    "NaCl": (("Na", "Cl"), FCC, FCC + [0.5, 0, 0], 0.5, 1.74756459463318219),
    "CsCl": (("Cs", "Cl"), FCC[:1], FCC[:1] + 0.5, 0.75**0.5, 1.76267477307098839),
    "ZnS": (("Zn", "S"), FCC, FCC + 0.25, 0.1875**0.5, 1.63805505338879942),
}


def archive(name, **options):
    return Settings(archive=str(ARCHIVES / f"{name}.pt"), **options)


def rocksalt(tilted=True):
    """64 rattled ions, with charges that do not quite cancel."""
    structure = scripted.crystal("nacl64")
    if not tilted:
        fractions = structure.positions @ np.linalg.inv(structure.cell)
        cell = np.diag([11.3, 11.2, 11.5])
        structure = replace(structure, positions=fractions @ cell, cell=cell)
    charges = [1.0 if symbol == "Na" else -1.0 for symbol in structure.symbols]
    return replace(structure, charges=tuple(charges))


def charged(structure):
    return replace(
        structure,
        charges=tuple(q * (1 + 0.1 * (k % 5)) for k, q in enumerate(structure.charges)),
    )


def rms(vectors):
    return np.sqrt(np.mean(np.sum(np.square(vectors), axis=1)))


def of_lammps(kspace, accuracy, more=(), **options):
    """LAMMPS's own sum. Its tables in real space are off; its erfc is right to 1e-7."""
    lines = (
        "pair_style coul/long 9.0",
        "pair_coeff * *",
        "pair_modify table 0",
        f"kspace_style {kspace} {accuracy:g}",
        *more,
    )
    return Settings(archive="", pair_lines=lines, **options)


class Madelung(LammpsTest):
    def energy(self, name, length, charge, archive_name="ewald_converged"):
        symbols, first, second, _, _ = CRYSTALS[name]
        structure = Structure(
            [symbols[0]] * len(first) + [symbols[1]] * len(second),
            length * np.concatenate([first, second]),
            length * np.eye(3),
            charges=(charge,) * len(first) + (-charge,) * len(second),
        )
        found = evaluate_alone(self.installation, structure, archive(archive_name))
        return found.energy / len(first), found

    def test_constants_of_three_crystals(self):
        for name, (_, _, _, nearest, madelung) in CRYSTALS.items():
            for length, charge in ((5.64, 1.0), (4.1, 2.0)):
                energy, found = self.energy(name, length, charge)
                constant = -energy * nearest * length / (COULOMB * charge**2)
                with self.subTest(crystal=name, length=length):
                    self.assertAlmostEqual(constant, madelung, delta=1e-10 * madelung)
                    # E is -C q^2 M / d: the virial, -dE/dstrain, is E along each axis thirds
                    self.assert_close(found.virial, np.eye(3) * found.energy / 3, 1e-9, "virial")

    def test_an_accuracy_of_1e_5_does_not_reach_the_bar(self):
        energy, _ = self.energy("NaCl", 5.64, 1.0, "ewald")
        constant = -energy * 0.5 * 5.64 / COULOMB
        self.assertGreater(abs(constant - CRYSTALS["NaCl"][-1]), 1e-10)


class AgainstLammps(LammpsTest):
    def test_converged_sum_is_that_of_kspace_style_ewald(self):
        for tilted in (False, True):
            structure = charged(rocksalt(tilted))
            native = self.decomposed(
                structure,
                of_lammps(
                    "ewald",
                    1e-10,
                    ("kspace_modify gewald 0.66", "kspace_modify kmax/ewald 16 16 16"),
                ),
            ).reference
            found = self.decomposed(structure, archive("ewald_converged", ranks=2)).reference
            with self.subTest(tilted=tilted):
                self.assertAlmostEqual(found.energy, native.energy, delta=1e-6 * abs(native.energy))
                self.assert_close(found.forces, native.forces, 2e-6, "forces")
                # LAMMPS leaves the background's energy, which goes as 1/V, out of the virial
                total, alpha = sum(structure.charges), 0.66
                self.assertGreater(abs(total), 0.1)
                background = -COULOMB * np.pi * total**2 / (2 * structure.volume * alpha**2)
                self.assert_close(
                    found.virial - background * np.eye(3), native.virial, 2e-6, "virial"
                )

    def test_forces_are_within_the_accuracy_that_was_asked_for(self):
        for tilted in (False, True):
            structure = rocksalt(tilted)
            exact = self.decomposed(structure, archive("ewald_converged")).reference
            for name in ("ewald", "pme", "pme_nacl"):
                found = self.decomposed(structure, archive(name, ranks=2)).reference
                with self.subTest(archive=name, tilted=tilted):
                    bound = ACCURACY * COULOMB
                    self.assertLessEqual(rms(found.forces - exact.forces), bound)
                    self.assertLessEqual(np.linalg.norm(found.forces.mean(axis=0)), bound)
                    # the bound is not met by chance: a converged sum is far below it
                    self.assertGreater(rms(found.forces - exact.forces), 1e-4 * bound)

    def test_mesh_and_pppm_agree_within_their_accuracies(self):
        structure = rocksalt(True)
        native = self.decomposed(structure, of_lammps("pppm", ACCURACY)).reference
        found = self.decomposed(structure, archive("pme", ranks=2)).reference
        self.assertLessEqual(rms(found.forces - native.forces), 2 * ACCURACY * COULOMB)

    def test_slab_is_that_of_kspace_modify(self):
        structure = charged(rocksalt(False)).opened((True, True, False), margin=3.0)
        native = self.decomposed(
            structure,
            of_lammps("ewald", 1e-8, ("kspace_modify slab 3.0",), open_boundary="f"),
        ).reference
        found = self.decomposed(structure, archive("ewald_slab", ranks=2)).reference

        self.assertAlmostEqual(found.energy, native.energy, delta=2e-6 * abs(native.energy))
        self.assert_close(found.forces, native.forces, 3e-6, "forces")


class Ranks(LammpsTest):
    BARS = {"dE": 1e-9, "dEatom": 1e-9, "dF": 1e-9, "dS": 1e-12}

    def test_numbers_do_not_depend_on_ranks(self):
        grids = ((2, "1 2 1"), (3, "3 1 1"), (4, "2 1 2"))
        for name in ("ewald", "pme", "pme_nacl"):
            for tilted in (False, True):
                structure = rocksalt(tilted) if name == "pme_nacl" else charged(rocksalt(tilted))
                alone = self.alone(structure, archive(name))
                most = LONG or (tilted and name == "ewald")
                for ranks, grid in grids if most else grids[1 + tilted :]:
                    settings = archive(name, ranks=ranks, processors=grid)
                    found = self.decomposed(structure, settings)
                    with self.subTest(archive=name, tilted=tilted, ranks=ranks):
                        self.assert_within(found.reference, alone, structure.volume, self.BARS)

    def test_sums_over_ranks_are_the_least_there_can_be(self):
        for name, sums in (("ewald", 2), ("pme", 2), ("ewald_slab", 4)):
            structure = rocksalt(False)
            if name == "ewald_slab":
                structure = structure.opened((True, True, False), margin=3.0)
            found = self.decomposed(structure, archive(name, ranks=2))
            text = f"exchanges per step: 0 forward, 0 reverse, {sums} sum"
            self.assertIn(text, found.log, name)

    def test_newton_off_gives_the_same(self):
        structure = charged(rocksalt(True))
        alone = self.alone(structure, archive("pme"))
        found = self.decomposed(structure, archive("pme", ranks=2, newton="off")).reference
        self.assert_within(found, alone, structure.volume, self.BARS)

    def test_dynamics_in_a_box_that_changes_passes_validation(self):
        """The mesh stays as it is between re-neighbourings, for the comparison too."""
        structure = rocksalt(False)
        run = self.run_structure(
            structure,
            archive(
                "pme",
                ranks=2,
                pair_lines=(
                    "pair_style hybrid/overlay nvalchemi buck 8.0",
                    f'pair_coeff * * nvalchemi "{ARCHIVES / "pme.pt"}" Na Cl',
                    "pair_coeff 1 1 buck 424.097 0.317 1.05",
                    "pair_coeff 1 2 buck 1256.31 0.317 7.0",
                    "pair_coeff 2 2 buck 3488.998 0.317 72.5",
                ),
            ),
            [
                "velocity all create 300.0 4711",
                "fix check all nvalchemi/validate every 10",
                "fix move all npt temp 300 300 0.1 aniso 5000 5000 0.05",
                "timestep 0.001",
                "thermo_style custom step vol f_check[1] f_check[3]",
                "thermo_modify format float %.17g",
                "thermo 10",
                "run 20",
            ],
        )
        thermo = read_thermo(run.log)[0]
        self.assertEqual(list(thermo["Step"]), [0, 10, 20])
        self.assertGreater(abs(thermo["Volume"][2] / thermo["Volume"][0] - 1), 1e-3)
        self.assertLess(max(thermo["f_check[1]"]), 1e-9)
        self.assertLess(max(thermo["f_check[3]"]), 1e-9)


class Validator(LammpsTest):
    def validate(self, name, structure, *more):
        case = self.folder / "case.json"
        case.write_text(json.dumps(structure.to_document()))
        words = ["--archive", str(ARCHIVES / f"{name}.pt"), "--structure", str(case)]
        return subprocess.run(
            [find_build_file("nvalchemi-validate"), *words, "--ranks", "3", *more],
            capture_output=True,
            text=True,
            timeout=600,
            env=self.installation.environment(1),
        )

    def test_forces_and_stress_are_slopes_and_parts_equal_the_whole(self):
        report = self.folder / "report.json"
        for name in ("ewald_converged", "pme_smooth", "ewald_slab"):
            structure = charged(rocksalt(name != "ewald_slab"))
            if name == "ewald_slab":
                structure = structure.opened((True, True, False), margin=3.0)
            run = self.validate(
                name, structure, "--finite-differences", "2", "--output", str(report)
            )
            with self.subTest(archive=name):
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                slopes = json.loads(report.read_text())["finite_differences"]
                self.assertTrue(slopes["forces_are_slopes"], slopes)
                if name != "ewald_slab":
                    self.assertTrue(slopes["has_virial"] and slopes["virial_is_slope"], slopes)

    def test_without_adapters_the_operator_is_named(self):
        for name, preset, operator in (
            ("ewald", "SPEC_EWALD_HALO", "nvalchemi_lmp::ewald_structure_factors"),
            ("pme", "SPEC_PME_HALO", "nvalchemi_lmp::pme_spread"),
        ):
            run = self.validate(name, rocksalt(), "--spec", preset)
            with self.subTest(archive=name):
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(operator, run.stdout + run.stderr)

    def test_each_adapter_that_is_left_out_is_named(self):
        program = find_build_file("nvalchemi-spec")
        for name, preset in (("ewald", "SPEC_EWALD_HALO"), ("pme", "SPEC_PME_HALO")):
            spec = self.spec_of(name)
            for adapter in spec["core"]["custom_ops"]:
                if not adapter["arg_transforms"] and "reciprocal" in adapter["op"]:
                    continue  # it computes each row by itself, which is found without an adapter
                fewer = json.loads(json.dumps(spec))
                fewer["core"]["custom_ops"].remove(adapter)
                path = self.folder / "spec.json"
                path.write_text(json.dumps(fewer))
                run = subprocess.run(
                    [program, "check", str(path), "--archive", str(ARCHIVES / f"{name}.pt")],
                    capture_output=True,
                    text=True,
                    timeout=300,
                )
                with self.subTest(archive=name, adapter=adapter["op"], preset=preset):
                    self.assertEqual(run.returncode, 1)
                    self.assertIn(adapter["op"], run.stdout + run.stderr)

    def spec_of(self, name):
        with zipfile.ZipFile(ARCHIVES / f"{name}.pt") as files:
            (card,) = [entry for entry in files.namelist() if entry.endswith("nvalchemi.json")]
            return json.loads(files.read(card))["spec"]


class Refusals(LammpsTest):
    def refusal(self, structure, *lines, **options):
        self.write_structure(structure)
        run = self.run_input(self.script(structure, archive("ewald", **options), lines), 1)
        self.assertNotEqual(run.status, 0)
        return one_line(run.message)

    def test_an_atom_style_without_charges(self):
        structure = replace(rocksalt(), charges=())
        self.assertIn(
            "takes the charges of atoms, which atom_style atomic does not have; use atom_style "
            "charge, or another with charges",
            self.refusal(structure, "run 0"),
        )

    def test_per_atom_virials(self):
        self.assertIn(
            "has a part that depends on positions and the cell, whose virial belongs to no atom",
            self.refusal(
                rocksalt(),
                "compute virial all stress/atom NULL virial",
                "compute all all reduce sum c_virial[1]",
                "thermo_style custom step c_all",
                "run 0",
            ),
        )

    def test_a_structure_without_charges(self):
        structure = replace(rocksalt(), charges=())
        with self.assertRaisesRegex(Exception, "takes charges: got atoms without, expected one"):
            self.alone(structure, archive("ewald"))


if __name__ == "__main__":
    main()
