# SPDX-License-Identifier: GPL-2.0-only
"""What each preset says, told a second time: without the C++ tables and without its writer."""

from layout import COMMON_KINDS, compiled, method, python, refresh_halo, spec

COMMON = spec(output_kinds=COMMON_KINDS)

AIMNET2 = spec(
    helpers=[
        python("aimnet.nbops", "mol_sum", "nvalchemi.models.aimnet2:_distributed_mol_sum"),
        method(
            "aimnet.modules.aev",
            "ConvSV",
            "forward",
            "nvalchemi.models.aimnet2:_distributed_conv_sv_forward",
        ),
        method(
            "aimnet.modules.lr",
            "LRCoulomb",
            "forward",
            "nvalchemi.models.aimnet2:_distributed_coulomb_forward",
        ),
        method(
            "aimnet.modules.lr",
            "SRCoulomb",
            "forward",
            "nvalchemi.models.aimnet2:_distributed_coulomb_forward",
        ),
    ],
    fields="positions",
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_global_energy", stress_via_strain=True),
)

UMA_REFRESH = spec(
    refresh_halo(),
    helpers=[
        method(
            "fairchem.core.models.uma.escn_md_block",
            "eSCNMD_Block",
            "forward",
            "nvalchemi.models.uma:_distributed_escn_block_forward",
        ),
        method(
            "fairchem.core.models.uma.escn_md_block",
            "Edgewise",
            "forward",
            "nvalchemi.models.uma:_distributed_edgewise_fold",
        ),
        method(
            "fairchem.core.models.uma.nn.embedding",
            "EdgeDegreeEmbedding",
            "forward",
            "nvalchemi.models.uma:_distributed_edge_degree_fold",
        ),
        python(
            "fairchem.core.models.uma.outputs",
            "reduce_node_to_system",
            "nvalchemi.models.uma:_distributed_reduce_node_to_system",
        ),
        python(
            "fairchem.core.models.uma.escn_md",
            "reduce_node_to_system",
            "nvalchemi.models.uma:_distributed_reduce_node_to_system",
        ),
        method(
            "fairchem.core.modules.normalization.element_references",
            "ElementReferences",
            "undo_refs",
            "nvalchemi.models.uma:_distributed_undo_refs",
        ),
        method(
            "fairchem.core.models.uma.escn_moe",
            "eSCNMDMoeBackbone",
            "_get_merged_mole_consistency_info",
            "nvalchemi.models.uma:_distributed_merged_mole_consistency_info",
        ),
        method(
            "fairchem.core.models.uma.escn_moe",
            "eSCNMDMoeBackbone",
            "set_MOLE_coefficients",
            "nvalchemi.models.uma:_distributed_set_mole_coefficients",
        ),
    ],
    fields="",
    all_reduce_outputs=["stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("model_internal"),
)

GRAPH_PARALLEL = spec(
    {"kind": "graph_parallel"},
    fields="",
    owned_only_outputs=["atomic_energies", "forces"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_global_energy"),
)

PRESETS = {
    "SPEC_MPNN_HALO": COMMON,
    "SPEC_LJ_HALO": COMMON,
    "SPEC_UMA_HALO": COMMON,
    "SPEC_EWALD_HALO": COMMON,
    "SPEC_PME_HALO": COMMON,
    "SPEC_DFTD3_HALO": COMMON,
    "SPEC_UMA_REFRESH_HALO": UMA_REFRESH,
    "SPEC_AIMNET2_HALO": AIMNET2,
    "SPEC_MPNN_GP": GRAPH_PARALLEL,
}
