# SPDX-License-Identifier: GPL-2.0-only
"""Specs that are refused in either mode: the base with one change each, and broken texts."""

from base import ARGUMENTS, BASE, FORWARD, JIT, METHOD, OP, OUTPUTS, PYTHON, SMALLEST
from layout import REMOVED, SpecFile, changed, operator, written

SLICE = {"type": "slice_owned"}

# name | what is changed | to what | the pointer of the refusal, where that is another place
INVALID = [
    ("version_1", "/version", 1),
    ("version_3", "/version", 3),
    ("version_text", "/version", "2"),
    ("version_null", "/version", None),
    ("version_2_and_a_bit", "/version", 2.5),
    ("version_missing", "/version", REMOVED, "/"),
    ("core_missing", "/core", REMOVED, "/"),
    ("core_null", "/core", None),
    ("core_array", "/core", []),
    ("policy_missing", "/core/policy", REMOVED, "/core"),
    ("policy_null", "/core/policy", None),
    ("policy_text", "/core/policy", "halo"),
    ("policy_kind_missing", "/core/policy/kind", REMOVED, "/core/policy"),
    ("policy_kind_unknown", "/core/policy/kind", "mirrored"),
    ("policy_kind_upper_case", "/core/policy/kind", "Halo"),
    ("policy_kind_null", "/core/policy/kind", None),
    ("operators_null", "/core/custom_ops", None),
    ("operators_object", "/core/custom_ops", {"lattice::sum_shells": {}}),
    ("operator_text", OP, "lattice::sum_shells"),
    ("operator_name_missing", OP + "/op", REMOVED, OP),
    ("operator_name_null", OP + "/op", None),
    ("operator_name_without_namespace", OP + "/op", "sum_shells"),
    ("operator_name_with_overload", OP + "/op", "lattice::sum_shells.out"),
    ("operator_name_with_two_namespaces", OP + "/op", "a::lattice::sum_shells"),
    ("operator_name_with_a_blank", OP + "/op", "lattice:: sum_shells"),
    ("operator_name_from_a_digit", OP + "/op", "3d::sum_shells"),
    ("operator_name_not_ascii", OP + "/op", "r\u00e9seau::sum_shells"),
    ("transforms_null", ARGUMENTS, None),
    ("transforms_array", OUTPUTS, [{"type": "scatter_outputs"}]),
    ("transform_text", ARGUMENTS + "/0", "slice_owned"),
    ("transform_type_missing", ARGUMENTS + "/0/type", REMOVED, ARGUMENTS + "/0"),
    ("transform_type_unknown", ARGUMENTS + "/0/type", "broadcast"),
    ("transform_type_null", OUTPUTS + "/1/type", None),
    ("transform_of_outputs_on_argument", ARGUMENTS + "/2/type", "all_reduce_sum"),
    ("transform_of_arguments_on_output", OUTPUTS + "/1/type", "slice_owned"),
    ("transform_with_another_key", ARGUMENTS + "/0/width", 3),
    ("transform_with_a_reduction", OUTPUTS + "/0/reduce", "mean"),
    ("transform_with_consumer_of_no_sum", OUTPUTS + "/1/replicated_consumer", False),
    ("position_word", ARGUMENTS + "/weights", SLICE),
    ("position_empty", ARGUMENTS + "/", SLICE),
    ("position_fraction", OUTPUTS + "/1.0", {"type": "scatter_outputs"}),
    ("position_of_ten_digits", ARGUMENTS + "/1000000000", SLICE),
    ("helpers_null", "/core/third_party_helpers", None),
    ("helper_text", JIT, "kestrel.radial:cutoff"),
    ("helper_kind_missing", PYTHON + "/kind", REMOVED, PYTHON),
    ("helper_kind_unknown", PYTHON + "/kind", "cython"),
    ("helper_of_an_operator", PYTHON, operator("lattice::sum_shells", "0 slice_owned")),
    ("helper_module_missing", PYTHON + "/module_path", REMOVED, PYTHON),
    ("helper_function_missing", JIT + "/attr_name", REMOVED, JIT),
    ("helper_class_missing", METHOD + "/class_name", REMOVED, METHOD),
    ("helper_method_missing", METHOD + "/method_name", REMOVED, METHOD),
    ("helper_target_missing", FORWARD + "/target", REMOVED, FORWARD),
    ("helper_label_missing", FORWARD + "/label", REMOVED, FORWARD),
    ("helper_label_null", FORWARD + "/label", None),
    ("helper_module_null", JIT + "/module_path", None),
    ("helper_replacement_number", JIT + "/replacement", 7),
    ("shard_fields_null", "/core/shard_fields", None),
    ("shard_fields_number", "/core/shard_fields", 3),
    ("shard_fields_of_numbers", "/core/shard_fields", ["tags", 1], "/core/shard_fields/1"),
    ("node_energy_key_number", "/node_energy_key", 0),
    ("node_virial_key_array", "/node_virial_key", ["virials"]),
    ("owned_only_null", "/owned_only_outputs", None),
    ("owned_only_of_nulls", "/owned_only_outputs", ["forces", None], "/owned_only_outputs/1"),
    ("all_reduce_true", "/all_reduce_outputs", True),
    ("output_kinds_text", "/output_kinds", "energy"),
    ("output_kind_without_a_kind", "/output_kinds/2", ["forces"]),
    ("output_kind_of_three", "/output_kinds/2", ["forces", "per_node", 3]),
    ("output_kind_object", "/output_kinds/1", {"energy": "per_graph"}),
    ("output_kind_unknown_word", "/output_kinds/1/1", "per_bond"),
    ("output_kind_upper_case", "/output_kinds/1/1", "PER_GRAPH"),
    ("output_kind_null", "/output_kinds/0/1", None),
    ("output_name_null", "/output_kinds/0/0", None),
    ("compile_text", "/compile", "model_internal"),
    ("compile_false", "/compile", False),
    ("compile_without_strategy", "/compile/force_strategy", REMOVED, "/compile"),
    ("compile_unknown_strategy", "/compile/force_strategy", "finite_differences"),
    ("compile_strategy_null", "/compile/force_strategy", None),
]

INVALID_TEXTS = {
    "text_empty": "",
    "text_blank": " \n\t\n",
    "text_of_another_format": "version: 2\ncore:\n  policy: {kind: halo}\n",
    "text_cut_short": written(BASE)[:-40],
    "text_with_comment": "# halo storage\n" + written(BASE),
    "text_with_block_comment": SMALLEST + " /* no more */ }",
    "text_with_single_quotes": "{'version': 2, 'core': {'policy': {'kind': 'halo'}}}",
    "text_with_trailing_comma": SMALLEST + ",}",
    "text_of_two_values": SMALLEST + "} {}",
    "text_with_byte_order_mark": "\ufeff" + SMALLEST + "}",
    "text_with_nan": SMALLEST + ', "node_energy_key": NaN}',
    "text_with_infinity": SMALLEST + ', "system_reductions": -Infinity}',
    "text_with_an_immense_number": SMALLEST + ', "system_reductions": 1e400}',
    "text_with_a_lone_surrogate": SMALLEST + ', "node_energy_key": "\\ud801"}',
    "text_with_a_raw_line_feed_in_a_string": SMALLEST + ', "node_energy_key": "a\nb"}',
    "text_nested_too_deeply": SMALLEST + ', "compile": ' + "[" * 400 + "]" * 400 + "}",
}
# Valid JSON, and no spec.
NO_SPECS = {"text_null": "null", "text_array": "[" + SMALLEST + "}]", "text_number": "2"}


def invalid_files():
    for name, pointer, value, *place in INVALID:
        where = place[0] if place else pointer
        text = written(changed(BASE, pointer, value))
        yield SpecFile(f"invalid/{name}.json", text, where, where)
    flat = {"version": 1, "storage": "halo", "fold": True, "operators": []}
    yield SpecFile("invalid/version_1_without_core.json", written(flat), "/version", "/version")
    for name, text in (INVALID_TEXTS | NO_SPECS).items():
        yield SpecFile(f"invalid/{name}.json", text, "/", "/")
