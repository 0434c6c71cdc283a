# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema says what the strict reader says, rule by rule and file by file.

NVALCHEMI_JUDGE_SPECS names the program judge_specs; NVALCHEMI_SPEC_FILES a folder of spec files
other than those of this repository.
"""

import copy
import json
import os
import subprocess
import unittest
from pathlib import Path

from schema_validator import REPOSITORY, load_schema, make_validator

JUDGE = os.environ["NVALCHEMI_JUDGE_SPECS"]
PRESETS = REPOSITORY / "spec" / "presets"
SPEC_FILES = Path(os.environ.get("NVALCHEMI_SPEC_FILES") or Path(__file__).with_name("files"))

BASE = {
    "version": 2,
    "core": {
        "policy": {"kind": "halo", "scatter_mode": "local", "gather_mode": "halo_read"},
        "custom_ops": [
            {
                "op": "demo::stage1",
                "arg_transforms": {"0": {"type": "slice_owned"}},
                "output_transforms": {"1": {"type": "all_reduce_sum", "replicated_consumer": True}},
            }
        ],
        "third_party_helpers": [
            {"kind": "jit", "module_path": "m", "attr_name": "f", "replacement": "r:g"},
            {"kind": "python", "module_path": "m", "attr_name": "f", "replacement": None},
            {"kind": "method", "module_path": "m", "class_name": "C", "method_name": "f"},
            {"kind": "module_forward", "target": "t", "label": ""},
        ],
        "shard_fields": ["positions", "charges"],
    },
    "gp_replicate_geometry": False,
    "node_energy_key": "e",
    "owned_only_outputs": ["a", "b"],
    "all_reduce_outputs": ["c"],
    "output_kinds": [["a", "per_node"], ["b", "global"]],
    "compile": {"force_strategy": "model_internal"},
}
OP, OUT = "/core/custom_ops/0", "/core/custom_ops/0/output_transforms/1"
HELPERS = "/core/third_party_helpers"

# Changes of BASE that neither accepts: pointer, value.
REFUSED = """
/version 3 | /version "2" | /version null | /unknown 1 | /core null | /core/unknown 1
/core/policy null | /core/policy {} | /core/policy/kind "shard" | /core/policy/kind "replicated"
/core/policy/kind null | /core/policy/scatter_mode "distributed" | /core/policy/gather_mode null
/core/policy/width 1 | /core/policy/kind "local" | /core/policy {"kind": "graph_parallel"}
/core/policy {"kind": "local"} | /core/custom_ops null | /core/custom_ops ["a::b"]
/core/shard_fields null | /core/shard_fields "positions" | /core/shard_fields ["no_such_field"]
/core/shard_fields ["tags", "tags"] | /system_reductions "false" | /system_reductions 1
/node_energy_key 3 | /node_energy_key "" | /node_virial_key false | /gp_replicate_geometry true
/gp_replicate_geometry "true" | /owned_only_outputs null | /owned_only_outputs "a"
/owned_only_outputs [""] | /owned_only_outputs [1] | /all_reduce_outputs ["a", "a"]
/output_kinds null | /output_kinds {"a": "global"} | /output_kinds [["a"]] | /output_kinds ["a"]
/output_kinds [["a", "unknown"]] | /output_kinds [["a", "Global"]] | /output_kinds [["", "global"]]
/output_kinds [["a", "global", 1]] | /compile {} | /compile false | /compile {"static_shapes": true}
/compile/force_strategy "magic" | /compile/graph_padder "coo" | /compile/static_shapes 1
OP/op null | OP/op "stage1" | OP/op "demo::stage1.default" | OP/op "a::b::c" | OP/op "::b"
OP/unknown 1 | OP/arg_transforms null | OP/arg_transforms/x {"type": "slice_owned"}
OP/arg_transforms/-1 {"type": "slice_owned"} | OP/arg_transforms/01 {"type": "slice_owned"}
OP/arg_transforms/1234567890 {"type": "slice_owned"} | OP/arg_transforms/0 {}
OP/arg_transforms/0 {"type": "scatter_outputs"} | OP/arg_transforms/0 "slice_owned"
OP/arg_transforms/0/foo 1 | OP/arg_transforms/0 {"type": "gather_inputs_full"}
OUT/reduce "max" | OUT/replicated_consumer 1 | OUT/type "scatter_outputs" | OUT/type "slice_owned"
OUT {"type": "slice_outputs_owned"} | HELPERS/0/kind "cxx" | HELPERS/0/kind "python_"
HELPERS/0/mode "wrap" | HELPERS/0/mode null | HELPERS/1/mode "eager" | HELPERS/2/mode "eager"
HELPERS/0/replacement "r.g" | HELPERS/0/replacement "r:g:h" | HELPERS/1/replacement "r:<lambda>"
HELPERS/2/replacement "r:f.<locals>.g" | HELPERS/2/replacement ":g" | HELPERS/2/replacement "r: g"
HELPERS/0/replacement 1 | HELPERS/0/module_path "" | HELPERS/2/class_name null
HELPERS/2/attr_name "f" | HELPERS/3/target "" | HELPERS/3/label null | HELPERS/3/replacement "r:g"
"""

# Changes that both accept.
ACCEPTED = """
/core/policy/kind "refresh_halo" | /core/policy {"kind": "halo"} | /core/shard_fields []
/node_energy_key null | /compile null | /compile/static_shapes false | /output_kinds []
OP/arg_transforms {} | OP/arg_transforms/10 {"type": "gather_inputs"} | OP/op "_a1::_B2"
OUT {"type": "all_reduce_sum"} | OUT {"type": "scatter_outputs"} | HELPERS/0/mode "marshal"
HELPERS/0/mode "eager" | HELPERS/2/mode "wrap" | HELPERS/2/replacement "a.b:C.d" | HELPERS []
"""

# What a schema cannot say, and the reader refuses.
BEYOND_THE_SCHEMA = """
/version 2.0 | /owned_only_outputs ["b", "a"] | /all_reduce_outputs ["a"]
/output_kinds [["b", "global"], ["a", "global"]]
/output_kinds [["a", "global"], ["a", "per_node"]]
/core/custom_ops [{"op": "a::b"}, {"op": "a::b", "arg_transforms": {"0": {"type": "slice_owned"}}}]
"""


def changes(table):
    """(pointer, value) of each entry of a table."""
    for entry in table.replace("\n", " | ").split(" | "):
        if entry:
            pointer, value = entry.split(" ", 1)
            for name, path in (("OP/", OP), ("OUT", OUT), ("HELPERS", HELPERS)):
                if pointer.startswith(name):
                    pointer = path + pointer.removeprefix(name.rstrip("/"))
            yield pointer, json.loads(value)


def changed(pointer, value):
    """BASE with another value at a pointer."""
    spec = copy.deepcopy(BASE)
    *parents, last = pointer.split("/")[1:]
    place = spec
    for token in parents:
        place = place[int(token) if isinstance(place, list) else token]
    place[int(last) if isinstance(place, list) else last] = value
    return spec


def removed(pointer):
    """BASE without the member at a pointer."""
    spec = changed(pointer, None)
    *parents, last = pointer.split("/")[1:]
    place = spec
    for token in parents:
        place = place[int(token) if isinstance(place, list) else token]
    del place[last]
    return spec


def judge(texts):
    """For each text, "accepted" or the refusal of the strict reader."""
    output = subprocess.run(
        [JUDGE], input=b"".join(text + b"\0" for text in texts), capture_output=True, check=True
    ).stdout.decode()
    verdicts = output.splitlines()
    assert len(verdicts) == len(texts), (len(verdicts), len(texts))
    return verdicts


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.is_valid = staticmethod(make_validator())

    def compare(self, specs, schema_accepts, reader_accepts):
        verdicts = judge([json.dumps(spec).encode() for spec in specs.values()])
        for (name, spec), verdict in zip(specs.items(), verdicts):
            with self.subTest(change=name):
                self.assertEqual(self.is_valid(spec), schema_accepts)
                self.assertEqual(verdict == "accepted", reader_accepts, verdict)

    def test_says_which_draft_it_is(self):
        self.assertIn("2020-12", load_schema()["$schema"])

    def test_and_the_reader_accept_the_base_and_these_changes(self):
        specs = {f"{path} {value}": changed(path, value) for path, value in changes(ACCEPTED)}
        self.compare({"none": BASE, **specs}, schema_accepts=True, reader_accepts=True)

    def test_and_the_reader_refuse_these_changes(self):
        specs = {f"{path} {value}": changed(path, value) for path, value in changes(REFUSED)}
        self.assertGreater(len(specs), 80)
        self.compare(specs, schema_accepts=False, reader_accepts=False)

    def test_and_the_reader_miss_required_members(self):
        required = ["/version", "/core", "/core/policy", "/core/policy/kind", OP + "/op"]
        required += [OUT + "/type", "/compile/force_strategy"]
        required += [f"{HELPERS}/{i}/kind" for i in range(4)]
        required += [f"{HELPERS}/{i}/module_path" for i in range(3)]
        required += [f"{HELPERS}/{i}/attr_name" for i in range(2)]
        required += [HELPERS + end for end in ("/2/class_name", "/2/method_name", "/3/target")]
        specs = {path: removed(path) for path in [*required, HELPERS + "/3/label"]}
        self.compare(specs, schema_accepts=False, reader_accepts=False)

    def test_leaves_to_the_reader_what_it_cannot_say(self):
        specs = {f"{p} {v}": changed(p, v) for p, v in changes(BEYOND_THE_SCHEMA)}
        self.compare(specs, schema_accepts=True, reader_accepts=False)

    def test_accepts_each_file_that_the_reader_accepts(self):
        files = sorted([*PRESETS.glob("*.json"), *SPEC_FILES.glob("*/*.json")])
        texts = [path.read_bytes() for path in files]
        verdicts = judge(texts)
        self.assertGreater(verdicts.count("accepted"), 60)
        for path, text, verdict in zip(files, texts, verdicts):
            if verdict == "accepted":
                with self.subTest(file=path.name):
                    self.assertTrue(self.is_valid(json.loads(text)))

    def test_refuses_each_invalid_file_that_is_refused_at_a_place_in_it(self):
        files = sorted(SPEC_FILES.glob("invalid/*.json"))
        texts = [path.read_bytes() for path in files]
        placed = [
            (path, text)
            for path, text, verdict in zip(files, texts, judge(texts))
            if verdict.startswith("refused text /") and not verdict.startswith("refused text /:")
        ]
        self.assertGreater(len(placed), 20)
        for path, text in placed:
            with self.subTest(file=path.name):
                self.assertFalse(self.is_valid(json.loads(text)))


if __name__ == "__main__":
    unittest.main()
