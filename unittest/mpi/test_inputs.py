# SPDX-License-Identifier: GPL-2.0-only
"""Inputs that a model author names: from constants, properties of atoms, variables, computes and
fixes, on any number of ranks the values that nvalchemi-evaluate gets from a case."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import scripted
from named_inputs import (
    BAR,
    BY_PROPERTY,
    BY_VARIABLE,
    CHARGE_ROLES,
    CHARGED,
    CONSTANT_FIELD,
    MAGNET,
    NAMED,
    PRINTED,
    PROPERTIES,
    VARIABLES,
    InputTest,
    inputs_of,
    named_model,
)
from simulation import read_thermo, vectors
from suite import main, one_line, replace, scripted_model


class SameNumbers(InputTest):
    def test_on_any_number_of_ranks(self):
        alone = self.alone(self.structure, self.model.settings())
        for ranks, newton in ((1, "on"), (2, "off"), (3, "on"), (4, "off")):
            found = self.decomposed(
                self.structure,
                self.settings(
                    f"{BY_VARIABLE} {CONSTANT_FIELD}",
                    ranks,
                    newton=newton,
                    selftest="yes" if ranks == 1 else "no",
                ),
            )
            with self.subTest(ranks=ranks, newton=newton):
                self.assert_same(found.reference, alone, self.structure.volume, BAR)
        # with a row for each atom of the system, and with a row for each ghost atom
        raw = self.raw_model()
        for archive, extra in ((self.model, "spec SPEC_MPNN_GP"), (raw, "")):
            words = f"{extra} {BY_VARIABLE} {CONSTANT_FIELD}"
            found = self.decomposed(self.structure, self.settings(words, 3, archive=archive))
            self.assert_same(found.reference, alone, self.structure.volume, BAR, archive.name)
        # and a wrong value is seen: one moment of one atom
        wrong = replace(self.structure, inputs=inputs_of(np.arange(1, 65)))
        wrong.inputs["moments"][17][1] += 1e-6
        other = self.alone(wrong, self.model.settings())
        self.assertGreater(np.max(np.abs(other.energies - alone.energies)), 1e-8)
        self.assertGreater(np.max(np.abs(other.forces - alone.forces)), 1e-8)

    def raw_model(self):
        roles = {**NAMED, "pos": {"role": "positions"}}
        model = named_model("magnet_raw", MAGNET, roles)
        path = Path(model.archive).with_suffix(".card.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "rows": "raw"}))
        return model

    def test_in_kokkos(self):
        executable = os.environ.get("NVALCHEMI_KOKKOS_LAMMPS")
        if not executable:
            self.skipTest("needs a LAMMPS with KOKKOS (NVALCHEMI_KOKKOS_LAMMPS)")
        alone = self.alone(self.structure, self.model.settings())
        self.installation.lammps = executable
        for ranks, words, lines in (
            (1, BY_VARIABLE, VARIABLES),
            (3, BY_PROPERTY, (*VARIABLES, *PROPERTIES)),
        ):
            words = f"device cpu {words} {CONSTANT_FIELD}"
            settings = self.settings(words, ranks, lines, style="nvalchemi/kk")
            found = self.decomposed(self.structure, settings)
            with self.subTest(ranks=ranks):
                self.assert_same(found.reference, alone, self.structure.volume, BAR)

    def test_from_every_source(self):
        sources = [
            *VARIABLES,
            *PROPERTIES,
            "compute own all property/atom d_mx d2_rest[1] d2_rest[2]",
            "compute kind all property/atom i_kind",
            "fix kept all store/state 0 d_mx d2_rest[1] d2_rest[2]",
            "variable up equal 0.7",
            "compute most all reduce max v_kind v_mx",
            "variable lifted equal c_most[1]*0.35",
            "variable seven atom 0.7",
            "compute seven all reduce max v_seven",
        ]
        by_compute = "input moments c_own[1] c_own[2] c_own[3]"
        by_fix = "input moments f_kept[1] f_kept[2] f_kept[3]"
        mixed = "input moments v_mx c_own[2] d2_rest[2]"
        words = (
            f"{BY_VARIABLE} {CONSTANT_FIELD}",
            f"{BY_PROPERTY} input field v_field[1] v_field[2] v_field[3]",
            f"{by_compute} input site c_kind input field v_one v_bad v_up",
            f"input field 0.3 -0.2 v_lifted {by_fix} input site i_kind",
            f"{mixed} input site v_kind input field 0.3 v_bad c_seven",
        )
        lines = list(PRINTED)
        for each in words:
            lines += [
                f"pair_style nvalchemi selftest no {each}",
                f'pair_coeff * * "{self.model.archive}" Na Cl',
                "run 0",
            ]
        settings = self.settings(words[0], 2, sources)
        run = self.run_structure(self.structure, settings, lines)
        energies = [table["PotEng"][0] for table in read_thermo(run.log)]
        self.assertIn(
            "nvalchemi: input 'field' (3 numbers for the system) from 0.3 -0.2 v_lifted", run.log
        )
        alone = self.alone(self.structure, self.model.settings()).energy
        self.assertEqual(len(energies), len(words))
        for energy in energies:
            self.assertLess(abs(energy - alone), 1e-10)

    def test_values_that_depend_on_the_rank_are_seen(self):
        """The negative control: what differs between ranks makes other numbers."""
        lines = (*VARIABLES, "compute rank all property/atom proc", "variable r atom c_rank+1")
        words = f"input moments v_r v_my v_mz input site v_kind {CONSTANT_FIELD}"
        one, three = (
            self.decomposed(self.structure, self.settings(words, ranks, lines)).reference.energy
            for ranks in (1, 3)
        )
        self.assertGreater(abs(one - three), 1e-3)

    def test_charges_and_total_charge(self):
        model = named_model("charged", CHARGED, CHARGE_ROLES)
        ids = np.arange(1, 65)
        given = {"charges": (np.sin(ids)).tolist(), "total_charge": 0.3}
        structure = replace(self.structure, inputs=given)
        alone = self.alone(structure, model.settings())
        words = "input charges v_mx input total_charge v_one"
        found = self.decomposed(structure, self.settings(words, 3, archive=model))
        self.assert_same(found.reference, alone, structure.volume, BAR)
        # and from atom_style charge, as without the keyword
        charged = replace(structure, charges=tuple(np.sin(ids)))
        found = self.decomposed(charged, self.settings("charge 0.3", 2, archive=model))
        self.assert_same(found.reference, alone, structure.volume, BAR)


class Steps(InputTest):
    def test_a_field_that_changes_with_time(self):
        lines = [
            "fix move all nve",
            "velocity all create 300.0 4711",
            *PRINTED,
            "thermo 1",
            "dump x all custom 1 x.dump id x y z",
            "dump_modify x sort id format float %.17g",
            "run 3",
        ]
        # a fix holds what it had at the end of the step before, and nothing yet at the first
        words = f"{BY_VARIABLE} input field v_ramp 0.0 f_last"
        ramp = (*VARIABLES, "variable ramp equal 0.2*step", "fix last all ave/time 1 1 1 v_ramp")
        run = self.run_structure(self.structure, self.settings(words, 2, ramp), lines)
        energies = read_thermo(run.log)[0]["PotEng"]
        snapshots = self.snapshots("x.dump")
        self.assertEqual([snapshot["step"] for snapshot in snapshots], [0, 1, 2, 3])
        for step, snapshot in enumerate(snapshots):
            field = (0.2 * step, 0.0, 0.2 * max(step - 1, 0))
            seen = replace(
                self.structure,
                positions=vectors(snapshot, "x y z"),
                inputs=inputs_of(np.arange(1, 65), field),
            )
            alone = self.alone(seen, self.model.settings()).energy
            self.assertLess(abs(energies[step] - alone), 1e-9, f"step {step}")

    def test_rerun_and_hybrid(self):
        """Snapshots that are read back, and a style beside another, see the same inputs."""
        ramp = (*VARIABLES, "variable ramp equal 0.2*step")
        style = f"nvalchemi selftest no {BY_VARIABLE} input field v_ramp 0.0 0.7"
        lines = [
            *PRINTED,
            "thermo 1",
            "dump x all custom 1 x.dump id x y z",
            "dump_modify x sort id format float %.17g",
            "fix move all nve",
            "run_style respa 2 2 pair 2",
            "run 2",
            "undump x",
            "run_style verlet",
            f"pair_style hybrid/overlay zero 4.0 {style}",
            "pair_coeff * * zero",
            f'pair_coeff * * nvalchemi "{self.model.archive}" Na Cl',
            "rerun x.dump dump x y z",
        ]
        settings = self.settings(style.split(maxsplit=3)[3], 2, ramp)
        run = self.run_structure(self.structure, settings, lines)
        first, again = (table["PotEng"] for table in read_thermo(run.log))
        self.assertEqual(len(first), 3)
        self.assert_close(again, first, 1e-10)
        self.assertGreater(np.ptp(first), 1e-3)

    def test_computes_that_a_run_has_not_set_up_yet(self):
        """Temperatures know their degrees of freedom, and dynamic groups their atoms, before the
        first forces of each run."""
        lines = (
            *VARIABLES,
            "set group all vx 3.0",
            "set type 1 vy -2.0",
            "variable low atom z<v_height",
            "variable height equal 3.0",
            "group low dynamic all var low every 1",
            "compute low low reduce sum v_kind",
            "variable scaled equal 0.001*temp",
        )
        words = f"{BY_VARIABLE} input field v_scaled 0.0 c_low"
        after = [
            "thermo_style custom step pe temp c_low",
            "thermo_modify format float %.17g",
            "run 0",
            "run 0",
            "group gone id 1:20",
            "delete_atoms group gone compress no",
            "variable height equal 6.0",
            "run 0",
            "run 0",
        ]
        run = self.run_structure(self.structure, self.settings(words, 2, lines), after)
        tables = read_thermo(run.log)
        energies = [table["PotEng"][0] for table in tables]
        self.assertNotEqual(tables[0]["Temp"][0], tables[2]["Temp"][0])
        self.assertNotEqual(tables[0]["c_low"][0], tables[2]["c_low"][0])
        for first, again in ((0, 1), (2, 3)):
            self.assertLess(abs(energies[first] - energies[again]), 1e-10)
        field = (0.001 * tables[0]["Temp"][0], 0.0, tables[0]["c_low"][0])
        seen = replace(self.structure, inputs=inputs_of(np.arange(1, 65), field))
        alone = self.alone(seen, self.model.settings()).energy
        self.assertLess(abs(energies[0] - alone), 1e-10)

    def test_properties_go_with_atoms_that_migrate(self):
        # the mapping of ids to values is broken on purpose, so that only the properties hold them
        lines = [
            "run 0",
            "variable mx delete",
            "neigh_modify delay 0 every 1 check yes",
            "velocity all create 20000.0 99",
            "fix move all nve",
            "fix at all store/state 0 id",
            "compute home all property/atom proc",
            "fix home all store/state 0 c_home",
            "variable moved atom c_home!=f_home",
            "compute moved all reduce sum v_moved",
            "thermo_style custom step pe c_moved",
            "thermo_modify format float %.17g",
            "timestep 0.002",
            "run 40",
            "dump x all custom 1 x.dump id x y z d_mx",
            "dump_modify x sort id format float %.17g",
            "run 0",
        ]
        words = f"{BY_PROPERTY} {CONSTANT_FIELD}"
        settings = self.settings(words, 4, (*VARIABLES, *PROPERTIES))
        run = self.run_structure(self.structure, settings, lines)
        last = read_thermo(run.log)[-1]
        self.assertGreater(last["c_moved"][0], 5)
        snapshot = self.snapshots("x.dump")[-1]
        self.assert_close(snapshot["d_mx"], np.sin(np.arange(1, 65)))
        seen = replace(self.structure, positions=vectors(snapshot, "x y z"))
        alone = self.alone(seen, self.model.settings()).energy
        self.assertLess(abs(last["PotEng"][0] - alone), 1e-9)

    def test_forces_are_slopes_at_constant_inputs(self):
        h = 1e-4
        moves = [(7, "x"), (40, "z")]
        lines = [
            *PRINTED,
            "dump f all custom 1 f.dump id fx fy fz",
            "dump_modify f sort id format float %.17g",
            "run 0",
        ]
        for atom, axis in moves:
            shift = {"x": "{} 0 0", "z": "0 0 {}"}[axis]
            lines += [f"group moved id {atom}"]
            for step in (-h, 2 * h):
                lines += [f"displace_atoms moved move {shift.format(step)} units box", "run 0"]
            lines += [f"displace_atoms moved move {shift.format(-h)} units box"]
            lines += ["group moved delete"]
        words = f"{BY_VARIABLE} {CONSTANT_FIELD}"
        run = self.run_structure(self.structure, self.settings(words, 2), lines)
        energies = [table["PotEng"][0] for table in read_thermo(run.log)]
        forces = self.snapshots("f.dump")[0]
        for k, (atom, axis) in enumerate(moves):
            slope = -(energies[2 + 2 * k] - energies[1 + 2 * k]) / (2 * h)
            self.assertLess(abs(slope - forces[f"f{axis}"][atom - 1]), 1e-6)
            self.assertGreater(abs(slope), 1e-3)

    def test_minimize_evaluates_sources_anew(self):
        """Moments that follow positions: every evaluation of a minimiser sees where atoms are."""
        lines = [
            *PRINTED,
            "min_style cg",
            "minimize 0.0 0.0 3 20",
            "dump x all custom 1 x.dump id x y z",
            "dump_modify x sort id format float %.17g",
            "run 0",
        ]
        words = f"input moments v_wave v_my v_mz input site v_kind {CONSTANT_FIELD}"
        wave = (*VARIABLES, "variable wave atom cos(2*PI*z/lz)")
        run = self.run_structure(self.structure, self.settings(words, 2, wave), lines)
        minimized, after = read_thermo(run.log)[-2:]
        positions = vectors(self.snapshots("x.dump")[-1], "x y z")
        seen = replace(self.structure, positions=positions, inputs=inputs_of(np.arange(1, 65)))
        waves = np.cos(2 * np.pi * positions[:, 2] / self.structure.cell[2, 2])
        for moment, wave in zip(seen.inputs["moments"], waves, strict=True):
            moment[0] = wave
        alone = self.alone(seen, self.model.settings()).energy
        self.assertLess(abs(minimized["PotEng"][-1] - alone), 1e-8)
        self.assertLess(abs(after["PotEng"][0] - alone), 1e-8)


class Validated(InputTest):
    def test_gathered_and_sampled(self):
        model = named_model("charged", CHARGED, CHARGE_ROLES)
        for archive, words in (
            (self.model, f"{BY_PROPERTY} input field v_one v_bad 0.7"),
            (model, "input charges v_mx input total_charge v_one"),
        ):
            lines = [
                "fix whole all nvalchemi/validate",
                "fix sampled all nvalchemi/validate mode sampled sample 4 force_room 800",
                "run 0",
            ]
            settings = self.settings(words, 3, (*VARIABLES, *PROPERTIES), archive=archive)
            log = self.run_structure(self.structure, settings, lines).log
            with self.subTest(model=archive.name):
                self.assertNotIn("DIFFERENT", log)
                self.assertIn("sampled", log)

    def test_values_that_do_not_reach_other_ranks_are_seen(self):
        """The negative control: the first exchange, which brings values to halo rows, is lost."""
        for mode in ("", "mode sampled sample 4 force_room 800"):
            self.write_structure(self.structure)
            lines = [f"fix check all nvalchemi/validate {mode}", "run 0"]
            settings = self.settings(f"{BY_VARIABLE} {CONSTANT_FIELD}", 3)
            run = self.run_input(
                self.script(self.structure, settings, lines),
                3,
                environment={"NVALCHEMI_FAULT": "drop_forward#1"},
            )
            with self.subTest(mode=mode):
                self.assertNotIn(run.status, (0, None))
                self.assertIn("DIFFERENT", run.output)

    def test_written_input_gives_the_same_energy(self):
        words = f"{BY_VARIABLE} input field v_one v_bad 0.7"
        lines = [*PRINTED, "nvalchemi/write seen", "run 0"]
        run = self.run_structure(self.structure, self.settings(words, 2), lines)
        header, first = (self.folder / "seen.extxyz").read_text().splitlines()[1:3]
        self.assertIn(":input_moments:R:3:input_site:R:1", header)
        self.assertIn('input_field="0.29999999999999999 -0.20000000000000001', header)
        self.assertEqual(len(first.split()), 9 + 4)
        energy = float(header.split("energy=")[1].split()[0])
        words = ("--archive", self.model.archive, "--structure", "seen.extxyz")
        done = self.tool("evaluate", *words)
        self.assertLess(abs(json.loads(done)["energy"] - energy), 1e-10)
        self.assertIn("passed", self.tool("validate", *words, "--ranks", "4").lower())
        self.assertLess(abs(read_thermo(run.log)[-1]["PotEng"][0] - energy), 1e-10)

    def tool(self, name, *words):
        """What nvalchemi-NAME writes."""
        command = [str(Path(self.installation.evaluate).with_name(f"nvalchemi-{name}")), *words]
        environment = self.installation.environment(1)
        done = subprocess.run(
            command, cwd=self.folder, env=environment, text=True, capture_output=True, timeout=120
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_deviation_gives_all_models_the_inputs(self):
        lines = [
            f'fix dev all nvalchemi/deviation 1 "{self.model.archive}"',
            "thermo_style custom step pe f_dev[1]",
            "run 0",
        ]
        settings = self.settings(f"{BY_VARIABLE} {CONSTANT_FIELD}", 2)
        run = self.run_structure(self.structure, settings, lines)
        self.assertEqual(read_thermo(run.log)[0]["f_dev[1]"][0], 0.0)
        plain = scripted_model("two_layers", scripted.TWO_LAYERS, 1)
        lines[0] = f'fix dev all nvalchemi/deviation 1 "{self.model.archive}"'
        run = self.run_input(self.script(self.structure, plain.settings(ranks=2), lines), 2)
        self.assertNotIn(run.status, (0, None))
        self.assertIn("got inputs 'moments' (3 numbers for each atom, mu_B)", one_line(run.message))


if __name__ == "__main__":
    main()
