# SPDX-License-Identifier: GPL-2.0-only
import copy
import os
import tempfile
import unittest

import torch
from support import PairPotential, pair_card

# isort: split
from card import CardError, make_card, read_archive, validate_card, write_archive
from evaluate import add_reference, evaluate, rattled_rocksalt


class MakeCard(unittest.TestCase):
    def test_states_every_required_key(self):
        card = make_card(**pair_card())

        self.assertEqual(card["format"], "nvalchemi-model")
        self.assertEqual(card["format_version"], 1)
        self.assertEqual(card["units"], {"length": "Angstrom", "energy": "eV"})
        self.assertEqual(card["species_index"], [0, 1])
        self.assertEqual(card["inputs"]["edge_vectors"], {"role": "edge_vectors"})
        self.assertEqual(card["edges"], {"list": "full", "receiver_row": 0, "sender_row": 1})

    def test_notes_which_torch_writes_the_archive(self):
        version = make_card(**pair_card())["torch_version"]

        self.assertEqual(version, torch.__version__.split("+")[0])
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")

    def test_keeps_a_species_index_that_two_elements_share(self):
        card = make_card(**pair_card(species_index=[1, 1]))

        self.assertEqual(card["species_index"], [1, 1])


class ValidateCard(unittest.TestCase):
    """Each refusal names the place, what was found and what is expected."""

    def assert_refused(self, change, *texts):
        card = copy.deepcopy(make_card(**pair_card()))
        change(card)

        with self.assertRaises(CardError) as caught:
            validate_card(card)

        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_refuses_a_missing_key(self):
        self.assert_refused(
            lambda c: c.pop("cutoff"), "model card /cutoff: got null", "this key is required"
        )

    def test_refuses_an_unknown_key(self):
        self.assert_refused(
            lambda c: c.update(cutof=3.0),
            "model card /cutof: got 3.0",
            "known keys are format, format_version",
        )

    def test_refuses_another_format_version(self):
        self.assert_refused(
            lambda c: c.update(format_version=2), "/format_version: got 2", "expected one of 1"
        )

    def test_refuses_a_torch_version_that_is_none(self):
        for version in ("two", "2", 2.11):
            self.assert_refused(
                lambda c, version=version: c.update(torch_version=version),
                "model card /torch_version: got",
                "expected a version such as '2.11.0'",
            )

    def test_refuses_a_precision_it_does_not_know(self):
        self.assert_refused(
            lambda c: c.update(dtype="float16"), '/dtype: got "float16"', "'float32', 'float64'"
        )

    def test_refuses_a_cutoff_of_zero(self):
        self.assert_refused(lambda c: c.update(cutoff=0.0), "/cutoff: got 0.0", "length > 0")

    def test_refuses_an_unknown_input_role(self):
        self.assert_refused(
            lambda c: c["inputs"]["species"].update(role="species"),
            '/inputs/species/role: got "species"',
            "'species_index'",
        )

    def test_refuses_a_constant_without_value(self):
        self.assert_refused(
            lambda c: c["inputs"].update(k={"role": "constant"}),
            "/inputs/k/value: got null",
            "role 'constant'",
        )

    def test_knows_inputs_that_the_user_gives(self):
        entry = {"role": "atom_input", "name": "moments", "columns": 3, "default": [0, 0, 1]}
        card = make_card(**pair_card())
        card["inputs"]["m"] = entry
        validate_card(card)
        for change, *texts in (
            ({"name": "a b"}, '/inputs/m/name: got "a b"', "letters, digits and _"),
            ({"name": None}, "/inputs/m/name: got null"),
            ({"name": "charges"}, "it is that of role 'charges'"),
            ({"columns": 0}, "/inputs/m/columns: got 0", "a number from 1 on"),
            ({"dtype": "float32"}, '/inputs/m/dtype: got "float32"', "'int64'"),
            ({"default": 1}, "/inputs/m/default: got 1", "3 number(s)"),
            ({"default": [0, 0, 0.5], "dtype": "int64"}, "whole numbers, as dtype is int64"),
        ):
            self.assert_refused(
                lambda c, change=change: c["inputs"].update(m={**entry, **change}), *texts
            )

    def test_refuses_an_unknown_output_kind(self):
        self.assert_refused(
            lambda c: c["outputs"]["energy"].update(kind="per_atom"),
            '/outputs/energy/kind: got "per_atom"',
            "'per_node'",
        )

    def test_refuses_an_output_without_shape(self):
        self.assert_refused(
            lambda c: c["outputs"]["energy"].pop("shape"),
            "/outputs/energy/shape: got null",
            "a shape such as",
        )

    def test_refuses_a_model_without_atomic_energies(self):
        self.assert_refused(
            lambda c: c["outputs"]["energy"].update(role="other"),
            '/outputs: got ["other"]',
            "one output of role 'atomic_energies'",
        )

    def test_refuses_forces_by_an_input_that_is_not_there(self):
        self.assert_refused(
            lambda c: c.update(forces="positions"),
            '/forces: got "positions"',
            "an input of role 'positions'",
        )

    def test_refuses_model_forces_that_are_not_returned(self):
        self.assert_refused(
            lambda c: c.update(forces="model"), '/forces: got "model"', "an output of role 'forces'"
        )

    def test_refuses_equal_receiver_and_sender_rows(self):
        self.assert_refused(
            lambda c: c["edges"].update(sender_row=0),
            "/edges: got",
            "receiver_row and sender_row to be 0 and 1",
        )

    def test_refuses_a_half_list(self):
        self.assert_refused(
            lambda c: c["edges"].update(list="half"), '/edges/list: got "half"', "'full'"
        )

    def test_refuses_a_length_unit_other_than_angstrom(self):
        self.assert_refused(
            lambda c: c["units"].update(length="nm"), '/units/length: got "nm"', "'Angstrom'"
        )

    def test_refuses_a_species_twice(self):
        self.assert_refused(
            lambda c: c.update(species=["Na", "Na"]), '/species: got ["Na", "Na"]', "each once"
        )

    def test_refuses_a_species_index_of_another_length(self):
        self.assert_refused(
            lambda c: c.update(species_index=[0]), "/species_index: got [0]", "2 integers >= 0"
        )

    def test_refuses_a_reference_with_forces_of_another_length(self):
        def change(card):
            atoms = rattled_rocksalt()
            add_reference(card, atoms, evaluate(PairPotential(), card, atoms))
            card["reference"]["forces"].pop()

        self.assert_refused(change, "/reference/forces: got", "8 entries")


class WriteArchive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "new", "pair.pt")

    def test_gives_back_the_card_and_the_model(self):
        module, card = torch.jit.script(PairPotential().eval()), make_card(**pair_card())

        write_archive(module, card, self.path)
        loaded, loaded_card = read_archive(self.path)

        self.assertEqual(loaded_card, card)
        atoms = rattled_rocksalt()
        self.assertEqual(
            evaluate(loaded, card, atoms)["energy"],
            evaluate(PairPotential(), card, atoms)["energy"],
        )

    def test_leaves_the_old_file_when_it_fails(self):
        module, card = torch.jit.script(PairPotential().eval()), make_card(**pair_card())
        write_archive(module, card, self.path)

        with self.assertRaises(AttributeError):
            write_archive(None, dict(card, name="other"), self.path)

        self.assertEqual(read_archive(self.path)[1]["name"], "pair")
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["pair.pt"])

    def test_an_archive_without_card_reads_as_none(self):
        os.makedirs(os.path.dirname(self.path))
        torch.jit.save(torch.jit.script(PairPotential().eval()), self.path)

        self.assertIsNone(read_archive(self.path)[1])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
