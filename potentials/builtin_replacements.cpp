// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/builtin_replacements.hpp"

#include <algorithm>

namespace nvalchemi {

namespace {

using Action = BuiltinReplacement::Action;

const std::vector<BuiltinReplacement>& table() {
    static const std::string refresh = "halo rows are refreshed where the model reads them";
    static const std::string sum = "sum of owned rows over all ranks";
    static const std::string composition =
        "the composition is a sum over the whole system wherever the model uses it";
    static const std::vector<BuiltinReplacement> entries{
        {"nvalchemi_lmp:keep_original", Action::KeepOriginal, "the archive's own code"},
        {"nvalchemi_lmp:system_sum", Action::SystemSum, sum},
        {"nvalchemi.models.aimnet2:_distributed_mol_sum", Action::SystemSum, sum},
        {"nvalchemi.models.aimnet2:_distributed_conv_sv_forward", Action::KeepOriginal, refresh},
        {"nvalchemi.models.aimnet2:_distributed_coulomb_forward", Action::KeepOriginal, refresh},
        {"nvalchemi.models.mace:_mace_product_block_static_index_forward", Action::KeepOriginal,
         "it changes how the block is compiled, not what it computes"},
        {"nvalchemi.models.uma:_distributed_escn_block_forward", Action::KeepOriginal, refresh},
        {"nvalchemi.models.uma:_distributed_edgewise_fold", Action::KeepOriginal,
         "edges are summed on their receiver's rank, which has all of them"},
        {"nvalchemi.models.uma:_distributed_edge_degree_fold", Action::KeepOriginal,
         "edges are summed on their receiver's rank, which has all of them"},
        {"nvalchemi.models.uma:_distributed_reduce_node_to_system", Action::KeepOriginal,
         "sums into systems count owned rows and are summed over ranks where that is needed"},
        {"nvalchemi.models.uma:_distributed_undo_refs", Action::KeepOriginal,
         "references are added to each atom's energy on its own rank"},
        {"nvalchemi.models.uma:_distributed_merged_mole_consistency_info", Action::KeepOriginal,
         composition},
        {"nvalchemi.models.uma:_distributed_set_mole_coefficients", Action::KeepOriginal,
         composition},
        {"nvalchemi.models.uma:_distributed_edgewise_gather", Action::GraphParallel,
         "all atoms' features are gathered where the model reads them"},
        {"nvalchemi.models.uma:_distributed_partition_graph", Action::GraphParallel,
         "the edges of a rank have owned receivers already"},
    };
    return entries;
}

}  // namespace

const BuiltinReplacement* find_builtin_replacement(const std::string& name) {
    const auto found = std::find_if(table().begin(), table().end(),
                                    [&](const auto& entry) { return entry.name == name; });
    return found == table().end() ? nullptr : &*found;
}

std::vector<std::string> builtin_replacement_names() {
    std::vector<std::string> names;
    for (const auto& entry : table()) names.push_back(entry.name);
    return names;
}

}  // namespace nvalchemi
