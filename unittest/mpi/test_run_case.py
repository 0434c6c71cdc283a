# SPDX-License-Identifier: GPL-2.0-only
"""The command run_case.py: its JSON line, what it compares with, its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

from comparison import evaluate_alone
from suite import CASE_BARS, LammpsTest, main, model

COMMAND = Path(__file__).with_name("run_case.py")


class RunCase(LammpsTest):
    def setUp(self):
        super().setUp()
        self.model = model("toy_index_add")
        structure, reference = self.model.case("nacl64")
        reference = reference or evaluate_alone(self.installation, structure, self.model.settings())
        case = {
            **structure.to_document(),
            "energy": reference.energy,
            "energies": reference.energies.tolist(),
            "forces": reference.forces.tolist(),
            "stress": (-reference.virial / structure.volume).tolist(),
        }
        self.case = self.folder / "case.json"
        self.case.write_text(json.dumps(case))

    def run_case(self, *words, environment=None):
        command = [sys.executable, str(COMMAND), "--archive", self.model.archive]
        return subprocess.run(
            [*command, "--case", str(self.case), *words],
            env={**os.environ, **(environment or {})},
            text=True,
            capture_output=True,
            timeout=300,
        )

    def answer(self, *words, **options):
        done = self.run_case(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        return json.loads(done.stdout)

    def assert_bars(self, answer):
        for key, bar in CASE_BARS.items():
            self.assertLessEqual(answer[key], bar, key)

    def test_compares_with_the_case_by_default(self):
        answer = self.answer("-n", "2", "--processors", "2 1 1")
        self.assertEqual(answer["against"], "case")
        count = self.model.exchanges
        self.assertEqual(answer["exchanges"], {"forward": count, "backward": count})
        self.assertGreater(answer["seconds_per_step"], 0)
        self.assertEqual((answer["atoms"], answer["ranks"]), (64, 2))
        self.assert_bars(answer)

    def test_compares_with_the_archive_alone_where_the_case_has_no_numbers(self):
        for words in (["--boundary", "p p f"], ["--repeat", "2 1 1"], ["--against", "alone"]):
            answer = self.answer("-n", "2", "--steps", "0", *words)
            self.assertEqual(answer["against"], "alone")
            self.assertIsNone(answer["seconds_per_step"])
            self.assert_bars(answer)

    def test_copies_can_be_compared_with_the_case(self):
        answer = self.answer("-n", "2", "--repeat", "1 1 2", "--against", "case")
        self.assertEqual((answer["against"], answer["atoms"]), ("case", 128))
        self.assert_bars(answer)

    def test_options_reach_lammps(self):
        for words in (
            ["--rotate", "11"],
            ["--newton", "off"],
            ["--units", "real"],
            ["--comm", "tiled", "--balance", "rcb"],
            ["--axes", "b c a"],
            ["--boundary", "s s s", "--rotate", "3"],
        ):
            with self.subTest(words=words):
                self.assert_bars(self.answer("-n", "3", "--steps", "0", *words))

    def test_card_given_by_name(self):
        card = self.folder / "other.json"
        text = json.loads(Path(self.model.archive).with_suffix(".card.json").read_text())
        text["name"] = "renamed"
        card.write_text(json.dumps(text))
        answer = self.answer("-n", "1", "--card", str(card), "--keep", str(self.folder))
        self.assert_bars(answer)
        self.assertIn("model renamed", (self.folder / "log.lammps").read_text())

    def test_a_planted_fault_shows_in_the_deviations(self):
        for fault in ("drop_forward", "skip_reverse", "swap_edges", "wrong_owner"):
            with self.subTest(fault=fault):
                answer = self.answer("-n", "2", environment={"NVALCHEMI_FAULT": fault})
                self.assertGreater(answer["dF"], 1e3 * CASE_BARS["dF"])

    def test_failure_is_told_with_the_message_of_lammps(self):
        done = self.run_case("-n", "2", "--pair-arguments", "device gpu")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("keyword device: got 'gpu'", done.stderr)

    def test_wrong_options_are_refused(self):
        for words, text in (
            (["--boundary", "p p x"], "--boundary: got"),
            (["--axes", "b a c"], "--axes: got"),
            (["--boundary", "f f f", "--against", "case"], "--against case"),
        ):
            done = self.run_case("-n", "1", *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    main()
