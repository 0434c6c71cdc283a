# SPDX-License-Identifier: GPL-2.0-only
"""The tool nvalchemi-evaluate: numbers of the cases, independence of the description, messages."""

import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from comparison import evaluate_alone
from suite import CRYSTALS, LammpsTest, main, model, models

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lammps"
NETWORK = EXAMPLES / "minimal" / "example_network.pt"


def read_card(path):
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith("extra/nvalchemi.json"))
        return json.loads(archive.read(name))


class Evaluate(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def run_tool(self, *words):
        return subprocess.run(
            [self.installation.evaluate, *map(str, words)],
            text=True,
            capture_output=True,
            timeout=120,
            env=self.installation.environment(1),
        )

    def evaluate(self, archive, structure, *words):
        return self.run_tool("--archive", archive, "--structure", structure, *words)

    def write_case(self, document, name="case.json"):
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def test_gives_the_numbers_of_the_cases(self):
        for archive in models():
            for crystal in CRYSTALS:
                structure, reference = archive.case(crystal)
                if reference is None:
                    self.skipTest("needs cases with numbers")
                found = evaluate_alone(self.installation, structure, archive.settings())
                with self.subTest(model=archive.name, crystal=crystal):
                    self.assert_within(found, reference, structure.volume, archive.case_bars)

    def test_refuses_a_card_that_does_not_fit_the_archive(self):
        card = read_card(NETWORK)
        atoms = {key: card["reference"][key] for key in ("symbols", "positions", "cell", "pbc")}
        words = (NETWORK, self.write_case(atoms), "--card", self.folder / "card.json")
        for energy, status in ((card["reference"]["energy"], 0), (0.123, 1)):
            card["reference"]["energy"] = energy
            (self.folder / "card.json").write_text(json.dumps(card))
            done = self.evaluate(*words)
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(
            done.stderr, r"/reference: energy \(eV\): got .*, expected 0.123 as the exp"
        )

    def test_does_not_depend_on_the_choice_of_images_and_lattice_vectors(self):
        expected = evaluate_alone(self.installation, self.structure, self.toy.settings())
        shifts = np.random.default_rng(5).integers(-3, 4, size=(len(self.structure), 3))
        other = replace(
            self.structure, positions=self.structure.positions + shifts @ self.structure.cell
        )
        other.cell = other.cell.copy()
        other.cell[2] += 2 * other.cell[0] - other.cell[1]
        found = evaluate_alone(self.installation, other, self.toy.settings())
        self.assert_same(found, expected, self.structure.volume)

    def test_stress_is_minus_the_virial_over_the_volume(self):
        case = self.write_case(self.structure.to_document())
        found = json.loads(self.evaluate(self.toy.archive, case).stdout)
        self.assert_close(
            np.array(found["stress"]) * self.structure.volume, -np.array(found["virial"]), 1e-14
        )
        self.assertAlmostEqual(sum(found["energies"]), found["energy"], places=9)

    def test_open_directions_have_no_stress(self):
        document = {**self.structure.to_document(), "pbc": [True, True, False]}
        found = json.loads(self.evaluate(self.toy.archive, self.write_case(document)).stdout)
        self.assertIsNone(found["stress"])
        self.assertEqual(np.array(found["virial"]).shape, (3, 3))

    def test_writes_to_a_file_and_takes_a_card(self):
        card = shutil.copy(Path(self.toy.archive).with_suffix(".card.json"), self.folder / "c.json")
        bare = shutil.copy(self.toy.archive, self.folder / "bare.pt")
        case = self.write_case(self.structure.to_document())
        self.assertIn("model card", self.evaluate(bare, case).stderr)
        done = self.evaluate(bare, case, "--card", card, "--output", self.folder / "out.json")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIn("energy", json.loads((self.folder / "out.json").read_text()))

    def test_messages(self):
        good = self.structure.to_document()
        cases = {
            '/symbols/0: got "Xx", expected an element of model': {**good, "symbols": ["Xx"] * 64},
            "/positions: got 64 vectors, expected 63": {**good, "symbols": good["symbols"][:63]},
            "/positions/0: got an array of 2 elements, expected three numbers": {
                **good,
                "positions": [[0.0, 0.0]] * 64,
            },
            "/pbc: got an array of 1 element, expected a boolean or three of them": {
                **good,
                "pbc": [True],
            },
            'got no key "cell"': {key: good[key] for key in good if key != "cell"},
        }
        for text, document in cases.items():
            with self.subTest(text=text):
                done = self.evaluate(self.toy.archive, self.write_case(document))
                self.assertEqual(done.returncode, 1)
                self.assertIn(text, done.stderr)
                self.assertIn("case.json", done.stderr)

    def test_options(self):
        case = self.write_case(self.structure.to_document())
        archive = ("--archive", self.toy.archive)
        both = (*archive, "--structure", case)
        for words, status, text in (
            (["--help"], 0, "usage: nvalchemi-evaluate"),
            (["--version"], 0, "nvalchemi-evaluate 0.1.0\n"),
            ([], 2, "usage: nvalchemi-evaluate"),
            (archive, 2, "got no --structure, expected one"),
            (["--structure", case], 2, "got no --archive, expected one"),
            ([*archive, "--structure"], 2, "--structure: got nothing, expected a value"),
            ([*both, "--what", "1"], 2, "got unknown option '--what', expected one of --archive"),
            ([*both, "more"], 2, "got 'more', expected an option"),
            (["--archive", "nowhere.pt", "--structure", case], 1, "nowhere.pt: cannot be read"),
            ([*archive, "--structure", "nowhere.json"], 1, "nowhere.json: cannot be read"),
            ([*both, "--output", "/nowhere/x"], 1, "/nowhere/x: cannot be written"),
            ([*both, "--charge", "one"], 1, "--charge: got 'one', expected the total charge"),
        ):
            done = self.run_tool(*words)
            self.assertEqual(done.returncode, status, words)
            self.assertIn(text, done.stdout + done.stderr)
            if status == 2 and words:
                self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
                self.assertIn("see nvalchemi-evaluate --help", done.stderr)

    def test_understands_what_options_were_called_before(self):
        case = self.write_case(self.structure.to_document())
        expected = self.evaluate(self.toy.archive, case).stdout
        for words in (
            (self.toy.archive, "--case", case),
            ("--model", self.toy.archive, "--case", case, "-o", "/dev/stdout"),
        ):
            self.assertEqual(self.run_tool(*words).stdout, expected)

    def test_output_that_cannot_be_written_is_a_failure(self):
        case = self.write_case(self.structure.to_document())
        with open("/dev/full", "w") as full:
            words = ("--archive", self.toy.archive, "--structure", case)
            done = subprocess.run(
                [self.installation.evaluate, *words],
                env=self.installation.environment(1),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output: cannot be written; is the disk full?", done.stderr)

    def test_names_the_element_that_an_archive_cannot_be_evaluated_with(self):
        card = read_card(NETWORK)
        reference = card.pop("reference")
        atoms = {key: reference[key] for key in ("symbols", "positions", "cell", "pbc")}
        card["species"], card["species_index"] = ["Na", "Cl", "K"], [0, 1, 7]
        (self.folder / "card.json").write_text(json.dumps(card))
        done = self.evaluate(NETWORK, self.write_case(atoms), "--card", self.folder / "card.json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(
            done.stderr,
            r'/species_index/2: got 7 for "K", expected an element that the archive can be '
            r"evaluated with. Correct the card, or export the model again. The archive says: .*"
            r"index out of range in self\n$",
        )


if __name__ == "__main__":
    main()
