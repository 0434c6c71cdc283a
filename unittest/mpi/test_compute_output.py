# SPDX-License-Identifier: GPL-2.0-only
"""compute nvalchemi/output: further outputs of atoms and of the system, and each refusal."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
from own_models import write_pair_model
from simulation import read_thermo, vectors
from structure import to_restricted_frame
from suite import LammpsTest, main, model, one_line

EWALD = Path(__file__).resolve().parents[2] / "examples" / "lammps" / "coulomb" / "ewald.pt"
EXTRA = (
    'torch._set_item(out, "reach", torch.index_add(zero, 0, i, torch.mul(r, r)))',
    "zeros = torch.stack([zero, zero, zero], 1)",
    "flow = torch.index_add(zeros, 0, i, torch.mul(v, torch.unsqueeze(pair, 1)))",
    'torch._set_item(out, "flow", flow)',
    'torch._set_item(out, "bonds", torch.sum(pair))',
    'torch._set_item(out, "moment", torch.sum(torch.mul(v, v), [0]))',
)
OUTPUTS = {
    "reach": {"role": "other", "kind": "per_node", "shape": "(rows)"},
    "flow": {"role": "other", "kind": "per_node", "shape": "(rows,3)"},
    "bonds": {"role": "other", "kind": "per_graph", "shape": "()"},
    "moment": {"role": "other", "kind": "global", "shape": "(3)"},
}
COMPUTES = [f"compute {key} all nvalchemi/output {key}" for key in ("energies", *OUTPUTS)]
FIXES = [f"fix {key} all pair 1 nvalchemi {key} 0" for key in ("energy", "reach", "flow")]
FROM_FIX = "f_energy f_reach f_flow[1] f_flow[2] f_flow[3]"
FROM_COMPUTE = "c_energies c_reach c_flow[1] c_flow[2] c_flow[3]"
OF_SYSTEM = "c_bonds c_moment[1] c_moment[2] c_moment[3]"


class OutputTest(LammpsTest):
    def setUp(self):
        super().setUp()
        self.structure = to_restricted_frame(model("toy_index_add").case("nacl64")[0])
        self.archive = write_pair_model(self.folder, "outputs", EXTRA, OUTPUTS)
        self.pair = ("pair_style nvalchemi", f'pair_coeff * * "{self.archive}" Na Cl')

    def input(self, lines, pair_lines=None, **options):
        settings = model("toy_index_add").settings(pair_lines=pair_lines or self.pair, **options)
        self.write_structure(self.structure)
        all_digits = "thermo_modify format float %.17g"  # thermo_style forgets it
        lines = [
            f"{line}\n{all_digits}" if line.startswith("thermo_style") else line for line in lines
        ]
        return self.script(self.structure, settings, lines)

    def run_lines(self, lines, ranks=2, environment=None, pair_lines=None, **options):
        script = self.input(lines, pair_lines, **options)
        return self.run_input(script, ranks, environment=environment)

    def alone(self):
        """{key: values} of the archive without LAMMPS, and its atomic energies."""
        case = self.folder / "case.json"
        case.write_text(json.dumps(self.structure.to_document()))
        done = subprocess.run(
            [self.installation.evaluate, "--archive", self.archive, "--structure", case],
            env=self.installation.environment(1),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        found = json.loads(done.stdout)
        return {"energies": found["energies"], **found["outputs"]}


class Values(OutputTest):
    dump = (
        f"dump out all custom 1 out.dump id {FROM_FIX} {FROM_COMPUTE}",
        "dump_modify out sort id format float %.17g",
    )

    def check(self, ranks, expected, environment=None, **options):
        lines = [*COMPUTES, *FIXES, *self.dump, f"thermo_style custom step {OF_SYSTEM}"]
        run = self.run_lines([*lines, "run 0"], ranks, environment, **options)
        run.require_success()
        (found,) = self.snapshots("out.dump")
        computed = vectors(found, FROM_COMPUTE)
        self.assertTrue(np.all(computed == vectors(found, FROM_FIX)))
        self.assert_close(computed[:, 0], expected["energies"], note="energies")
        self.assert_close(computed[:, 1:2], expected["reach"], note="reach")
        self.assert_close(computed[:, 2:], expected["flow"], note="flow")
        (thermo,) = read_thermo(run.log)
        names = OF_SYSTEM.split()
        system = [thermo[name][0] for name in names]
        self.assert_close(system, [*expected["bonds"], *expected["moment"]], note="of the system")

    def test_are_those_of_fix_pair_and_of_the_archive_alone(self):
        expected = self.alone()
        for ranks, newton in ((1, "on"), (2, "off"), (3, "on"), (4, "off")):
            with self.subTest(ranks=ranks, newton=newton):
                self.check(ranks, expected, newton=newton)

    def test_outputs_of_other_atoms_are_seen(self):
        expected = self.alone()
        with self.assertRaisesRegex(AssertionError, "reach: got a difference"):
            self.check(2, expected, {"NVALCHEMI_FAULT": "mix_outputs"})

    def test_follow_the_atoms_of_a_run(self):
        lines = [
            *COMPUTES,
            *FIXES,
            f"dump out all custom 5 out.dump id {FROM_FIX} {FROM_COMPUTE}",
            "dump_modify out sort id format float %.17g",
            "velocity all create 3000 4928459",
            "neigh_modify every 2 delay 0 check no",
            "compute sum all reduce sum c_energies c_reach",
            "variable twice equal 2*c_bonds",
            "fix average all ave/time 1 2 2 c_bonds v_twice c_moment[2] file average.txt "
            'format " %.17g"',
            "thermo_style custom step pe c_sum[1] c_sum[2] c_bonds v_twice f_average[1]",
            "thermo 2",
            "fix move all nve",
            "run 10",
            "run 2",
        ]
        run = self.run_lines(lines, 3).require_success()
        snapshots = self.snapshots("out.dump")
        for found in snapshots:
            self.assertTrue(np.all(vectors(found, FROM_COMPUTE) == vectors(found, FROM_FIX)))
        moved = snapshots[0]["c_reach"] - snapshots[-1]["c_reach"]
        self.assertGreater(np.min(abs(moved)), 1e-6)
        for thermo in read_thermo(run.log):
            self.assert_close(thermo["c_sum[1]"], thermo["PotEng"])
            self.assert_close(thermo["c_bonds"], thermo["PotEng"])  # all energy is of pairs
            self.assert_close(thermo["v_twice"], 2 * thermo["c_bonds"])
        rows = [line.split() for line in (self.folder / "average.txt").read_text().splitlines()[2:]]
        self.assert_close([float(row[2]) for row in rows], [2 * float(row[1]) for row in rows])

    def test_are_there_after_the_model_is_read_again(self):
        lines = [
            *COMPUTES,
            *(line[:-1] + "1" for line in FIXES),  # asked for through flags of the pair style
            *self.dump,
            "run 0",
            "undump out",
            self.pair[1],
            "reset_timestep 1",  # fix pair looks once at each step
            *(line.replace("out.dump", "again.dump") for line in self.dump),
            "run 0",
        ]
        self.run_lines(lines).require_success()
        (first,), (second,) = self.snapshots("out.dump"), self.snapshots("again.dump")
        self.assert_close(vectors(second, FROM_COMPUTE), vectors(first, FROM_COMPUTE))
        self.assertTrue(np.all(vectors(second, FROM_FIX) == vectors(second, FROM_COMPUTE)))
        self.assertTrue(np.all(vectors(second, FROM_COMPUTE)[:, :2] != 0.0))

    def test_minimization_prints_those_of_the_last_step(self):
        lines = [*COMPUTES, "thermo_style custom step pe c_bonds", "minimize 0 0 3 20"]
        (thermo,) = read_thermo(self.run_lines(lines).require_success().log)
        self.assert_close(thermo["c_bonds"], thermo["PotEng"])
        self.assertLess(thermo["c_bonds"][-1], thermo["c_bonds"][0])

    def test_are_zero_outside_of_the_group_and_for_types_of_other_styles(self):
        lines = [
            "group half id <= 32",
            *(line.replace(" all ", " half ") for line in COMPUTES),
            f"dump out all custom 1 out.dump id type {FROM_COMPUTE}",
            "dump_modify out sort id",
            "thermo_style custom step c_bonds pe",
            "run 0",
        ]
        pair = (
            "pair_style hybrid/overlay nvalchemi zero 5.0",
            f'pair_coeff * * nvalchemi "{self.archive}" Na NULL',
            "pair_coeff * * zero",
        )
        run = self.run_lines(lines, 2, pair_lines=pair).require_success()
        (found,) = self.snapshots("out.dump")
        given = (found["id"] <= 32) & (found["type"] == 1)
        values = vectors(found, FROM_COMPUTE)
        self.assertTrue(np.all(values[~given] == 0.0))
        self.assertTrue(np.all(values[given] != 0.0))
        (thermo,) = read_thermo(run.log)
        self.assert_close(thermo["c_bonds"], thermo["PotEng"])  # whatever the group

    def test_energies_are_in_the_units_of_lammps(self):
        for units, factor in (("metal", 1.0), ("real", 23.060549)):
            lines = [
                *COMPUTES,
                "compute sum all reduce sum c_energies",
                "thermo_style custom step pe c_sum c_bonds",
                "run 0",
            ]
            (thermo,) = read_thermo(self.run_lines(lines, units=units).require_success().log)
            with self.subTest(units=units):
                self.assert_close(thermo["c_sum"], thermo["PotEng"])
                self.assert_close(thermo["c_sum"], factor * thermo["c_bonds"], 1e-7)


class Instances(OutputTest):
    """Two models under hybrid/overlay, of which the second is the toy network."""

    def setUp(self):
        super().setUp()
        self.pair = (
            "pair_style hybrid/overlay nvalchemi nvalchemi",
            f'pair_coeff * * nvalchemi 1 "{self.archive}" Na Cl',
            f'pair_coeff * * nvalchemi 2 "{model("toy_index_add").archive}" Na Cl',
        )

    def test_are_chosen_by_their_number(self):
        lines = [
            "compute one all nvalchemi/output energy instance 1",
            "compute two all nvalchemi/output energy instance 2",
            "compute bonds all nvalchemi/output bonds instance 1",
            "compute sum all reduce sum c_one c_two",
            "thermo_style custom step pe c_sum[1] c_sum[2] c_bonds",
            "run 0",
        ]
        (thermo,) = read_thermo(self.run_lines(lines).require_success().log)
        self.assert_close(thermo["c_sum[1]"], thermo["c_bonds"])
        self.assert_close(thermo["c_sum[1]"] + thermo["c_sum[2]"], thermo["PotEng"])
        self.assertGreater(abs(thermo["c_sum[2]"][0]), 1e-3)

    def test_must_be_said_and_must_exist(self):
        for words, text in (
            ("energy", "got several pair styles nvalchemi in pair_style hybrid/overlay, expected"),
            ("energy instance 3", "got instance 3, expected the number of one of the pair styles"),
            ("bonds instance 2", "got output bonds, expected one that the model card declares"),
        ):
            with self.subTest(words=words):
                run = self.run_lines([f"compute c all nvalchemi/output {words}", "run 0"])
                self.assertNotIn(run.status, (0, None))
                self.assertIn(f"compute nvalchemi/output: {text}", one_line(run.message))


class Refusals(OutputTest):
    def refused(self, lines, *texts, **options):
        run = self.run_lines(lines, **options)
        self.assertNotIn(run.status, (0, None), run.output[-500:])
        for text in texts:
            self.assertIn(text, one_line(run.message))

    def test_of_words(self):
        for words, text in (
            ("", "got no output, expected 'compute ID group nvalchemi/output KEY'"),
            ("bonds every 5", "got keyword every, expected instance"),
            ("bonds instance", "keyword instance: got no value, expected one"),
            ("bonds instance 0", "keyword instance: got 0, expected a number from 1 on"),
            (
                "spin",
                "got output spin, expected one that the model card declares (energy, flow, reach, "
                "bonds, moment)",
            ),
        ):
            with self.subTest(words=words):
                lines = [f"compute c all nvalchemi/output {words}", "run 0"]
                self.refused(lines, f"compute nvalchemi/output: {text}")

    def test_of_what_lammps_has_itself(self):
        direct = (*EXTRA[1:3], 'torch._set_item(out, "push", flow)')
        outputs = {"push": {"role": "forces", "kind": "per_node", "shape": "(rows,3)"}}
        archive = write_pair_model(
            self.folder, "direct", direct, outputs, forces="model", expected_exchanges=0
        )
        pair = ("pair_style nvalchemi", f'pair_coeff * * "{archive}" Na Cl')
        self.refused(
            ["compute c all nvalchemi/output push", "run 0"],
            "got output push, which the pair style adds to LAMMPS's own energy, forces or "
            "pressure, expected another output (energy); use compute pair",
            pair_lines=pair,
        )

    def test_without_a_model(self):
        compute = "compute c all nvalchemi/output bonds"
        self.refused(
            [compute, "run 0"], "got pair_style zero, expected", pair_lines=("pair_style zero 5.0",)
        )
        self.refused(
            [compute, "run 0"],
            "got a pair style nvalchemi without a model",
            "give pair_coeff before the compute",
            pair_lines=("pair_style nvalchemi",),
        )

    def test_after_the_pair_style_is_gone(self):
        lines = [*COMPUTES, "run 0", "pair_style zero 5.0", "pair_coeff * *", "run 0"]
        self.refused(lines, "got pair_style zero, expected nvalchemi, alone or under")

    def test_after_a_model_with_other_values(self):
        narrow = {**OUTPUTS, "flow": {"role": "other", "kind": "per_node", "shape": "(rows)"}}
        extra = (EXTRA[0], EXTRA[0].replace("reach", "flow"), *EXTRA[4:])
        archive = write_pair_model(self.folder, "narrow", extra, narrow)
        lines = [*COMPUTES, "run 0", f'pair_coeff * * "{archive}" Na Cl', "run 0"]
        self.refused(
            lines,
            "got a model whose output flow has 1 values per atom, expected 3 per atom as when "
            "compute flow was defined; define it again after pair_coeff",
        )

    def test_of_values_that_are_not_of_this_step(self):
        for change, text in (
            (
                "reset_timestep 7",
                "output bonds is wanted at step 7: got one of step 0, expected an",
            ),
            (self.pair[1], "output bonds is wanted at step 0: got no evaluation of it yet"),
        ):
            with self.subTest(change=change):
                lines = [*COMPUTES, "run 0", change, 'print "$(c_bonds)"']
                self.refused(lines, text, "or put 'run 0' before")

    def test_before_the_forces_of_a_step(self):
        lines = [
            *COMPUTES,
            "variable v atom c_reach*0.0",
            "fix move all move variable NULL NULL NULL v_v v_v v_v",
            "run 1",
        ]
        self.refused(lines, "output reach is wanted at step 1: got one of step 0")

    def test_after_atoms_have_changed(self):
        half = 0.5 * self.structure.cell[2, 2]
        for change in (
            "group some id <= 40\ndelete_atoms group some compress no",
            "group one id 1\ndelete_atoms group one compress no\ncreate_atoms 2 single 1.0 1.0 1.0",
            f"displace_atoms all move 0 0 {half} units box",
            "set atom 3 type 2",
        ):
            with self.subTest(change=change):
                lines = [*COMPUTES, "run 0", change, "write_dump all custom late.dump id c_reach"]
                self.refused(
                    lines,
                    "output reach: got other atoms, types or charges than the latest evaluation of "
                    "the pair style had, expected the same; where a command between runs has "
                    "changed them, put 'run 0' before",
                )

    def test_after_a_trial_of_another_compute(self):
        """compute fep evaluates the pair style with other charges."""
        ions = {"Na": 1.0, "Cl": -1.0}
        charges = tuple(ions[symbol] for symbol in self.structure.symbols)
        self.structure = replace(self.structure, charges=charges)
        ewald = ("pair_style nvalchemi", f'pair_coeff * * "{EWALD}" Na Cl')
        lines = [
            "compute energies all nvalchemi/output energy",
            "compute sum all reduce sum c_energies",
            "variable more equal 0.2",
            "compute trial all fep 300.0 atom charge 1 v_more",
        ]
        before = [*lines, "thermo_style custom step pe c_sum c_trial[1]", "run 0"]
        row = read_thermo(self.run_lines(before, pair_lines=ewald).require_success().log)[-1]
        self.assertAlmostEqual(row["c_sum"], row["PotEng"], places=9)
        after = [*lines, "thermo_style custom step pe c_trial[1] c_sum", "run 0"]
        self.refused(
            after,
            "where another compute tries some (as compute fep does), name compute energies before",
            pair_lines=ewald,
        )

    def test_of_a_system_that_ranks_disagree_about(self):
        lines = [*COMPUTES, "thermo_style custom step c_bonds", "run 0"]
        fault = {"NVALCHEMI_FAULT": "mix_outputs@1"}
        self.refused(lines, "output bonds is", "expected the same on all", environment=fault)
        self.run_lines(lines, environment={}).require_success()

    def test_of_values_that_are_not_finite(self):
        doubt = (
            "doubt = torch.sqrt(torch.sub(torch.detach(r), 4.))",
            'torch._set_item(out, "doubt", torch.sum(doubt))',
        )
        outputs = {"doubt": {"role": "other", "kind": "per_graph", "shape": "()"}}
        archive = write_pair_model(self.folder, "doubt", doubt, outputs)
        pair = ("pair_style nvalchemi selftest no", f'pair_coeff * * "{archive}" Na Cl')
        self.run_lines(["run 0"], pair_lines=pair).require_success()
        lines = ["compute c all nvalchemi/output doubt", "run 0"]
        self.refused(lines, "output 'doubt' is not finite", pair_lines=pair)


if __name__ == "__main__":
    main()
