# SPDX-License-Identifier: GPL-2.0-only
"""The example whose charges are equilibrated in every pass: a table of neighbours, the preset
SPEC_AIMNET2_HALO, and a total charge from the input."""

import json
import shutil
from dataclasses import dataclass

import numpy as np
import scripted
import test_finite_differences
from comparison import read_sums
from installation import REPOSITORY
from simulation import read_thermo, vectors
from structure import to_restricted_frame
from suite import LONG, LammpsTest, Model, main, one_line, scripted_model

FOLDER = REPOSITORY / "examples" / "lammps" / "charge_equilibration"
PRESETS = REPOSITORY / "spec" / "presets"
EPSILON = np.finfo(float).eps
BARS = {"dE": 1e-9, "dEatom": 1e-9, "dF": 1e-9, "dS": 1e-10}


@dataclass(frozen=True)
class Charged(Model):
    """A model in a system of a given total charge."""

    total_charge: float = 0.0

    def settings(self, **options):
        words = f"charge {self.total_charge:.17g} {options.pop('words', '')}"
        return super().settings(
            pair_arguments=words,
            alone_arguments=("--charge", f"{self.total_charge:.17g}"),
            **options,
        )


def network(total_charge=0.0):
    archive = FOLDER / "charge_equilibration.pt"
    # one exchange and one sum for each pass that changes charges
    return Charged("charge_equilibration", str(archive), 6.0, 2, None, total_charge)


def tilted(structure):
    shear = np.eye(3)
    shear[1, 0], shear[2, 0], shear[2, 1] = 0.17, -0.11, 0.09
    return type(structure)(
        structure.symbols, structure.positions @ shear, structure.cell @ shear, structure.periodic
    )


def orthogonal(structure):
    return type(structure)(
        structure.symbols,
        structure.positions @ np.linalg.inv(structure.cell) @ np.diag(np.diag(structure.cell)),
        np.diag(np.diag(structure.cell)),
        structure.periodic,
    )


def parts():
    """(box, ranks) to run: all of them in the long tier."""
    few = (("orthogonal", 4), ("tilted", 3))
    return [(box, n) for box in boxes() for n in (1, 2, 3, 4) if LONG or (box, n) in few]


def boxes():
    crystal = to_restricted_frame(scripted.crystal("nacl64"))
    return {"orthogonal": orthogonal(crystal), "tilted": tilted(crystal)}


class ChargeEquilibration(LammpsTest):
    def outputs(self, structure, settings, step=0):
        """Charges (atoms,) and those after each pass (atoms, passes), by atom id."""
        run = self.run_structure(
            structure,
            settings,
            [
                "fix q all pair 1 nvalchemi charges 0",
                "fix passes all pair 1 nvalchemi pass_charges 0",
                "dump q all custom 1 q.dump id f_q f_passes[1] f_passes[2]",
                "dump_modify q sort id format float %.17g",
                "fix move all nve",
                f"run {step}",
            ],
        )
        last = self.snapshots("q.dump")[-1]
        return last["f_q"], vectors(last, "f_passes[1] f_passes[2]"), run.log

    def test_numbers_do_not_depend_on_ranks(self):
        model = network(1.0)
        for shape, ranks in parts():
            structure = boxes()[shape]
            alone = self.alone(structure, model.settings())
            with self.subTest(box=shape, ranks=ranks):
                found = self.decomposed(structure, model.settings(ranks=ranks))
                self.assert_within(found.reference, alone, structure.volume, BARS)
                self.assertEqual(found.exchanges, {"forward": 2, "backward": 2})
                self.assertEqual(read_sums(found.log), 4)  # two forward, two backward

    def test_charges_add_up_after_each_pass(self):
        structure = boxes()["tilted"]
        for total in (0.0, 1.0, -2.5) if LONG else (-2.5,):
            for ranks in (1, 3) if LONG else (3,):
                with self.subTest(total=total, ranks=ranks):
                    q, passes, _ = self.outputs(structure, network(total).settings(ranks=ranks), 2)
                    self.assertTrue(np.all(q == passes[:, -1]))
                    self.assertGreater(np.ptp(q), 1e-3)
                    self.assertGreater(np.max(abs(passes[:, 1] - passes[:, 0])), 1e-4)
                    for charges in passes.T:
                        allowed = 4 * EPSILON * np.sum(abs(charges)) + 1e-12
                        self.assertLessEqual(abs(np.sum(charges) - total), allowed)

    def test_energy_depends_on_the_total_charge(self):
        structure = boxes()["orthogonal"]
        energies = [
            self.decomposed(structure, network(total).settings(ranks=2)).reference.energy
            for total in (0.0, 1.0)
        ]
        self.assertGreater(abs(energies[1] - energies[0]), 1e-2)

    def test_without_the_keyword_the_system_is_neutral(self):
        structure = boxes()["orthogonal"]
        words = Model("neutral", network().archive, 6.0, 2, None).settings(ranks=2)
        q, _, _ = self.outputs(structure, words)
        self.assertLess(abs(np.sum(q)), 1e-12)

    def test_more_neighbours_than_the_table_began_with(self):
        # compressed while it runs: about 40 neighbours at first, then more than 64
        structure = boxes()["orthogonal"]
        small = type(structure)(
            structure.symbols, 0.8 * structure.positions, 0.8 * structure.cell, structure.periodic
        )
        alone = self.alone(small, network().settings())
        run = self.run_structure(
            structure,
            network().settings(ranks=3),
            [
                "run 0",
                "change_box all x scale 0.8 y scale 0.8 z scale 0.8 remap",
                "dump forces all custom 1 forces.dump id fx fy fz",
                "dump_modify forces sort id format float %.17g",
                "run 0",
            ],
        )
        self.assertIn("Loop time", run.log)
        forces = vectors(self.snapshots("forces.dump")[-1], "fx fy fz")
        self.assertLess(np.max(abs(forces - alone.forces)), 1e-9 * np.max(abs(alone.forces)))

    def test_validator_agrees(self):
        log = self.run_structure(
            boxes()["tilted"],
            network(1.0).settings(ranks=3),
            ["fix check all nvalchemi/validate", "run 0"],
        ).log
        self.assertIn("Validation by fix check", log)
        self.assertNotIn("DIFFERENT", log)

    def test_example_input(self):
        for path in FOLDER.iterdir():
            if path.suffix == ".pt" or path.name.startswith("in."):
                shutil.copy(path, self.folder)
        text = (self.folder / "in.charge_equilibration").read_text()
        text = text.replace("../../../build/lib/nvalchemi_plugin.so", str(self.installation.plugin))
        log = self.run_input(text, 2).require_success().log
        self.assertNotIn("DIFFERENT", log)
        charges = read_thermo(log)[-1]["c_total"]
        self.assertEqual(len(charges), 3)
        self.assertLess(np.max(abs(charges - 1.0)), 1e-7)  # as printed

    def spec(self, **policy):
        document = json.loads((PRESETS / "SPEC_AIMNET2_HALO.json").read_text())
        document["core"]["policy"].update(policy)
        (self.folder / "mine.spec.json").write_text(json.dumps(document))
        return f"spec {self.folder / 'mine.spec.json'}"

    def test_what_the_adapters_do_is_needed(self):
        structure = boxes()["orthogonal"]
        self.write_structure(structure)

        def message(words):
            settings = network().settings(ranks=2, words=words)
            run = self.run_input(self.script(structure, settings, ["run 0"]), 2)
            self.assertNotEqual(run.status, 0)
            return one_line(run.message)

        # without the refresh of ghosts before the convolution
        said = message(self.spec(gather_mode="local", scatter_mode="local"))
        self.assertIn("operator aten::index_select (charge_equilibration.py:", said)
        self.assertIn(
            "it reads rows of senders that have to be refreshed, which the distribution spec does "
            'not allow; expected policy "halo" with gather_mode "halo_read"',
            said,
        )
        # without the sum over ranks of mol_sum
        document = json.loads((PRESETS / "SPEC_AIMNET2_HALO.json").read_text())
        document["system_reductions"] = False
        (self.folder / "mine.spec.json").write_text(json.dumps(document))
        self.assertIn(
            "it needs a sum over the atoms of the whole system",
            message(f"spec {self.folder / 'mine.spec.json'}"),
        )

    def test_the_pass_finds_what_the_adapters_say(self):
        # all four belong to code that the pass follows: without them the same exchanges are placed
        structure = boxes()["orthogonal"]
        found = [
            self.decomposed(structure, network(1.0).settings(ranks=3, words=words))
            for words in ("", "spec SPEC_MPNN_HALO")
        ]
        volume = structure.volume
        self.assertEqual(found[0].exchanges, found[1].exchanges)
        self.assert_within(found[0].reference, found[1].reference, volume, BARS)

    def test_wrong_charges_are_refused(self):
        structure = boxes()["orthogonal"]
        self.write_structure(structure)
        for words, archive, text in (
            (
                "charge one",
                network().archive,
                "keyword charge: got 'one', expected the total charge of the system, a number in e",
            ),
            (
                "charge 1.0",
                scripted_model("two_layers", scripted.TWO_LAYERS, 1).archive,
                'but the model has no input of role "total_charge"; leave it out',
            ),
        ):
            settings = Model("x", archive, 6.0, 2, None).settings(ranks=1, pair_arguments=words)
            run = self.run_input(self.script(structure, settings, ["run 0"]), 1)
            self.assertIn(text, one_line(run.message))


class Forces(test_finite_differences.FiniteDifferences):
    """Forces and stress with charges that respond, on two unequal parts."""

    test_each_family = None

    def test_charges_respond(self):
        for shape, structure in boxes().items():
            if not LONG and shape != "tilted":
                continue
            with self.subTest(box=shape):
                model = network(1.0)
                object.__setattr__(model, "case", lambda crystal, s=structure: (s, None))
                self.check(model, shape, len(structure) if LONG else 2)


if __name__ == "__main__":
    main()
