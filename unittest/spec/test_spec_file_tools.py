# SPDX-License-Identifier: GPL-2.0-only
"""The programs around the spec files: the files are what the tables give, the tables keep the rules
of their folders, and files from elsewhere are tested where they are named.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FILES = Path(__file__).resolve().parent / "files"
REPOSITORY = FILES.parents[2]
sys.path.insert(0, str(FILES))

import make_files  # noqa: E402  (found by the line above)
from layout import LOADS  # noqa: E402

HANDED = FILES.with_name("with_handed_spec_files.py")


def run(*command, **variables):
    """Exit status and output, both streams together, of a Python program."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **variables},
    )
    return done.returncode, done.stdout.strip()


def words_of_schema(node):
    """The words that the JSON Schema lists for some value."""
    if isinstance(node, dict):
        listed = [*node.get("enum", []), node.get("const")]
        yield from (word for word in listed if isinstance(word, str))
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, (dict, list)):
            yield from words_of_schema(child)


class Committed(unittest.TestCase):
    def test_files_are_what_the_tables_give(self):
        self.assertEqual(list(make_files.differences(FILES)), [])

    def test_each_difference_is_named(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        make_files.write(folder)
        self.assertEqual(list(make_files.differences(folder)), [])
        (folder / "released" / "policy_halo.json").write_text("{}")
        (folder / "early" / "smallest.json").unlink()
        (folder / "doubtful" / "of_my_own.json").write_text("{}")
        (folder / "verdicts.json").write_text("{}\n")
        self.assertEqual(
            list(make_files.differences(folder)),
            [
                "doubtful/of_my_own.json: got a file that no table has, expected none (remove it)",
                "early/smallest.json: got no file, expected one (run make_files.py)",
                "released/policy_halo.json: got other bytes than the tables give "
                "(run make_files.py)",
                "verdicts.json: got other bytes than the tables give (run make_files.py)",
            ],
        )

    def test_check_writes_nothing_and_says_how_many_there_are(self):
        status, output = run(FILES / "make_files.py", "--check")
        self.assertEqual(
            (status, output), (0, f"{len(make_files.contents())} files, 0 differences")
        )

    def test_another_word_is_refused(self):
        status, output = run(FILES / "make_files.py", "here")
        self.assertEqual((status, output), (2, "got 'here', expected nothing or --check"))


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = make_files.spec_files().values()

    def folder(self, name):
        return [file for file in self.files if file.name.startswith(name + "/")]

    def test_invalid_files_are_refused_in_both_modes_and_no_others_are(self):
        for file in self.files:
            with self.subTest(file=file.name):
                is_invalid = file.name.startswith("invalid/")
                self.assertEqual(file.lenient != LOADS, is_invalid)
                if is_invalid:
                    self.assertEqual(file.strict, file.lenient)
                    self.assertEqual((file.warnings, file.read_as), ((), ()))

    def test_doubtful_files_are_refused_if_strict(self):
        for file in self.folder("doubtful"):
            with self.subTest(file=file.name):
                self.assertEqual(file.strict, file.warnings[0])

    def test_released_files_mean_what_they_say(self):
        for file in self.folder("released"):
            with self.subTest(file=file.name):
                self.assertEqual(file.read_as, ())

    def test_early_files_have_no_key_that_came_later(self):
        for file in self.folder("early"):
            with self.subTest(file=file.name):
                self.assertNotIn("replicated_consumer", file.text)

    def test_released_files_use_each_word_of_the_format(self):
        schema = json.loads((REPOSITORY / "spec" / "mlip_spec.schema.json").read_text())
        words = {*words_of_schema(schema), "shard", "unknown"}
        self.assertGreater(len(words), 40)
        text = "".join(file.text for file in self.folder("released"))
        self.assertEqual([word for word in sorted(words) if f'"{word}"' not in text], [])

    def test_each_preset_is_told_a_second_time(self):
        presets = {path.name for path in (REPOSITORY / "spec" / "presets").glob("*.json")}
        told = {path.name.removeprefix("preset_") for path in FILES.glob("released/preset_*")}
        self.assertEqual(told, presets)


class HandedFiles(unittest.TestCase):
    """A command that runs with spec files from elsewhere."""

    def run_with(self, fixtures, code):
        return run(HANDED, sys.executable, "-c", code, NVALCHEMI_FIXTURES=fixtures)

    def test_are_skipped_where_they_are_not_named(self):
        status, output = self.run_with("", "raise SystemExit(1)")
        self.assertEqual(status, 77)
        self.assertEqual(
            output, "SKIPPED: no files from elsewhere; NVALCHEMI_FIXTURES=FOLDER names their folder"
        )

    def test_are_refused_where_there_are_none(self):
        status, output = self.run_with("/no/such/folder", "raise SystemExit(0)")
        self.assertEqual(status, 1)
        self.assertEqual(
            output,
            "NVALCHEMI_FIXTURES: got /no/such/folder, which has no specs/, expected one that has",
        )

    def test_are_named_to_the_command_whose_status_counts(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "specs").mkdir()
        code = "import os; print(os.environ['NVALCHEMI_SPEC_FILES']); raise SystemExit(3)"
        self.assertEqual(self.run_with(str(folder), code), (3, str(folder / "specs")))


if __name__ == "__main__":
    unittest.main()
