# SPDX-License-Identifier: GPL-2.0-only
"""The tool nvalchemi-spec: what it prints, its exit status, and that its files are stable."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples" / "lammps"
PRESETS = REPOSITORY / "spec" / "presets"
OWN_SPEC_FILES = REPOSITORY / "unittest" / "spec" / "files"
SPEC_FILES = Path(os.environ.get("NVALCHEMI_SPEC_FILES") or OWN_SPEC_FILES)
VERDICTS = Path(os.environ.get("NVALCHEMI_SPEC_VERDICTS") or SPEC_FILES / "verdicts.json")
GOOD, REFUSED, MISUSE = 0, 1, 2
SMALLEST = {"version": 2, "core": {"policy": {"kind": "halo"}}}


def find_product(name):
    """A product of the build that runs this test, or of `build` in the repository; None."""
    named = os.environ.get("NVALCHEMI_BUILD_DIR")
    for root in [Path(named)] if named else [REPOSITORY / "build"]:
        found = sorted(root.rglob(name)) if root.is_dir() else []
        if found:
            return str(found[0])
    return shutil.which(name)


TOOL = find_product("nvalchemi-spec")
LIBRARY = find_product("libfused_message.so")
NAMES = {
    "MODEL": str(EXAMPLES / "minimal" / "example_network.pt"),
    "PRESETS": str(PRESETS),
    "TRANSFORMER": str(EXAMPLES / "graph_transformer" / "graph_transformer.spec.json"),
    "LIBRARY": str(LIBRARY),
}


def with_operator(name, arguments=None, outputs=None):
    """A spec with one operator adapter; transforms by position."""
    adapter = {
        "op": name,
        "arg_transforms": {str(k): {"type": kind} for k, kind in (arguments or {}).items()},
        "output_transforms": {str(k): {"type": kind} for k, kind in (outputs or {}).items()},
    }
    return {"version": 2, "core": {"policy": {"kind": "halo"}, "custom_ops": [adapter]}}


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, document, name="s.json"):
        """A file in the folder where the tool runs."""
        text = document if isinstance(document, str) else json.dumps(document)
        (self.folder / name).write_text(text)

    def run_tool(self, command, *files):
        """Its words are separated by blanks; capitals stand for the paths of NAMES."""
        words = [TOOL]
        for word in command.split():
            head, slash, tail = word.partition("/")
            words.append(NAMES.get(head, head) + slash + tail)
        return subprocess.run(
            [*words, *map(str, files)],
            capture_output=True,
            timeout=120,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def expect(self, status, command, *parts):
        """Output and errors of a command that ends with this status and says all these texts."""
        done = self.run_tool(command)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, out + err)
        for part in parts:
            self.assertIn(part, out + err)
        return out, err


class Misuse(ToolTest):
    def test_nothing_at_all_prints_the_usage(self):
        out, _ = self.expect(MISUSE, "", "usage: nvalchemi-spec check SPEC", "2 misuse")
        self.assertEqual(out, "")

    def test_help_is_no_misuse(self):
        for word in ("--help", "-h"):
            out, _ = self.expect(GOOD, word)
            self.assertIn("usage: nvalchemi-spec check SPEC", out)

    def test_unknown_words(self):
        self.expect(MISUSE, "verify", "got 'verify', expected check, show, canonical, migrate")
        self.expect(MISUSE, "check --strict", "got unknown option '--strict'")
        self.expect(MISUSE, "presets x", "presets: got 'x', expected nothing more")

    def test_missing_words(self):
        self.expect(MISUSE, "check", "check: got no SPEC, expected at least one")
        self.expect(MISUSE, "check x --archive", "--archive: got nothing, expected a value")
        self.expect(MISUSE, "show", "show: got 0 SPECs, expected one")
        self.expect(MISUSE, "canonical a b", "canonical: got 2 SPECs, expected one")
        self.expect(MISUSE, "migrate", "migrate: got 0 SPECs, expected one")
        self.expect(MISUSE, "diff a", "diff: got 1 SPECs, expected two")


class Check(ToolTest):
    def test_says_what_each_adapter_does(self):
        self.expect(
            GOOD,
            "check SPEC_AIMNET2_HALO",
            "SPEC_AIMNET2_HALO: good",
            "/core/third_party_helpers/0 python aimnet.nbops.mol_sum",
            "sum of owned rows over all ranks",
        )

    def test_goes_on_after_a_refusal(self):
        self.write({"version": 2, "core": {"policy": {"kind": "hola"}}})
        self.expect(
            REFUSED,
            "check s.json no_such_file.json SPEC_LJ_HALO",
            "s.json: refused",
            's.json /core/policy/kind: got "hola"',
            'expected one of "halo", "refresh_halo"',
            "no_such_file.json: cannot be read; expected a file or one of the presets",
            "SPEC_LJ_HALO: good",
        )

    def test_lenient_warns_of_what_strict_refuses(self):
        self.write({**SMALLEST, "frobnicate": 1})
        self.expect(REFUSED, "check s.json", "/frobnicate", "got the unknown key")
        out, _ = self.expect(GOOD, "check s.json --lenient", "lenient: the key is ignored")
        self.assertEqual(out.count("warning: "), 1)

    def test_json_of_good_and_bad(self):
        self.write(with_operator("demo::push", outputs={0: "scatter_outputs"}))
        self.write({"version": 3}, "bad.json")
        good, bad = json.loads(self.expect(REFUSED, "check s.json bad.json --json")[0])
        self.assertEqual((good["spec"], good["ok"], good["warnings"]), ("s.json", True, []))
        (adapter,) = good["adapters"]
        self.assertEqual(adapter["pointer"], "/core/custom_ops/0")
        self.assertEqual(adapter["target"], "operator demo::push")
        self.assertIn("scatter_outputs on output 0", adapter["action"])
        self.assertEqual(adapter["places"], [])
        self.assertFalse(bad["ok"])
        self.assertEqual(bad["error"]["pointer"], "/version")
        self.assertIn("got 3", bad["error"]["message"])

    def test_json_holds_the_warnings_of_a_lenient_reading(self):
        self.write({**SMALLEST, "output_kinds": None})
        (record,) = json.loads(self.expect(GOOD, "check s.json --lenient --json")[0])
        self.assertEqual(len(record["warnings"]), 1)
        self.assertIn("lenient: taken as none", record["warnings"][0])

    def test_an_operator_need_not_be_there_without_ops(self):
        self.write(with_operator("demo::push"))
        self.expect(GOOD, "check s.json", "not registered here: it binds once a library that")

    def test_a_library_that_is_not_there(self):
        self.expect(
            REFUSED, "check SPEC_MPNN_HALO --ops libno_such.so", "libno_such.so", "cannot be loaded"
        )


class CheckWithModel(ToolTest):
    """The example network sums messages into receivers by aten::index_add, in three layers."""

    def check(self, status, spec, *parts):
        self.write(spec)
        self.expect(status, "check s.json --archive MODEL", *parts)

    def test_presets_that_fit(self):
        for preset in ("SPEC_MPNN_HALO", "SPEC_LJ_HALO"):
            self.expect(GOOD, f"check {preset} --archive MODEL", f"{preset}: good")

    def test_an_adapter_says_where_it_applies(self):
        self.check(
            GOOD,
            with_operator("aten::sin"),
            "/core/custom_ops/0 operator aten::sin: declared without transforms; at "
            "example_network.py:",
        )

    def test_an_adapter_that_the_model_has_no_use_for(self):
        self.write(with_operator("aten::bincount"))
        self.expect(
            GOOD, "show s.json --archive MODEL", "aten::bincount", "not called by this model"
        )

    def test_a_policy_without_exchanges(self):
        self.check(
            REFUSED,
            {"version": 2, "core": {"policy": {"kind": "local"}}},
            "it reads rows of senders that have to be refreshed, which the distribution spec does "
            'not allow; expected policy "halo" with gather_mode "halo_read"',
        )

    def test_a_policy_of_blocks(self):
        self.expect(GOOD, "check SPEC_MPNN_GP --archive MODEL")

    def test_arguments_that_cannot_be_transformed(self):
        for position, transform, part in (
            (0, "gather_inputs", "double padding"),
            (3, "slice_owned", "edges are on one rank each and are never sliced"),
            (9, "slice_owned", "got position 9, expected one of the 5 arguments"),
        ):
            with self.subTest(position):
                spec = with_operator("aten::index_add", {position: transform})
                self.check(REFUSED, spec, "aten::index_add", part)

    def test_outputs_that_cannot_be_transformed(self):
        for position, transform, part in (
            (0, "all_reduce_sum", "has rows or edges"),
            (1, "scatter_outputs", "got position 1, expected one of the 1 outputs"),
        ):
            with self.subTest(position):
                spec = with_operator("aten::index_add", outputs={position: transform})
                self.check(REFUSED, spec, "aten::index_add", part)

    def test_sums_that_are_complete_already_must_not_be_folded(self):
        spec = with_operator("aten::index_add", outputs={0: "scatter_outputs"})
        self.check(REFUSED, spec, "does not reproduce the undecomposed model")

    def test_an_operator_that_nothing_registers(self):
        self.check(
            REFUSED,
            with_operator("demo::push"),
            'got operator "demo::push", expected one that is registered',
            'nothing is registered in namespace "demo::"',
        )

    def test_a_helper_that_matches_nothing(self):
        helper = {"kind": "method", "module_path": "a", "class_name": "B", "method_name": "c"}
        core = {"policy": {"kind": "halo"}, "third_party_helpers": [helper]}
        self.check(REFUSED, {"version": 2, "core": core}, "/core/third_party_helpers/0", "a.B.c")

    def test_outputs_that_the_card_knows_otherwise(self):
        self.check(
            REFUSED,
            {**SMALLEST, "output_kinds": [["atomic_energies", "per_graph"]]},
            "/output_kinds",
            'expected "per_node" as the model card says',
        )

    def test_a_model_that_is_none(self):
        self.write("no archive", "no.pt")
        self.expect(REFUSED, "check SPEC_MPNN_HALO --archive no.pt", "that is no zip archive")
        self.expect(REFUSED, "check SPEC_MPNN_HALO --archive gone.pt", "gone.pt: cannot be read")

    def test_a_card_of_its_own(self):
        self.write("{}", "other.card.json")
        self.expect(
            REFUSED,
            "check SPEC_MPNN_HALO --archive MODEL --card other.card.json",
            "other.card.json /",
        )


class Canonical(ToolTest):
    def canonical(self, name, *options):
        done = self.run_tool(" ".join(["canonical", *options]), name)
        self.assertEqual(done.returncode, GOOD, done.stderr)
        return done.stdout

    def test_is_the_preset_s_own_file(self):
        for path in sorted(PRESETS.glob("*.json")):
            self.assertEqual(self.canonical(path), path.read_bytes(), path)

    def test_written_again_is_the_same_bytes(self):
        spec = with_operator("demo::push", {3: "slice_owned", 0: "slice_owned"})
        helper = {"kind": "python", "module_path": "m\u00e9", "attr_name": "f", "replacement": None}
        spec["core"]["third_party_helpers"] = [helper]
        self.write(spec)
        first = self.canonical("s.json")
        self.write(first.decode(), "again.json")
        self.assertEqual(self.canonical("again.json"), first)
        self.assertIn(b"m\\u00e9", first)
        (adapter,) = json.loads(first)["core"]["custom_ops"]
        self.assertEqual(list(adapter["arg_transforms"]), ["0", "3"])

    def test_a_refusal_is_one_line_of_error(self):
        self.write({"version": 2})
        out, err = self.expect(REFUSED, "canonical s.json", "nvalchemi-spec: s.json /", '"core"')
        self.assertEqual((out, err.count("\n")), ("", 1))

    def test_lenient_warnings_are_not_in_the_file(self):
        self.write({**SMALLEST, "compile": {}})
        out, err = self.expect(GOOD, "canonical s.json --lenient")
        self.assertIn("lenient: taken as null", err)
        self.assertIsNone(json.loads(out)["compile"])


class Migrate(ToolTest):
    def test_to_a_file(self):
        self.write({**SMALLEST, "outputs": {}})  # which the early variant ignored
        self.expect(GOOD, "migrate s.json --output new.json", 'got the unknown key "outputs"')
        self.expect(GOOD, "check new.json")
        self.assertIn("compile", json.loads((self.folder / "new.json").read_text()))

    def test_to_a_folder_that_is_not_there(self):
        self.write(SMALLEST)
        self.expect(REFUSED, "migrate s.json -o gone/new.json", "gone/new.json: cannot be written")


class Diff(ToolTest):
    def test_of_the_same(self):
        out, _ = self.expect(GOOD, "diff SPEC_MPNN_HALO PRESETS/SPEC_LJ_HALO.json")
        self.assertEqual(out, "")
        self.assertEqual(self.expect(GOOD, "diff SPEC_LJ_HALO SPEC_UMA_HALO --json")[0], "[]\n")

    def test_names_pointer_and_both_values(self):
        self.expect(
            REFUSED,
            "diff SPEC_MPNN_HALO SPEC_MPNN_GP",
            '/core/policy/kind: "halo" -> "graph_parallel"',
        )

    def test_json(self):
        self.write(SMALLEST)
        found = json.loads(self.expect(REFUSED, "diff s.json SPEC_MPNN_HALO --json")[0])
        self.assertEqual(set(found[0]), {"pointer", "left", "right"})
        for difference in found:
            self.assertTrue(difference["pointer"].startswith("/output_kinds"), difference)


class Show(ToolTest):
    def test_spec_adapters_and_exchanges(self):
        out, _ = self.expect(
            GOOD,
            "show SPEC_MPNN_HALO --archive MODEL",
            "1. halo_forward, width 16, after ",
            "module layers.1.mix",
            "2. halo_forward, width 16, after ",
            "module layers.2.mix",
        )
        canonical, _ = self.expect(GOOD, "canonical SPEC_MPNN_HALO")
        self.assertTrue(out.startswith(canonical + "\n"))

    def test_without_a_model(self):
        self.expect(
            GOOD, "show SPEC_UMA_REFRESH_HALO", '"refresh_halo"', "/core/third_party_helpers/7 "
        )


class Presets(ToolTest):
    def test_are_those_of_the_folder(self):
        names = self.expect(GOOD, "presets")[0].split()
        self.assertEqual(sorted(names), sorted(path.stem for path in PRESETS.glob("*.json")))
        self.assertEqual(json.loads(self.expect(GOOD, "presets --json")[0]), names)

    def test_can_be_named_wherever_a_file_can(self):
        names = self.expect(GOOD, "presets")[0].split()
        self.expect(GOOD, "check " + " ".join(names))
        for name in names:
            self.expect(GOOD, f"diff {name} PRESETS/{name}.json")


@unittest.skipIf(LIBRARY is None, "needs the example's operators")
class OperatorLibrary(ToolTest):
    def test_binds_the_operators(self):
        out, _ = self.expect(GOOD, "check TRANSFORMER --ops LIBRARY", ": good")
        self.assertNotIn("not registered here", out)
        self.expect(GOOD, "check TRANSFORMER", "not registered here")

    def test_lists_what_is_there_under_other_names(self):
        self.write(with_operator("fused_message::pusch"))
        self.expect(
            REFUSED,
            "check s.json --ops LIBRARY",
            'got operator "fused_message::pusch"',
            '"fused_message::push"',
        )

    def test_positions_are_those_of_the_schema(self):
        self.write(with_operator("fused_message::push", {99: "slice_owned"}))
        self.expect(REFUSED, "check s.json --ops LIBRARY", "got position 99, expected one of")


class SpecFiles(ToolTest):
    """Whole files, each with a verdict."""

    @classmethod
    def setUpClass(cls):
        cls.verdicts = json.loads(VERDICTS.read_text())

    def records(self, status, files, *options):
        done = self.run_tool(" ".join(["check", "--json", *options]), *files)
        self.assertEqual(done.returncode, status, done.stdout)
        records = json.loads(done.stdout)
        self.assertEqual([record["spec"] for record in records], [str(path) for path in files])
        return records

    def expect_verdicts(self, mode, *options):
        files = [SPEC_FILES / name for name in self.verdicts]
        records = self.records(REFUSED, files, *options)
        for (name, verdict), record in zip(self.verdicts.items(), records):
            with self.subTest(file=name):
                self.assertEqual(record["ok"], verdict[mode] == "loads", record)
                if record["ok"]:
                    self.assertEqual(len(record["warnings"]), len(verdict["warnings"]))
                else:
                    self.assertEqual(record["error"]["pointer"] or "/", verdict[mode])
                    self.assertIn("expected", record["error"]["message"])

    def test_meet_their_verdicts_if_strict(self):
        self.expect_verdicts("strict")

    def test_meet_their_verdicts_if_lenient(self):
        self.expect_verdicts("lenient", "--lenient")

    def test_early_ones_are_migrated_to_released_ones(self):
        early = {Path(name).name: name for name in self.verdicts if name.startswith("early/")}
        chosen = sorted(early)[::4]
        self.assertGreater(len(chosen), 8)
        written = []
        for name in chosen:
            done = self.run_tool(f"migrate --output {name}", SPEC_FILES / early[name])
            # a doubt stays one, unless the file is written as what it is read as
            verdict = self.verdicts[early[name]]
            is_good = verdict["strict"] == "loads" or "read_as" in verdict
            self.assertEqual(done.returncode, GOOD if is_good else REFUSED, done.stderr)
            self.assertEqual((self.folder / name).exists(), is_good, name)
            written += [name] if is_good else []
        self.records(GOOD, written)
        for name in written[::4]:
            again = self.run_tool("canonical --lenient", name)
            self.assertEqual(again.stdout, (self.folder / name).read_bytes(), name)
            done = self.run_tool("diff --lenient", SPEC_FILES / early[name], name)
            self.assertEqual(done.returncode, GOOD, done.stdout)

    def test_an_operator_of_no_library_is_refused_when_it_is_bound(self):
        path = OWN_SPEC_FILES / "released" / "operator_of_no_library.json"
        done = self.run_tool("check --archive MODEL", path)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("expected one that is registered", done.stdout.decode())


if __name__ == "__main__":
    if TOOL is None:
        print("SKIPPED: nvalchemi-spec is not built")
        sys.exit(77)  # what ctest counts as skipped
    unittest.main()
