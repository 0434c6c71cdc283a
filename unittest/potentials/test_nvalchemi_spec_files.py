# SPDX-License-Identifier: GPL-2.0-only
"""The tool nvalchemi-spec: its command line, and files that it must not take for good."""

import json
import os
import subprocess
import sys
import unittest
import zipfile

from test_nvalchemi_spec import GOOD, MISUSE, NAMES, PRESETS, REFUSED, SMALLEST, TOOL, ToolTest


class CommandLine(ToolTest):
    def test_version(self):
        self.assertEqual(self.expect(GOOD, "--version")[0], "nvalchemi-spec 0.1.0\n")

    def test_errors_do_not_stand_above_the_usage(self):
        _, err = self.expect(MISUSE, "check --strict")
        self.assertEqual(err.splitlines()[1:], ["see nvalchemi-spec --help"])

    def test_an_option_has_one_name_and_its_former_one(self):
        known = "expected one of --archive, --card, --output, --ops, --lenient, --json"
        self.expect(MISUSE, "check x --arch y", "got unknown option '--arch'", known)
        self.expect(GOOD, "check SPEC_LJ_HALO --model MODEL", "SPEC_LJ_HALO: good")

    def test_output_that_cannot_be_written(self):
        for words in (["canonical", "SPEC_MPNN_HALO"], ["presets"], ["--help"], ["--version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([TOOL, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, REFUSED, words)
            self.assertIn(b"standard output: cannot be written; is the disk full?", done.stderr)


class Texts(ToolTest):
    def test_texts_that_are_no_json(self):
        for text, part in (
            (b'{"version": 2, "core": {"policy": {"kind": "h\xe1lo"}}}', '"h\\xe1'),
            (b'{"version": 2\xe9)}', "2\\xe9"),
            (b'{"version": 2, "core": {}}\0, [', "got a NUL byte at line 1, column 27 (byte 27)"),
            (b'\0{"version": 2}', "got a NUL byte at line 1, column 1 (byte 1), expected text"),
        ):
            with self.subTest(text):
                (self.folder / "s.json").write_bytes(text)
                self.expect(REFUSED, "check s.json", "s.json: refused", part)
                out, _ = self.expect(REFUSED, "check s.json SPEC_MPNN_HALO --json")
                bad, good = json.loads(out)
                self.assertIn(part, bad["error"]["message"])
                self.assertTrue(good["ok"])

    def test_a_name_of_a_file_that_is_no_utf_8(self):
        name = os.fsdecode(b"h\xe1lo.json")
        done = self.run_tool("check --json", name)
        self.assertEqual(done.returncode, REFUSED)
        self.assertEqual(json.loads(done.stdout)[0]["spec"], "h\ufffdlo.json")

    def test_offers_no_kind_that_it_refuses(self):
        for kind in ("PER_GRAPH", "unknown"):
            self.write({**SMALLEST, "output_kinds": [["energy", kind]]})
            self.expect(
                REFUSED, "check s.json", 'expected one of "per_node", "per_graph", "global"'
            )
            out, _ = self.expect(REFUSED, "check s.json")
            self.assertNotIn(', "unknown"', out)

    def test_a_card_that_no_model_can_have(self):
        with zipfile.ZipFile(NAMES["MODEL"]) as archive:
            name = next(n for n in archive.namelist() if n.endswith("extra/nvalchemi.json"))
            card = json.loads(archive.read(name))
        del card["reference"]
        three = {"species": ["Na", "Cl", "K", "Li"], "species_index": [0, 1, 9, 1]}
        for change, part in (
            ({"cutoff": 1e-320}, "/cutoff: got 1e-320, expected a length in Angstrom of at least"),
            (three, '/species_index/2: got 9 for "K", expected an element that the archive'),
        ):
            self.write({**card, **change}, "own.card.json")
            words = "check SPEC_MPNN_HALO --archive MODEL --card own.card.json"
            out, _ = self.expect(REFUSED, words, part)
            self.assertEqual(len(out.splitlines()), 2, out)


class Migrate(ToolTest):
    def test_a_preset_is_its_own_file(self):
        out, _ = self.expect(GOOD, "migrate SPEC_MPNN_HALO")
        self.assertEqual(out, (PRESETS / "SPEC_MPNN_HALO.json").read_text())

    def test_what_no_rewriting_puts_right_is_not_written(self):
        helper = {"kind": "python", "module_path": "m", "attr_name": "f"}
        helper["replacement"] = "__main__:mk.<locals>.inner"
        core = {"policy": {"kind": "halo"}, "third_party_helpers": [helper]}
        self.write({"version": 2, "core": core})
        _, err = self.expect(
            REFUSED,
            "migrate s.json --output new.json",
            "s.json /core/third_party_helpers/0/replacement: got",
            "a closure or lambda cannot be found again",
            "Nothing was written: correct this by hand first",
        )
        self.assertFalse((self.folder / "new.json").exists())

    def test_a_file_stays_as_it_was_until_the_new_one_is_whole(self):
        self.write(SMALLEST)
        self.expect(GOOD, "migrate s.json --output s.json")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["s.json"])
        self.expect(GOOD, "check s.json")


if __name__ == "__main__":
    if TOOL is None:
        print("SKIPPED: nvalchemi-spec is not built")
        sys.exit(77)  # what ctest counts as skipped
    unittest.main()
