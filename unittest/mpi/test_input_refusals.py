# SPDX-License-Identifier: GPL-2.0-only
"""What is refused of a model's inputs and their sources, on all ranks and with a line to write."""

from named_inputs import BY_VARIABLE, MAGNET, NAMED, VARIABLES, InputTest, named_model
from suite import main, one_line


class Refusals(InputTest):
    def refused(self, words, *texts, lines=VARIABLES, after=("run 0",), ranks=2, **options):
        self.write_structure(self.structure)
        settings = self.settings(words, ranks, lines, **options)
        run = self.run_input(self.script(self.structure, settings, after), ranks, timeout=60)
        with self.subTest(words=words):
            self.assertNotIn(run.status, (0, None), run.message)
            for text in texts:
                self.assertIn(text, one_line(run.message))

    def test_at_pair_coeff(self):
        self.refused(
            "input field 0 0 1",
            "takes the input 'moments' (3 numbers for each atom, mu_B), which has no source. "
            "Write 'pair_style nvalchemi input moments SOURCE SOURCE SOURCE', each "
            "a number, q, d_NAME",
        )
        self.refused(
            f"{BY_VARIABLE} input spin 1",
            "keyword input: got 'spin', expected an input of model 'scripted': 'moments' (3 "
            "numbers for each atom, mu_B), 'site' (1 whole number for each atom), 'field' (3 "
            "numbers for the system)",
        )
        self.refused(
            "input moments v_mx v_my",
            "keyword input moments: got 2 sources, expected 3 for 'moments'",
        )
        self.refused(
            f"{BY_VARIABLE} input field q 0 0",
            "keyword input field: q: got a property of atoms, expected a number, v_NAME of style "
            "equal",
        )
        self.refused(
            "input moments 0 0 1 input site 0.5",
            "keyword input site: 0.5: got 0.500000, expected a whole number",
        )

    def test_at_the_start_of_a_run(self):
        for source, text in (
            ("v_none", "v_none: got no variable 'none', expected one; define it before the run"),
            ("v_one", "v_one: got a variable of another style, expected a number, q, d_NAME"),
            ("d_none", "d_none: got no such property of atoms, expected one that fix property/a"),
            ("c_none", "c_none: got no compute 'none', expected one"),
            ("f_none", "f_none: got no fix 'none', expected one"),
            ("q", "q: got atom_style atomic, expected one with charges"),
            ("c_thermo_temp", "got a compute without values of atoms, expected a number, q"),
            ("c_place", "got 2 values of each atom, expected one; add [i]"),
            ("c_place[3]", "got column 3 of 2, expected one that exists"),
        ):
            lines = (*VARIABLES, "compute place all property/atom x y")
            self.refused(f"input moments 0 0 {source}", text, lines=lines)
        for source, text in (
            (
                "v_mx",
                "v_mx: got a variable of another style, expected a number, v_NAME of style eq",
            ),
            ("c_place[1]", "got a compute without a global vector, expected a number"),
            ("c_thermo_pe", "c_thermo_pe: got energies or a pressure of this step, expected what"),
            ("v_energy", "v_energy: got energies or a pressure of this step, expected what is"),
        ):
            lines = (
                *VARIABLES,
                "compute place all property/atom x y",
                "variable energy equal c_thermo_pe",
            )
            self.refused(f"input moments 0 0 1 input field 0 0 {source}", text, lines=lines)

    def test_values(self):
        after = ("thermo 1", "fix move all nve", "run 3")
        self.refused(
            "input moments 0 0 1 input field 0 0 v_late",
            "keyword input field: v_late: got inf, expected a finite number",
            lines=(*VARIABLES, "variable late equal exp(1000*(step>1))"),
            after=after,
        )
        self.refused(
            "input moments 0 0 v_root",
            "keyword input moments: v_root: got inf for atom 64, expected a finite number",
            lines=(*VARIABLES, "variable root atom exp(1000*(id>63))"),
            ranks=3,
        )
        self.refused(
            "input moments 0 0 1 input site v_half",
            "keyword input site: v_half: got 0.500000 for atom 64, expected a whole number, since",
            lines=(*VARIABLES, "variable half atom 0.5*(id>63)"),
            ranks=3,
        )
        self.refused(
            "input moments 0 0 1 input site v_many",
            "keyword input site: v_many: got 10000000000000000000.000000 for atom 64, expected a "
            "whole number of at most 9007199254740992, since the model takes integers",
            lines=(*VARIABLES, "variable many atom 1e19*(id>63)"),
        )
        single = named_model("magnet_single", MAGNET, NAMED, "float32")
        self.refused(
            "input moments 0 0 1 input field 0 0 1e39",
            ".000000, expected a number that float32 holds, since the model computes in it",
            archive=single,
        )

    def test_its_own_output_of_the_evaluation_before(self):
        after = (
            "compute own all nvalchemi/output energy",
            "run 0",
            "variable mz delete",
            "variable mz atom c_own",
            "run 0",
        )
        self.refused(
            BY_VARIABLE,
            "output energy is wanted at step 0: got no evaluation of it yet, expected an",
            after=after,
        )

    def test_what_has_gone_since_the_set_up(self):
        lines = (
            *VARIABLES,
            "compute own all property/atom id",
            "fix kept all store/state 0 id",
            "fix move all nve",
        )
        for source, commands, text in (
            ("c_own", ["uncompute own"], "c_own: got no compute 'own', expected one"),
            ("f_kept", ["unfix kept"], "f_kept: got no fix 'kept', expected one"),
            ("v_mz", ["variable mz delete"], "v_mz: got no variable 'mz', expected one"),
            (
                "v_mz",
                ["variable mz delete", "variable mz equal 1"],
                "v_mz: got a variable of another style, expected a number, q",
            ),
            (
                "c_own",
                ["uncompute own", "compute own all property/atom id"],
                "c_own: got a compute that has not been set up, expected one from before; leave "
                "out 'pre no'",
            ),
        ):
            after = ("run 1", *commands, "run 1 pre no")
            self.refused(f"input moments 0 0 {source}", text, lines=lines, after=after)


if __name__ == "__main__":
    main()
