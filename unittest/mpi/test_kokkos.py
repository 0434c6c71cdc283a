# SPDX-License-Identifier: GPL-2.0-only
"""nvalchemi/kk gives the numbers of nvalchemi in the same LAMMPS, whatever package kokkos is told.

Needs a LAMMPS with KOKKOS (NVALCHEMI_KOKKOS_LAMMPS) and is skipped without one. Where that LAMMPS
runs on GPUs, NVALCHEMI_KOKKOS_GPUS says how many, and the numbers are compared within GPU_BAR.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
from comparison import kokkos_arguments
from own_models import write_pair_model
from simulation import read_thermo, vectors
from suite import (
    CRYSTALS,
    LONG,
    LammpsTest,
    cluster,
    main,
    model,
    models,
    one_line,
)
from test_compute_output import COMPUTES, EXTRA, FROM_COMPUTE, OF_SYSTEM, OUTPUTS
from test_empty_ranks import CUBE_SYMBOLS, MOLECULE

SKIPPED = 77
GPUS = os.environ.get("NVALCHEMI_KOKKOS_GPUS", "")
KOKKOS = f"on g {GPUS}" if GPUS else "on"
HOST_BAR, GPU_BAR = 1e-12, 1e-10
BAR = GPU_BAR if GPUS else HOST_BAR
RANKS = (1, 2, 3, 4) if not GPUS else (1, 2)
HALF = " -pk kokkos newton on neigh half"
FULL = " -pk kokkos newton off neigh full"
SIX = " ".join(f"c_six[{k + 1}]" for k in range(6))
NINE = " ".join(f"c_nine[{k + 1}]" for k in range(9))


class KokkosTest(LammpsTest):
    def setUp(self):
        super().setUp()
        self.installation.lammps = os.environ["NVALCHEMI_KOKKOS_LAMMPS"]

    def kokkos_settings(self, archive, ranks, package=HALF, **options):
        newton = "off" if "newton off" in package else "on"
        if GPUS:
            package += " gpu/aware off"
        return archive.settings(
            ranks=ranks,
            **{"style": "nvalchemi/kk", "newton": newton, "kokkos": KOKKOS + package, **options},
        )

    def plain_settings(self, archive, ranks, **options):
        device = "device cuda" if GPUS else "device cpu"
        return archive.settings(ranks=ranks, pair_arguments=device, **options)

    def kokkos_run(self, structure, settings, lines):
        arguments = kokkos_arguments(settings)
        return self.run_structure(structure, settings, lines, arguments=arguments)


class Parity(KokkosTest):
    def check(self, archive, crystal, ranks, package):
        structure = archive.case(crystal)[0]
        for count in ranks:
            plain = self.decomposed(structure, self.plain_settings(archive, count))
            found = self.decomposed(structure, self.kokkos_settings(archive, count, package))
            with self.subTest(model=archive.name, crystal=crystal, ranks=count, package=package):
                self.assert_same(found.reference, plain.reference, structure.volume, BAR)
                self.assertEqual(found.exchanges, plain.exchanges)

    def test_every_archive_with_newton_on(self):
        for archive in models():
            for crystal in CRYSTALS if LONG or GPUS else CRYSTALS[:1]:
                self.check(archive, crystal, RANKS if LONG or GPUS else (1, 3), HALF)

    def test_every_archive_with_newton_off(self):
        for archive in models():
            self.check(archive, CRYSTALS[-1], RANKS if LONG or GPUS else (4,), FULL)

    def test_up_to_four_ranks(self):
        for package in (HALF, FULL):
            self.check(model("toy_index_add"), "nacl64", RANKS, package)

    def test_work_during_exchanges_changes_no_number(self):
        archive = models("sevennet_0_f64")[0]
        structure = archive.case("nacl64")[0]
        found = []
        for use in ("no", "yes"):
            settings = self.kokkos_settings(archive, 2, pair_arguments=f"overlap {use}")
            found.append(self.decomposed(structure, settings).reference)
        # sums of a GPU's threads have no order
        self.assert_same(found[1], found[0], structure.volume, 1e-10 if GPUS else 0.0)

    def test_work_during_exchanges_on_each_way(self):
        if not GPUS:
            self.skipTest("needs a GPU")
        archive = models("sevennet_0_f64")[0]
        structure = archive.case("nacl64")[0]
        plain = self.decomposed(structure, self.kokkos_settings(archive, 2)).reference
        for comm in ("mpi", "auto"):
            words = f"overlap yes halo_comm {comm}"
            settings = self.kokkos_settings(archive, 2, pair_arguments=words)
            found = self.decomposed(structure, settings).reference
            self.assert_same(found, plain, structure.volume, 1e-10, note=words)

    def test_a_fault_in_the_edges_is_seen(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        plain = self.decomposed(structure, self.plain_settings(archive, 2)).reference
        os.environ["NVALCHEMI_FAULT"] = "swap_edges"
        self.addCleanup(os.environ.pop, "NVALCHEMI_FAULT", None)
        found = self.decomposed(structure, self.kokkos_settings(archive, 2)).reference
        with self.assertRaises(AssertionError):
            self.assert_same(found, plain, structure.volume, BAR)


class Variants(KokkosTest):
    def check(self, package, **options):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        plain = self.decomposed(structure, self.plain_settings(archive, 2)).reference
        settings = self.kokkos_settings(archive, 2, package, **options)
        found = self.decomposed(structure, settings).reference
        with self.subTest(package=package, **options):
            self.assert_same(found, plain, structure.volume, BAR)

    def test_communication_and_sorting(self):
        for place in ("device", "host", "no"):
            self.check(f"{FULL} comm {place}")
        for place in ("device", "host"):
            self.check(f"{HALF} sort {place}")
        self.check(f"{HALF} comm/pair/forward no comm/pair/reverse no")
        self.check(f"{FULL} comm/pair/forward no comm/fix/forward no")

    def test_names_of_the_style(self):
        for style in ("nvalchemi/kk/device", "nvalchemi/kk/host"):
            self.check(HALF, style=style)

    def test_tiled_communication(self):
        self.check(HALF, comm="tiled", balance="rcb", skin=0.5)

    def test_suffix_chooses_the_style(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        settings = self.kokkos_settings(archive, 1, HALF, style="nvalchemi")
        run = self.kokkos_run(structure, settings, ["run 0", "info styles pair", "info config"])
        self.assertRegex(run.log, r"pair nvalchemi/kk.*\n.*attributes: full.*kokkos")

    def test_hybrid_overlay(self):
        toy, d3 = model("toy_index_add"), model("d3bj_pbe")
        structure = toy.case("nacl64")[0]

        def lines(style):
            return (
                f"pair_style hybrid/overlay {style} device {device(style)} {style} "
                f"device {device(style)}",
                f'pair_coeff * * {style} 1 "{toy.archive}" Na Cl',
                f'pair_coeff * * {style} 2 "{d3.archive}" Na Cl',
            )

        def device(style):
            return "auto" if style.endswith("kk") else ("cuda" if GPUS else "cpu")

        plain = self.decomposed(
            structure, self.plain_settings(toy, 2, pair_lines=lines("nvalchemi"))
        )
        kokkos = self.kokkos_settings(toy, 2, HALF, pair_lines=lines("nvalchemi/kk"))
        found = self.decomposed(structure, kokkos)
        self.assert_same(found.reference, plain.reference, structure.volume, BAR)

    def test_hybrid_overlay_with_a_pair_potential_of_kokkos_in_both_orders(self):
        toy = model("toy_index_add")
        structure = toy.case("nacl64")[0]
        lj = {"1 1": "0.01 2.5", "1 2": "0.02 2.4", "2 2": "0.03 2.9"}

        def lines(styles, suffix):
            return (
                f"pair_style hybrid/overlay {' '.join(styles)}",
                f'pair_coeff * * nvalchemi{suffix} "{toy.archive}" Na Cl',
                *(f"pair_coeff {pair} lj/cut{suffix} {value}" for pair, value in lj.items()),
            )

        device = "device cuda" if GPUS else "device cpu"
        plain = lines([f"nvalchemi {device}", "lj/cut 6.0"], "")
        expected = self.decomposed(structure, self.plain_settings(toy, 2, pair_lines=plain))
        alone = self.decomposed(structure, self.plain_settings(toy, 2)).reference
        for package in (HALF, FULL):
            for styles in (["nvalchemi/kk", "lj/cut/kk 6.0"], ["lj/cut/kk 6.0", "nvalchemi/kk"]):
                settings = self.kokkos_settings(toy, 2, package, pair_lines=lines(styles, "/kk"))
                found = self.decomposed(structure, settings).reference
                with self.subTest(package=package, styles=styles):
                    self.assert_same(found, expected.reference, structure.volume, BAR)
                    with self.assertRaises(AssertionError):
                        self.assert_same(found, alone, structure.volume, BAR)


class FewAtoms(KokkosTest):
    def test_ranks_without_atoms(self):
        archive = model("toy_index_add")
        structure = cluster(CUBE_SYMBOLS, MOLECULE + [1.0, 4.0, 4.0], [24.0, 12.0, 12.0])
        plain = self.plain_settings(archive, 4, processors="4 1 1")
        expected = self.decomposed(structure, plain).reference
        for package in (HALF, FULL):
            settings = self.kokkos_settings(archive, 4, package, processors="4 1 1")
            found = self.decomposed(structure, settings).reference
            with self.subTest(package=package):
                self.assert_same(found, expected, 24.0 * 12.0 * 12.0, BAR)

    def test_types_that_belong_to_another_style(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]

        def lines(style, device):
            return (
                f"pair_style hybrid/overlay {style} device {device} lj/cut 6.0",
                f'pair_coeff * * {style} "{archive.archive}" Na NULL',
                "pair_coeff * * lj/cut 0.01 2.5",
            )

        plain = self.plain_settings(
            archive, 2, pair_lines=lines("nvalchemi", "cuda" if GPUS else "cpu")
        )
        expected = self.decomposed(structure, plain).reference
        for package in (HALF, FULL):
            settings = self.kokkos_settings(
                archive, 2, package, pair_lines=lines("nvalchemi/kk", "auto")
            )
            found = self.decomposed(structure, settings).reference
            with self.subTest(package=package):
                self.assert_same(found, expected, structure.volume, BAR)


class Results(KokkosTest):
    def test_further_outputs_through_fix_pair(self):
        d3 = model("d3bj_pbe")
        structure = d3.case("nacl64")[0]
        found = []
        for style, run, settings in (
            ("nvalchemi", self.run_structure, self.plain_settings(d3, 2)),
            ("nvalchemi/kk", self.kokkos_run, self.kokkos_settings(d3, 2)),
        ):
            lines = [
                f"fix cn all pair 1 {style} coordination_numbers 0",
                f"fix energy all pair 1 {style} energy 0",
                "dump out all custom 1 out.dump id f_cn f_energy",
                "dump_modify out sort id format float %.17g",
                "run 0",
            ]
            run(structure, settings, lines)
            found.append(vectors(self.snapshots("out.dump")[0], "f_cn f_energy"))
        self.assert_close(found[1], found[0], BAR)
        self.assertGreater(np.min(np.abs(found[0])), 0.0)

    def test_further_outputs_through_the_compute(self):
        structure = model("toy_index_add").case("nacl64")[0]
        archive = write_pair_model(self.folder, "outputs", EXTRA, OUTPUTS)
        names = f"{FROM_COMPUTE} {OF_SYSTEM}".split()
        found = []
        for style, run, settings in (
            ("nvalchemi", self.run_structure, self.plain_settings(model("toy_index_add"), 2)),
            ("nvalchemi/kk", self.kokkos_run, self.kokkos_settings(model("toy_index_add"), 2)),
        ):
            lines = [
                "group half id <= 32",
                *(line.replace(" all ", " half ") for line in COMPUTES),
                *(f"variable v{k} equal {name}" for k, name in enumerate(OF_SYSTEM.split())),
                f"dump out all custom 2 out.dump id {FROM_COMPUTE}",
                "dump_modify out sort id format float %.17g",
                "fix move all nve",
                "run 2",
                *(f'print "of system ${{v{k}}}"' for k in range(len(OF_SYSTEM.split()))),
            ]
            settings.pair_lines = (f"pair_style {style}", f'pair_coeff * * "{archive}" Na Cl')
            log = run(structure, settings, lines).log
            last = self.snapshots("out.dump")[-1]
            system = [float(value) for value in re.findall(r"^of system (\S+)", log, re.M)]
            self.assertTrue(np.all(vectors(last, FROM_COMPUTE)[last["id"] > 32] == 0.0))
            found.append((vectors(last, FROM_COMPUTE), system))
        self.assertEqual(len(found[0][1]), len(names) - len(FROM_COMPUTE.split()))
        self.assert_close(found[1][0], found[0][0], BAR)
        self.assert_close(found[1][1], found[0][1], BAR)

    def test_per_atom_virials(self):
        for name in ("toy_index_add", "d3bj_pbe"):
            archive = model(name)
            lines = [
                "compute six all stress/atom NULL virial",
                f"dump six all custom 1 six.dump id {SIX}",
                "dump_modify six sort id format float %.17g",
                "run 0",
            ]
            structure = archive.case("nacl64")[0]
            self.run_structure(structure, self.plain_settings(archive, 2), lines)
            plain = vectors(self.snapshots("six.dump")[0], SIX)
            for package in (HALF, FULL):
                self.kokkos_run(structure, self.kokkos_settings(archive, 2, package), lines)
                found = vectors(self.snapshots("six.dump")[0], SIX)
                self.assert_close(found, plain, BAR, note=name + package)

    def test_centroid_virials(self):
        archive = model("toy_index_add")
        structure = cluster(CUBE_SYMBOLS, MOLECULE + [4.0, 4.0, 4.0], [12.0, 12.0, 12.0])
        lines = [
            "compute nine all centroid/stress/atom NULL virial",
            f"dump nine all custom 1 nine.dump id {NINE}",
            "dump_modify nine sort id format float %.17g",
            "run 0",
        ]
        plain = self.plain_settings(archive, 2)
        plain.pair_arguments += " centroid yes"
        self.run_structure(structure, plain, lines)
        expected = vectors(self.snapshots("nine.dump")[0], NINE)
        for package in (HALF, FULL):
            settings = self.kokkos_settings(archive, 2, package, pair_arguments="centroid yes")
            self.kokkos_run(structure, settings, lines)
            found = vectors(self.snapshots("nine.dump")[0], NINE)
            self.assert_close(found, expected, BAR, note=package)

    def validate(self, ranks, package):
        archive = model("toy_index_add")
        check = "fix check all nvalchemi/validate every 2 on_failure warn"
        run = self.kokkos_run(
            archive.case("si64")[0],
            self.kokkos_settings(archive, ranks, package),
            [check, "fix move all nve", "run 4"],
        )
        self.assertIn("Validation by fix check at step 0", run.log)
        return "DIFFERENT" in run.log

    def test_the_validator_finds_nothing(self):
        for package in (HALF, FULL):
            for ranks in (1, 3):
                self.assertFalse(self.validate(ranks, package), f"{ranks} ranks {package}")

    def test_the_validator_finds_a_planted_fault(self):
        os.environ["NVALCHEMI_FAULT"] = "skip_reverse"
        self.addCleanup(os.environ.pop, "NVALCHEMI_FAULT", None)
        self.assertTrue(self.validate(3, HALF))

    def test_the_sampled_validator_moves_atoms_where_kokkos_keeps_them(self):
        archive = model("toy_index_add")
        settings = self.kokkos_settings(archive, 2)
        structure = archive.case("nacl64")[0]
        self.write_structure(structure)
        lines = [
            "fix check all nvalchemi/validate mode sampled every 1",
            "fix move all nve",
            "run 2",
        ]
        script = self.script(structure, settings, lines)
        for fault, word in (("", "same"), ("swap_edges", "DIFFERENT")):
            run = self.run_input(
                script,
                2,
                arguments=kokkos_arguments(settings),
                environment={"NVALCHEMI_FAULT": fault},
            )
            self.assertEqual(run.status == 0, not fault, run.message)
            self.assertRegex(run.log, rf"all forces along one random direction.*: {word}\n")

    def test_dynamics_with_new_neighbours(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        lines = [
            "velocity all create 1500 4711 loop geom",
            "neigh_modify every 1 delay 0 check yes",
            "fix move all nve",
            "thermo_style custom step pe etotal",
            "thermo 30",
            "run 60",
        ]
        plain = self.run_structure(structure, self.plain_settings(archive, 2, skin=0.3), lines)
        found = self.kokkos_run(structure, self.kokkos_settings(archive, 2, FULL, skin=0.3), lines)
        plain, found = (read_thermo(run.log)[0] for run in (plain, found))
        # rounding grows with time: the trajectories part from each other slowly
        self.assert_close(found["PotEng"], plain["PotEng"], 1e-9)
        self.assertLess(np.ptp(found["TotEng"]), 1e-3 * np.ptp(found["PotEng"]) + 1e-2)


class Choice(KokkosTest):
    def test_the_build_with_the_styles_for_kokkos_comes_first(self):
        library = Path(self.installation.plugin).parent
        folder = self.folder / "lib"
        shutil.copytree(library, folder, symlinks=True, ignore=shutil.ignore_patterns("*.a"))
        self.installation.plugin = str(folder / "nvalchemi_plugin.so")
        (stamp,) = folder.glob("*_kokkos.stamp")
        without = re.sub(r"^kokkos.*$", "kokkos no", stamp.read_text(), flags=re.MULTILINE)
        for name in ("libnvalchemi_lmp_0.stamp", "libnvalchemi_lmp_z.stamp"):
            (folder / name).write_text(without)  # its library cannot be opened
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]

        self.kokkos_run(structure, self.kokkos_settings(archive, 1), ["run 0"])

        stamp.unlink()
        run = self.run_input(self.script(structure, self.plain_settings(archive, 1), ["run 0"]), 1)
        self.assertRegex(one_line(run.message), r"cannot open .*libnvalchemi_lmp_[0z]\.so")


class Refusals(KokkosTest):
    def refuse(self, settings, arguments, *parts):
        structure = model("toy_index_add").case("nacl64")[0]
        self.write_structure(structure)
        run = self.run_input(self.script(structure, settings, ["run 0"]), 1, arguments=arguments)
        self.assertNotEqual(run.status, 0)
        for part in parts:
            self.assertIn(part, one_line(run.message))

    def test_without_kokkos(self):
        settings = self.kokkos_settings(model("toy_index_add"), 1)
        self.refuse(settings, [], "got a run without Kokkos", "'-k on'")

    def test_another_gpu_than_that_of_kokkos(self):
        if not GPUS:
            self.skipTest("needs a GPU")
        settings = self.kokkos_settings(model("toy_index_add"), 1, pair_arguments="device cpu")
        self.refuse(
            settings,
            kokkos_arguments(settings),
            "keyword device: got 'cpu', expected auto or cuda",
            "nvalchemi/kk/host",
        )

    def test_an_energy_that_is_not_finite(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        structure.positions[1] = structure.positions[0]
        settings = self.kokkos_settings(archive, 1)
        self.write_structure(structure)
        run = self.run_input(
            self.script(structure, settings, ["run 0"]), 1, arguments=kokkos_arguments(settings)
        )
        self.assertNotEqual(run.status, 0)
        self.assertRegex(one_line(run.message), r"(energy|force) of atom \d+ .* is not finite")


if __name__ == "__main__":
    if not os.environ.get("NVALCHEMI_KOKKOS_LAMMPS"):
        print("SKIPPED: no LAMMPS with KOKKOS (set NVALCHEMI_KOKKOS_LAMMPS)")
        sys.exit(SKIPPED)
    main()
