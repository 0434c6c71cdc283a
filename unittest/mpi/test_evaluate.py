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
from suite import CASE_BARS, CRYSTALS, LammpsTest, main, model, models

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lammps"
NETWORK = EXAMPLES / "minimal" / "example_network.pt"


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
                    self.assert_within(found, reference, structure.volume, CASE_BARS)

    def test_refuses_a_card_that_does_not_fit_the_archive(self):
        with zipfile.ZipFile(NETWORK) as archive:
            name = next(n for n in archive.namelist() if n.endswith("extra/nvalchemi.json"))
            card = json.loads(archive.read(name))
        atoms = {key: card["reference"][key] for key in ("symbols", "positions", "cell", "pbc")}
        words = (NETWORK, "--case", self.write_case(atoms), "--card", self.folder / "card.json")
        for energy, status in ((card["reference"]["energy"], 0), (0.123, 1)):
            card["reference"]["energy"] = energy
            (self.folder / "card.json").write_text(json.dumps(card))
            done = self.run_tool(*words)
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
        found = json.loads(self.run_tool(self.toy.archive, "--case", case).stdout)
        self.assert_close(
            np.array(found["stress"]) * self.structure.volume, -np.array(found["virial"]), 1e-14
        )
        self.assertAlmostEqual(sum(found["energies"]), found["energy"], places=9)

    def test_open_directions_have_no_stress(self):
        document = {**self.structure.to_document(), "pbc": [True, True, False]}
        found = json.loads(
            self.run_tool(self.toy.archive, "--case", self.write_case(document)).stdout
        )
        self.assertIsNone(found["stress"])
        self.assertEqual(np.array(found["virial"]).shape, (3, 3))

    def test_writes_to_a_file_and_takes_a_card(self):
        card = shutil.copy(Path(self.toy.archive).with_suffix(".card.json"), self.folder / "c.json")
        bare = shutil.copy(self.toy.archive, self.folder / "bare.pt")
        case = self.write_case(self.structure.to_document())
        self.assertIn("model card", self.run_tool(bare, "--case", case).stderr)
        done = self.run_tool(
            bare, "--case", case, "--card", card, "--output", self.folder / "out.json"
        )
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
                done = self.run_tool(self.toy.archive, "--case", self.write_case(document))
                self.assertEqual(done.returncode, 1)
                self.assertIn(text, done.stderr)
                self.assertIn("case.json", done.stderr)

    def test_options(self):
        case = self.write_case(self.structure.to_document())
        for words, status, text in (
            (["--help"], 0, "usage: nvalchemi-evaluate"),
            ([], 2, "usage: nvalchemi-evaluate"),
            ([self.toy.archive], 2, "got no archive or no --case"),
            ([self.toy.archive, "--case"], 2, "--case: got nothing"),
            ([self.toy.archive, "--what", "1"], 2, "got '--what'"),
            (["nowhere.pt", "--case", case], 1, "nowhere.pt: cannot be read"),
            ([self.toy.archive, "--case", "nowhere.json"], 1, "nowhere.json: cannot be read"),
            (
                [self.toy.archive, "--case", case, "--output", "/nowhere/x"],
                1,
                "/nowhere/x: cannot be written",
            ),
        ):
            done = self.run_tool(*words)
            self.assertEqual(done.returncode, status, words)
            self.assertIn(text, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
