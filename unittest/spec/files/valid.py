# SPDX-License-Identifier: GPL-2.0-only
"""Specs that the Python package writes, in its released and its early variant."""

from families import FAMILIES
from layout import (
    COMMON_KINDS,
    SpecFile,
    changed,
    compiled,
    early,
    halo,
    jit,
    kinds,
    method,
    module_forward,
    operator,
    python,
    refresh_halo,
    spec,
    written,
)
from presets import PRESETS

GRAPH = {"kind": "graph_parallel"}
LOCAL = {"kind": "local"}
SHARD = {"kind": "shard"}

POLICIES = {
    "policy_halo": spec(output_kinds=kinds("energy per_graph, hessian_trace per_node")),
    "policy_halo_refreshed_by_nobody": spec(halo("halo_correction", "local")),
    "policy_halo_folded_by_nobody": spec(halo("local", "halo_read"), output_kinds=COMMON_KINDS),
    "policy_halo_without_exchange": spec(halo("local", "local"), system_reductions=False),
    "policy_refresh_halo": spec(refresh_halo()),
    "policy_refresh_halo_folded": spec(refresh_halo("halo_correction", "halo_read"), fields=""),
    "policy_refresh_halo_folded_only": spec(refresh_halo("halo_correction", "local")),
    "policy_refresh_halo_without_exchange": spec(refresh_halo("local", "local")),
    "policy_local": spec(LOCAL, output_kinds=kinds("energy per_graph, forces per_node")),
    "policy_graph_parallel": spec(GRAPH, fields=""),
    "policy_graph_parallel_default_fields": spec(GRAPH, owned_only_outputs=["forces"]),
}

OPERATORS = {
    "operator_on_rows_as_they_are": spec(ops=[operator("steinhardt::bond_harmonics")]),
    "operator_two_without_transforms": spec(
        LOCAL, [operator("tabulated::pair_energy"), operator("tabulated::pair_energy_virial")]
    ),
    "transform_gather_inputs": spec(
        ops=[operator("angular::neighbor_triplets", "2 gather_inputs")], fields="positions"
    ),
    "transform_scatter_outputs": spec(
        ops=[operator("embedded::density_of_neighbors", "", "0 scatter_outputs")],
        output_kinds=kinds("energy per_graph, forces per_node"),
    ),
    "transform_slice_and_sum": spec(
        ops=[
            operator(
                "multipole::field_moments",
                "0 slice_owned, 1 slice_owned, 4 slice_owned",
                "0 all_reduce_sum, 2 all_reduce_sum",
            )
        ]
    ),
    "transform_of_every_kind_at_once": spec(
        ops=[
            operator(
                "cluster::three_body_sum",
                "0 gather_inputs, 1 slice_owned",
                "0 scatter_outputs, 1 all_reduce_sum",
            )
        ]
    ),
    "transform_under_refresh_halo": spec(
        refresh_halo(),
        [
            operator(
                "tersoff::bond_order", "0 gather_inputs, 3 gather_inputs", "0 scatter_outputs"
            ),
            operator("tersoff::total_energy", "0 slice_owned", "0 all_reduce_sum"),
        ],
    ),
    "transform_of_all_rows": spec(
        GRAPH, [operator("attention::global_keys", "1 gather_inputs_full")], fields="positions"
    ),
    "transform_of_this_block": spec(
        GRAPH,
        [
            operator(
                "attention::global_values",
                "0 gather_inputs_full, 1 gather_inputs_full",
                "0 slice_outputs_owned, 1 slice_outputs_owned",
            )
        ],
    ),
    "transform_positions_in_numeric_order": spec(
        ops=[
            operator(
                "wide::many_arguments",
                "2 slice_owned, 10 gather_inputs, 100 slice_owned, 999999999 slice_owned",
                "0 all_reduce_sum, 9 scatter_outputs, 11 all_reduce_sum",
            )
        ]
    ),
    "operator_names": spec(
        ops=[operator("_a1::_B2"), operator("X::y__z9"), operator("lower::UPPER"), operator("a::b")]
    ),
    "operators_in_the_order_of_the_file": spec(
        ops=[
            operator("zeta::last", "0 slice_owned"),
            operator("alpha::first", "0 gather_inputs"),
            operator("mu::middle", "", "1 scatter_outputs"),
        ]
    ),
    "operator_of_no_library": spec(ops=[operator("never::registered_anywhere", "0 slice_owned")]),
}

HELPERS = {
    "adapter_python": spec(
        helpers=[python("kestrel.reduce", "sum_by_crystal", "kestrel_adapters.sums:crystal_sum")]
    ),
    "adapter_python_declared": spec(helpers=[python("kestrel.reduce", "sum_by_crystal")]),
    "adapter_jit_eager": spec(
        helpers=[jit("kestrel.radial", "chebyshev", "kestrel_adapters.radial:chebyshev")]
    ),
    "adapter_jit_marshal": spec(
        helpers=[jit("kestrel._angular", "_wigner", None, "marshal")], fields="positions tags"
    ),
    "adapter_method_wrap": spec(
        helpers=[method("kestrel.layers", "Mixing", "forward", "kestrel_adapters:refresh_then_mix")]
    ),
    "adapter_method_marshal": spec(
        refresh_halo(),
        helpers=[method("kestrel.layers", "Mixing", "combine", None, "marshal")],
    ),
    "adapter_module_forward": spec(
        helpers=[
            module_forward("kestrel.layers.Convolution.forward", "first convolution"),
            module_forward("kestrel.layers.Readout.forward"),
        ]
    ),
    "adapter_of_every_kind": spec(
        GRAPH,
        [operator("kestrel::edges")],
        [
            module_forward("kestrel.Model.forward", "all"),
            method("kestrel.blocks", "Block", "forward", "kestrel_adapters.blocks:Gather.before"),
            python("kestrel.energy", "total", "kestrel_adapters.energy:total_of_block"),
            jit("kestrel.radial", "cutoff", "kestrel_adapters.radial:cutoff", "marshal"),
        ],
        fields="",
    ),
    "adapter_replacement_in_a_class": spec(
        helpers=[python("kestrel.a.b.c.d", "f", "kestrel_adapters.x.y:Outer.Inner.static")]
    ),
    "adapter_replacement_of_no_module": spec(
        helpers=[python("kestrel.reduce", "mean", "no_such_package.at_all:mean")]
    ),
    "adapter_of_one_function_in_two_modules": spec(
        helpers=[
            python("kestrel.energy", "sum_nodes", "kestrel_adapters.energy:owned_sum"),
            python("kestrel.charges", "sum_nodes", "kestrel_adapters.energy:owned_sum"),
        ]
    ),
}

OUTPUTS = {
    "outputs_of_every_kind": spec(
        owned_only_outputs=["dipoles", "forces"],
        all_reduce_outputs=["band_gap", "stress"],
        output_kinds=kinds(
            "band_gap per_graph, dipoles per_node, forces per_node, stress per_graph, "
            "weights_digest global"
        ),
    ),
    "outputs_owned_only": spec(owned_only_outputs=["atomic_energies", "magnetic_moments"]),
    "outputs_summed": spec(all_reduce_outputs=["energy", "virial"], system_reductions=False),
    "outputs_sorted_by_code_point": spec(
        owned_only_outputs=["B", "_", "a", "a1", "aB", "a_", "b"],
        all_reduce_outputs=["Z", "z", "\u00e9nergie", "\ufb01", "\U0001d707"],
        output_kinds=kinds(
            "z per_node, Z global, \u00e9 per_node, \ufb01 per_graph, \U0001d707 global"
        ),
    ),
    "node_keys": spec(
        fields="",
        node_energy_key="site_energies",
        node_virial_key="site_virials",
        output_kinds=kinds("site_energies per_node, site_virials per_node"),
    ),
    "node_energy_key_alone": spec(node_energy_key="\u03b5_i", compile=compiled("model_internal")),
    "node_virial_key_alone": spec(node_virial_key="w", system_reductions=False),
    "replicated_geometry": spec(
        GRAPH,
        fields="",
        node_energy_key="site_energies",
        gp_replicate_geometry=True,
        owned_only_outputs=["forces", "site_energies"],
        output_kinds=kinds("energy per_graph, forces per_node, site_energies per_node"),
        compile=compiled("framework_from_node_energy"),
    ),
    "system_sums_of_one_rank": spec(LOCAL, system_reductions=False),
    "shard_fields_none": spec(fields=""),
    "shard_fields_in_another_order": spec(fields="charges positions atomic_numbers"),
    "shard_fields_all": spec(
        fields="velocities tags positions node_embeddings node_beta_spins node_attrs "
        "node_alpha_spins momenta kinetic_energies forces charges atomic_numbers atomic_masses "
        "atom_categories"
    ),
}

COMPILED = {
    "compile_model_internal": spec(compile=compiled("model_internal")),
    "compile_model_internal_any_shape": spec(compile=compiled("model_internal", False)),
    "compile_from_node_energy": spec(
        node_energy_key="site_energies",
        compile=compiled("framework_from_node_energy", stress_via_strain=True),
    ),
    "compile_from_node_energy_any_shape": spec(
        node_energy_key="site_energies", compile=compiled("framework_from_node_energy", False)
    ),
    "compile_from_global_energy": spec(
        output_kinds=COMMON_KINDS,
        compile=compiled("framework_from_global_energy", stress_via_strain=True),
    ),
    "compile_from_global_energy_any_shape": spec(
        refresh_halo(), compile=compiled("framework_from_global_energy", False, True)
    ),
}

TEXTS = {
    "text_escapes": spec(
        helpers=[
            module_forward("k.M.forward", 'quotes "so", a \\ and a / \b\f\n\r\t \x00 \x1f \x7f'),
            module_forward("k.N.forward", "caf\u00e9 \u2028 \u4e2d \ufeff \U0001f9ea"),
        ],
    ),
    "text_long": spec(helpers=[module_forward("k.M.forward", "many words " * 40)]),
}

VALID = POLICIES | OPERATORS | HELPERS | OUTPUTS | TEXTS | FAMILIES

# What the package writes although nothing can come of it: strict reading refuses each at a pointer.
REPLACEMENT = "/core/third_party_helpers/0/replacement"
WRITTEN_DOUBTS = {
    "policy_shard": (spec(SHARD), "/core/policy/kind"),
    "policy_shard_with_transforms": (
        spec(SHARD, [operator("blocks::mix", "0 gather_inputs_full", "0 slice_outputs_owned")]),
        "/core/policy/kind",
    ),
    "outputs_of_unknown_kind": (
        spec(output_kinds=kinds("energy per_graph, partial_charges unknown")),
        "/output_kinds/1/1",
    ),
    "outputs_owned_and_summed": (
        spec(owned_only_outputs=["forces", "heat_flux"], all_reduce_outputs=["heat_flux"]),
        "/all_reduce_outputs/0",
    ),
    "adapter_closure": (
        spec(helpers=[python("kestrel.reduce", "mean", "notebook:make.<locals>.mean")]),
        REPLACEMENT,
    ),
    "adapter_lambda": (
        spec(helpers=[method("kestrel.layers", "Mixing", "forward", "notebook:<lambda>")]),
        REPLACEMENT,
    ),
}

# The same operator twice with the same words is valid, and spoken of.
TWICE = spec(
    ops=[operator("pair::shift", "0 slice_owned"), operator("pair::shift", "0 slice_owned")]
)
CONSUMER = "/core/custom_ops/0/output_transforms/{}/replicated_consumer"
REPLICATED = spec(
    ops=[
        operator(
            "mesh::charges_on_grid",
            "0 slice_owned",
            "0 all_reduce_sum replicated, 1 all_reduce_sum, 3 all_reduce_sum replicated",
        )
    ]
)
NOTES = {
    "operator_twice_the_same": (TWICE, ("/core/custom_ops/1",)),
    "transform_with_replicated_consumer": (REPLICATED, (CONSUMER.format(0), CONSUMER.format(3))),
}

# Early files that are shorter, or older, than what the early package writes today.
OLDER = {
    "smallest": {"version": 2, "core": {"policy": {"kind": "halo"}}},
    "smallest_refresh_halo": {"version": 2, "core": {"policy": {"kind": "refresh_halo"}}},
    "halo_with_one_mode": {
        "version": 2,
        "core": {"policy": {"kind": "halo", "gather_mode": "local"}},
    },
    "adapters_with_defaults": {
        "version": 2,
        "core": {
            "policy": {"kind": "local"},
            "custom_ops": [{"op": "pair::cutoff"}],
            "third_party_helpers": [
                {"kind": "python", "module_path": "kestrel.reduce", "attr_name": "mean"},
                {"kind": "jit", "module_path": "kestrel.radial", "attr_name": "cutoff"},
                {
                    "kind": "method",
                    "module_path": "kestrel.layers",
                    "class_name": "Mixing",
                    "method_name": "forward",
                },
            ],
        },
    },
    "keys_in_another_order": {
        "output_kinds": [["energy", "per_graph"]],
        "core": {"third_party_helpers": [], "policy": {"gather_mode": "local", "kind": "halo"}},
        "version": 2,
    },
    "compile_with_its_strategy_alone": {
        "version": 2,
        "core": {"policy": {"kind": "halo"}},
        "compile": {"force_strategy": "framework_from_global_energy"},
    },
}


def released_files():
    presets = {f"preset_{name}": whole for name, whole in PRESETS.items()}
    for name, whole in (VALID | COMPILED | presets).items():
        yield SpecFile(f"released/{name}.json", written(whole))
    for name, (whole, pointer) in WRITTEN_DOUBTS.items():
        yield SpecFile(f"released/{name}.json", written(whole), pointer, warnings=(pointer,))
    for name, (whole, pointers) in NOTES.items():
        yield SpecFile(f"released/{name}.json", written(whole), warnings=pointers)


def early_files():
    presets = {f"preset_{name}": whole for name, whole in PRESETS.items()}
    for name, whole in (VALID | presets).items():
        yield SpecFile(f"early/{name}.json", written(early(whole)))
    for name, (whole, pointer) in WRITTEN_DOUBTS.items():
        yield SpecFile(f"early/{name}.json", written(early(whole)), pointer, warnings=(pointer,))
    for name, whole in OLDER.items():
        yield SpecFile(f"early/{name}.json", written(whole))
    yield SpecFile(
        "early/operator_twice_the_same.json",
        written(early(TWICE)),
        warnings=("/core/custom_ops/1",),
    )
    # the default, which is not written, spelt out
    yield SpecFile(
        "early/shard_fields_default.json",
        written(early(spec(fields="positions charges atomic_numbers"))),
        read_as=[{"op": "remove", "path": "/core/shard_fields"}],
    )
    for side, name in (("scatter", "sum_over_ranks"), ("gather", "always")):
        pointer = f"/core/policy/{side}_mode"
        yield SpecFile(
            f"early/policy_halo_{side}_mode_of_old.json",
            written(early(changed(spec(), pointer, name))),
            pointer,
            warnings=(pointer,),
            read_as=[{"op": "replace", "path": pointer, "value": "local"}],
        )
