# SPDX-License-Identifier: GPL-2.0-only
"""The spec files are what their tables give, and the tables keep the rules of their folders."""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

FILES = Path(__file__).resolve().parent / "files"
REPOSITORY = FILES.parents[2]
sys.path.insert(0, str(FILES))

import make_files  # noqa: E402  (found by the line above)
from layout import LOADS  # noqa: E402


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
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "files"
        shutil.copytree(FILES, folder)
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


if __name__ == "__main__":
    unittest.main()
