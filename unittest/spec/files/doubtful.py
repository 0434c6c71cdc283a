# SPDX-License-Identifier: GPL-2.0-only
"""Specs that the Python package takes without a word: refused if strict, warned of if lenient."""

from base import ARGUMENTS, BASE, FORWARD, JIT, METHOD, OP, OUTPUTS, PYTHON, SMALLEST
from layout import LOADS, SpecFile, changed, operator, spec, written

SLICE = {"type": "slice_owned"}
FOLD = {"type": "scatter_outputs"}
GRAPH = spec({"kind": "graph_parallel"}, [operator("lattice::sum_shells")])
LOCAL = spec({"kind": "local"}, [operator("lattice::sum_shells")])
STATIC = "/compile/static_shapes"
STRAIN = "/compile/stress_via_strain"


def sets(pointer, value):
    return [{"op": "replace", "path": pointer, "value": value}]


def drops(pointer):
    return [{"op": "remove", "path": pointer}]


def doubt(name, pointer, value, read_as=(), places=None, base=BASE):
    """`base` with one doubtful value, which is spoken of at `places` and read as the patch says."""
    places = places or (pointer,)
    text = written(changed(base, pointer, value))
    return SpecFile(f"doubtful/{name}.json", text, places[0], LOADS, tuple(places), list(read_as))


def text_doubt(name, text, places, read_as=()):
    return SpecFile(f"doubtful/{name}.json", text, places[0], LOADS, tuple(places), list(read_as))


def unknown_keys():
    for name, pointer in (
        ("outputs", "/outputs"),
        ("comment", "/comment"),
        ("in_core", "/core/install_site"),
        ("in_policy", "/core/policy/width"),
        ("in_operator", OP + "/kind"),
        ("in_jit", JIT + "/device"),
        ("in_python", PYTHON + "/mode"),
        ("in_method", METHOD + "/attr_name"),
        ("in_module_forward", FORWARD + "/replacement"),
        ("in_compile", "/compile/graph_padder"),
    ):
        yield doubt("unknown_key_" + name, pointer, "none", drops(pointer))
    pointer = "/core/policy/scatter_mode"
    yield doubt("unknown_key_mode_of_local", pointer, "local", drops(pointer), base=LOCAL)
    yield doubt(
        "unknown_key_mode_of_graph_parallel",
        "/core/policy/gather_mode",
        "halo_read",
        drops("/core/policy/gather_mode"),
        base=GRAPH,
    )


def modes():
    for side, value in (
        ("scatter", "fold"),
        ("scatter", None),
        ("gather", "HALO_READ"),
        ("gather", 1),
    ):
        pointer = f"/core/policy/{side}_mode"
        name = f"mode_{side}_{'word' if isinstance(value, str) else 'no_word'}"
        yield doubt(name, pointer, value, sets(pointer, "local"))
    yield doubt("mode_jit", JIT + "/mode", "wrap", sets(JIT + "/mode", "eager"))
    yield doubt("mode_method", METHOD + "/mode", "before", sets(METHOD + "/mode", "wrap"))


def flags():
    """What counts as true and as false in Python."""
    for name, value, truth in (
        ("text", "false", True),
        ("empty_text", "", False),
        ("zero", 0, False),
        ("fraction", 0.5, True),
        ("null", None, False),
        ("empty_array", [], False),
        ("array", [False], True),
        ("empty_object", {}, False),
        ("object", {"of": "one rank"}, True),
    ):
        yield doubt("flag_" + name, "/system_reductions", value, sets("/system_reductions", truth))
    yield doubt("flag_static_shapes", STATIC, "no", sets(STATIC, True))
    yield doubt("flag_stress_via_strain", STRAIN, 1, sets(STRAIN, True))
    consumer = OUTPUTS + "/0/replicated_consumer"
    yield doubt("flag_replicated_consumer", consumer, 0, sets(consumer, False))
    geometry = "/gp_replicate_geometry"
    yield doubt("flag_replicated_geometry", geometry, "yes", sets(geometry, True), base=GRAPH)
    yield doubt("geometry_replicated_under_halo", geometry, True)
    yield doubt("geometry_replicated_under_local", geometry, True, base=LOCAL)


def names():
    owned, reduced, fields = "/owned_only_outputs", "/all_reduce_outputs", "/core/shard_fields"
    yield doubt("names_text", owned, "forces", sets(owned, ["forces"]))
    yield doubt("names_empty_text", owned, "", sets(owned, []))
    yield doubt("names_text_summed", reduced, "virial", sets(reduced, ["virial"]))
    yield doubt("names_object", owned, {"b": 1, "a": 2}, sets(owned, ["a", "b"]))
    yield doubt("names_empty_object", reduced, {}, sets(reduced, []))
    yield doubt("name_empty", owned, ["", "forces"], places=[owned + "/0"])
    yield doubt(
        "names_unsorted", owned, ["b", "c", "a"], sets(owned, ["a", "b", "c"]), [owned + "/2"]
    )
    yield doubt(
        "name_twice",
        reduced,
        ["heat", "stress", "stress"],
        sets(reduced, ["heat", "stress"]),
        [reduced + "/2"],
    )
    yield doubt("name_owned_and_summed", reduced, ["energy", "forces"], places=[reduced + "/1"])
    yield doubt(
        "names_both_twice", reduced, ["charges", "forces"], places=[reduced + "/0", reduced + "/1"]
    )
    yield doubt("shard_fields_text", fields, "charges", sets(fields, ["charges"]))
    yield doubt("shard_fields_object", fields, {"tags": None}, sets(fields, ["tags"]))
    yield doubt("shard_field_unknown", fields, ["positions", "spins"], places=[fields + "/1"])
    yield doubt("shard_field_twice", fields, ["tags", "charges", "tags"], places=[fields + "/2"])
    yield doubt("shard_field_empty", fields, [""], places=[fields + "/0", fields + "/0"])
    yield doubt("node_energy_key_empty", "/node_energy_key", "")
    yield doubt("node_virial_key_empty", "/node_virial_key", "")


def output_kinds():
    at = "/output_kinds"
    energy, forces = ["energy", "per_graph"], ["forces", "per_node"]
    yield doubt("output_kinds_null", at, None, sets(at, []))
    yield doubt(
        "output_kinds_object",
        at,
        {"forces": "per_node", "energy": "per_graph"},
        sets(at, [energy, forces]),
    )
    yield doubt(
        "output_kinds_object_with_unknown",
        at,
        {"forces": "per_node", "energy": "unknown"},
        sets(at, [["energy", "unknown"], forces]),
        [at, at + "/energy"],
    )
    yield doubt(
        "output_kinds_unsorted", at, [forces, energy], sets(at, [energy, forces]), [at + "/1"]
    )
    yield doubt(
        "output_kind_twice",
        at,
        [energy, ["energy", "global"]],
        sets(at, [["energy", "global"]]),
        [at + "/1"],
    )
    yield doubt("output_kind_unknown", at, [["energy", "unknown"], forces], places=[at + "/0/1"])
    yield doubt("output_name_empty", at, [["", "global"], energy], places=[at + "/0/0"])


def operators():
    many = (
        ("blank", " 1", "1"),
        ("leading_zero", "01", "1"),
        ("sign", "+1", "1"),
        ("underscore", "1_0", "10"),
        ("minus_zero", "-0", "0"),
    )
    for name, spelling, position in many:
        pointer = f"{ARGUMENTS}/{spelling}"
        yield doubt(
            "position_" + name,
            ARGUMENTS,
            {spelling: SLICE},
            sets(ARGUMENTS, {position: SLICE}),
            [pointer],
        )
    yield doubt("position_negative", ARGUMENTS + "/-1", SLICE)
    yield doubt("position_negative_of_outputs", OUTPUTS + "/-12", FOLD)
    yield doubt(
        "position_in_two_spellings",
        ARGUMENTS,
        {"3": {"type": "gather_inputs"}, "03": SLICE},
        sets(ARGUMENTS, {"3": SLICE}),
        [ARGUMENTS + "/03", ARGUMENTS + "/03"],
    )
    for name, base, place, kind in (
        ("all_rows_under_halo", BASE, ARGUMENTS, "gather_inputs_full"),
        ("this_block_under_halo", BASE, OUTPUTS, "slice_outputs_owned"),
        ("owned_rows_under_graph_parallel", GRAPH, ARGUMENTS, "slice_owned"),
        ("halo_rows_under_graph_parallel", GRAPH, ARGUMENTS, "gather_inputs"),
        ("sum_under_graph_parallel", GRAPH, OUTPUTS, "all_reduce_sum"),
        ("fold_under_local", LOCAL, OUTPUTS, "scatter_outputs"),
        ("all_rows_under_local", LOCAL, ARGUMENTS, "gather_inputs_full"),
    ):
        yield doubt(
            "storage_of_" + name, place + "/5", {"type": kind}, (), [place + "/5/type"], base
        )
    twice = [operator("pair::shift", "0 slice_owned"), operator("pair::shift", "0 gather_inputs")]
    yield doubt("operator_twice", "/core/custom_ops", twice, places=["/core/custom_ops/1"])
    three = [twice[0], operator("pair::scale"), twice[1], twice[1]]
    yield doubt(
        "operator_three_times",
        "/core/custom_ops",
        three,
        places=["/core/custom_ops/2", "/core/custom_ops/3"],
    )


def helpers():
    for name, adapter, value in (
        ("without_colon", PYTHON, "kestrel_adapters.reduce.mean"),
        ("with_two_colons", JIT, "kestrel_adapters:radial:cutoff"),
        ("closure", METHOD, "kestrel_adapters:make.<locals>.wrapped"),
        ("lambda", PYTHON, "<lambda>:f"),
        ("with_a_blank", JIT, "kestrel_adapters: cutoff"),
        ("of_nothing", METHOD, ":forward"),
        ("empty", PYTHON, ""),
    ):
        yield doubt("replacement_" + name, adapter + "/replacement", value)
    for pointer in (JIT + "/module_path", PYTHON + "/attr_name", METHOD + "/class_name"):
        yield doubt(f"helper_{pointer.rsplit('/')[-1]}_empty", pointer, "")
    yield doubt("helper_target_empty", FORWARD + "/target", "")


def whole():
    yield doubt("version_2_with_a_point", "/version", 2.0, sets("/version", 2))
    yield doubt("compile_empty", "/compile", {}, sets("/compile", None))
    yield doubt(
        "policy_shard", "/core/policy", {"kind": "shard"}, base=spec(), places=["/core/policy/kind"]
    )
    yield text_doubt(
        "version_2_with_an_exponent",
        SMALLEST.replace("2,", "2e0,") + "}",
        ["/version"],
        sets("/version", 2),
    )
    yield text_doubt("key_twice", '{"version": 1, ' + SMALLEST[1:] + "}", ["/version"])
    operators = '"custom_ops": [{"op": "a::b", "arg_transforms": {"0": {"type": "gather_inputs"}, '
    operators += '"1": {"type": "slice_owned"}, "0": {"type": "slice_owned"}}}]'
    yield text_doubt(
        "position_twice",
        SMALLEST[:-1] + ", " + operators + "}}",
        ["/core/custom_ops/0/arg_transforms/0"],
    )
    yield text_doubt(
        "three_doubts",
        '{"version": 2, "core": {"policy": {"kind": "halo", "scatter_mode": "sum"}}, "tags": [], '
        '"owned_only_outputs": "forces"}',
        ["/tags", "/core/policy/scatter_mode", "/owned_only_outputs"],
        drops("/tags")
        + sets("/core/policy/scatter_mode", "local")
        + sets("/owned_only_outputs", ["forces"]),
    )


def doubtful_files():
    for group in (unknown_keys, modes, flags, names, output_kinds, operators, helpers, whole):
        yield from group()
