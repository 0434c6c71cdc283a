# SPDX-License-Identifier: GPL-2.0-only
"""What a model returns beside energies and forces: checked, and refused where it is missing."""

import numpy as np
from own_models import write_pair_model
from suite import LammpsTest, main, model, one_line

# Not numbers where a pair is closer than 2 Angstrom.
DOUBT = "torch.sqrt(torch.sub(r, 2.))"
VIRIAL = (
    "w = torch.sum(torch.mul(torch.unsqueeze(v, 2), torch.unsqueeze(v, 1)), [0])",
    f'torch._set_item(out, "virial", torch.add(w, torch.sum({DOUBT})))',
)
VIRIAL_OUTPUT = {"virial": {"role": "virial", "kind": "per_graph", "shape": "(3,3)"}}
RATIO = (f'torch._set_item(out, "ratio", torch.index_add(zero, 0, i, {DOUBT}))',)
DIRECT = (
    "zeros = torch.stack([zero, zero, zero], 1)",
    "force = torch.index_add(zeros, 0, i, torch.mul(v, torch.unsqueeze(pair, 1)))",
    'torch._set_item(out, "forces", force)',
)
DIRECT_OUTPUT = {"forces": {"role": "forces", "kind": "per_node", "shape": "(rows,3)"}}
RATIO_OUTPUT = {"ratio": {"role": "other", "kind": "per_node", "shape": "(rows)"}}


class NotFinite(LammpsTest):
    def setUp(self):
        super().setUp()
        self.structure = model("toy_index_add").case("nacl64")[0]

    def run_model(self, name, extra, outputs, lines, close):
        archive = write_pair_model(self.folder, name, extra, outputs)
        if close:
            self.structure.positions[0] = self.structure.positions[1] + [1.9, 0.0, 0.0]
        settings = model("toy_index_add").settings(
            ranks=2,
            pair_lines=("pair_style nvalchemi selftest no", f'pair_coeff * * "{archive}" Na Cl'),
        )
        self.write_structure(self.structure)
        return self.run_input(self.script(self.structure, settings, lines), 2)

    def stops(self, run, *texts):
        self.assertNotIn(run.status, (0, None), run.message)
        for text in texts:
            self.assertIn(text, " ".join(run.message.split()))

    def test_per_atom_output_that_somebody_reads(self):
        lines = ["fix ratio all pair 1 nvalchemi ratio 0", "run 0"]
        self.run_model("ratio", RATIO, RATIO_OUTPUT, lines, close=False).require_success()
        run = self.run_model("ratio", RATIO, RATIO_OUTPUT, lines, close=True)
        self.stops(run, "per-atom output 'ratio' is not finite", "rank ")

    def test_per_atom_output_that_nobody_reads(self):
        run = self.run_model("ratio", RATIO, RATIO_OUTPUT, ["run 0"], close=True)
        self.assertEqual(run.status, 0, run.message)

    def test_virial_of_the_model(self):
        run = self.run_model("virial", VIRIAL, VIRIAL_OUTPUT, ["run 0"], close=False)
        run.require_success()
        run = self.run_model("virial", VIRIAL, VIRIAL_OUTPUT, ["run 0"], close=True)
        self.stops(run, "the virial that the model returns is not finite")


class NoPressure(LammpsTest):
    """A model that returns forces of its own and no virial."""

    def run_model(self, lines):
        archive = write_pair_model(
            self.folder, "direct", DIRECT, DIRECT_OUTPUT, forces="model", expected_exchanges=0
        )
        structure = model("toy_index_add").case("nacl64")[0]
        settings = model("toy_index_add").settings(
            ranks=2, pair_lines=("pair_style nvalchemi", f'pair_coeff * * "{archive}" Na Cl')
        )
        self.write_structure(structure)
        return self.run_input(self.script(structure, settings, lines), 2)

    def test_runs_where_none_is_wanted(self):
        lines = ["thermo_style custom step pe", "fix move all nve", "thermo 1", "run 3"]
        run = self.run_model(lines)
        self.assertEqual(run.status, 0, run.message)

    def test_is_no_number_where_it_is_printed(self):
        lines = ["thermo_style custom step press", "fix move all nve", "thermo 1", "run 2"]
        run = self.run_model(lines).require_success()
        self.assertEqual(run.log.split("Press")[1].split("Loop")[0].split()[1::2], ["nan"] * 3)
        self.assertIn("gives no virial: a pressure in thermo output is nan", one_line(run.log))

    def test_is_refused_where_it_is_used(self):
        for lines, text in (
            (["fix box all box/relax iso 0.0", "minimize 0 0 5 5"], "the pressure is wanted"),
            (
                ["thermo_style custom step pe", "fix b all nph iso 0.0 0.0 1.0", "run 5"],
                "the pressure is wanted",
            ),
            (
                [
                    "compute s all stress/atom NULL virial",
                    "compute t all reduce sum c_s[1]",
                    "thermo_style custom step c_t",
                    "run 0",
                ],
                "per-atom virials are wanted",
            ),
        ):
            with self.subTest(lines=lines):
                run = self.run_model(lines)
                self.assertNotIn(run.status, (0, None))
                self.assertIn(text, " ".join(run.message.split()))


class NotAvailable(LammpsTest):
    """Asked for by a command, not given by the model."""

    def setUp(self):
        super().setUp()
        self.d3 = model("d3bj_pbe")
        self.structure = self.d3.case("nacl64")[0]

    def test_output_that_the_card_does_not_declare(self):
        self.write_structure(self.structure)
        lines = ["fix spin all pair 1 nvalchemi spin 0", "run 0"]
        run = self.run_input(self.script(self.structure, self.d3.settings(ranks=2), lines), 2)
        self.assertNotEqual(run.status, 0)
        self.assertIn("spin", run.message)

    def test_declared_output_is_that_of_one_rank(self):
        for ranks in (1, 2):
            lines = [
                "fix cn all pair 1 nvalchemi coordination_numbers 0",
                "compute least all reduce min f_cn",
                "thermo_style custom step c_least",
                "run 0",
            ]
            run = self.run_structure(self.structure, self.d3.settings(ranks=ranks), lines)
            value = float(run.log.split("c_least")[-1].split()[1])
            self.assertTrue(np.isfinite(value) and value > 1.0)


if __name__ == "__main__":
    main()
