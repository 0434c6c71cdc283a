# SPDX-License-Identifier: GPL-2.0-only
"""Whole specs as the wrappers of model families would declare them; the families are made up."""

from layout import (
    COMMON_KINDS,
    compiled,
    halo,
    jit,
    kinds,
    method,
    module_forward,
    operator,
    python,
    refresh_halo,
    spec,
)

# A bond-order potential: two kernels, of which one leaves parts of sums in halo rows.
BOND_ORDER = spec(
    ops=[
        operator("bop::coordination", "0 gather_inputs", "0 scatter_outputs"),
        operator("bop::pair_and_angle_energy", "1 slice_owned"),
    ],
    owned_only_outputs=["atomic_energies"],
    output_kinds=COMMON_KINDS,
)

# Moment tensors from kernels with two further derivatives, all on rows as they are.
MOMENT_TENSORS = spec(
    ops=[
        operator(f"moments::{name}{end}")
        for name in ("contract", "outer_product")
        for end in ("", "_bwd", "_bwd_bwd")
    ],
    helpers=[
        method("kestrel.moments", "Basis", "forward", None, "marshal"),
        method("kestrel.moments", "Update", "forward", "kestrel_adapters.moments:fold_update"),
    ],
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_node_energy", stress_via_strain=True),
)

# Charges that minimise an energy of the whole system: sums over ranks inside of the model.
CHARGE_EQUILIBRATION = spec(
    ops=[
        operator(
            "charges::hardness_times_vector",
            "0 gather_inputs, 1 slice_owned",
            "0 scatter_outputs, 1 all_reduce_sum",
        ),
        operator("charges::dot", "0 slice_owned, 1 slice_owned", "0 all_reduce_sum"),
    ],
    helpers=[python("kestrel.charges", "constrain_total", "kestrel_adapters.charges:constrain")],
    fields="charges positions",
    node_energy_key="atomic_energies",
    owned_only_outputs=["charges"],
    all_reduce_outputs=["dipole"],
    output_kinds=kinds("atomic_energies per_node, charges per_node, dipole per_graph"),
    compile=compiled("framework_from_global_energy", static_shapes=False),
)

# Electrostatics on a mesh that each rank fills with its own atoms.
SPLINE_MESH = spec(
    ops=[
        operator(
            "mesh::spread_b_splines",
            "0 slice_owned, 1 slice_owned",
            "0 all_reduce_sum",
        ),
        operator("mesh::interpolate_potential", "2 slice_owned"),
        operator(
            "mesh::dipole_of_slab",
            "0 slice_owned, 1 slice_owned, 3 slice_owned",
            "0 all_reduce_sum, 1 all_reduce_sum, 2 all_reduce_sum",
        ),
    ],
    node_energy_key="atomic_energies",
    owned_only_outputs=["forces"],
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_node_energy", stress_via_strain=True),
)

# Dispersion with virials of atoms and nothing to exchange but coordination numbers.
DISPERSION = spec(
    halo("halo_correction", "local"),
    fields="",
    node_energy_key="atomic_energies",
    node_virial_key="atomic_virials",
    output_kinds=kinds("atomic_energies per_node, atomic_virials per_node, energy per_graph"),
)

# An equivariant network whose blocks refresh their halo rows themselves.
REFRESHING_BLOCKS = spec(
    refresh_halo(),
    helpers=[
        method("osprey.backbone", "Block", "forward", "osprey_adapters:refreshed_block"),
        method("osprey.backbone", "EdgeDegree", "forward", "osprey_adapters:degree_fold"),
        python("osprey.outputs", "sum_nodes", "osprey_adapters:sum_owned_nodes"),
        python("osprey.references", "sum_nodes", "osprey_adapters:sum_owned_nodes"),
        jit("osprey.rotations", "wigner_d", None, "marshal"),
        module_forward("osprey.backbone.Experts.forward", "mixture of experts"),
    ],
    fields="",
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("model_internal"),
)

# Attention over all atoms, each rank with its block of queries.
GRAPH_TRANSFORMER = spec(
    {"kind": "graph_parallel"},
    [
        operator(
            "attention::neighbours",
            "1 gather_inputs_full, 2 gather_inputs_full",
            "0 slice_outputs_owned",
        )
    ],
    [method("osprey.transformer", "Layer", "forward", "osprey_adapters:gather_then_attend")],
    fields="",
    owned_only_outputs=["atomic_energies", "forces"],
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_node_energy"),
)

# Pairs alone: kernels return energies, forces and virials, and no sum leaves a rank.
PAIRS = spec(
    halo("local", "local"),
    [operator("pairs::morse"), operator("pairs::morse_with_virial"), operator("pairs::buckingham")],
    system_reductions=False,
    output_kinds=COMMON_KINDS,
    compile=compiled("model_internal", static_shapes=False),
)

FAMILIES = {
    "family_bond_order": BOND_ORDER,
    "family_moment_tensors": MOMENT_TENSORS,
    "family_charge_equilibration": CHARGE_EQUILIBRATION,
    "family_spline_mesh": SPLINE_MESH,
    "family_dispersion": DISPERSION,
    "family_refreshing_blocks": REFRESHING_BLOCKS,
    "family_graph_transformer": GRAPH_TRANSFORMER,
    "family_pairs": PAIRS,
}
