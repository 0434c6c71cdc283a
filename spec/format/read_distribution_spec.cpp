// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/read_distribution_spec.hpp"

#include <algorithm>

#include "spec/format/read_helper_adapter.hpp"
#include "spec/format/read_op_adapter.hpp"
#include "spec/format/read_values.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

/// Per-atom fields of a batch that a spec may promote.
constexpr std::array kPerAtomFields = {"atom_categories",
                                       "atomic_masses",
                                       "atomic_numbers",
                                       "charges",
                                       "forces",
                                       "kinetic_energies",
                                       "momenta",
                                       "node_alpha_spins",
                                       "node_attrs",
                                       "node_beta_spins",
                                       "node_embeddings",
                                       "positions",
                                       "tags",
                                       "velocities"};

PolicyKind read_policy_kind(const JsonCursor& kind, const Doubts& doubts) {
    std::vector<std::string> usable = names_in(kPolicyKinds);
    std::erase(usable, name_of(PolicyKind::Shard));
    const std::string expected = "one of " + quoted_list(usable);
    for (const auto& [name, value] : kPolicyKinds) {
        if (!kind.is_string() || kind.as_string() != name) continue;
        if (value == PolicyKind::Shard) {
            doubts.raise(kind, kind.mismatch(expected, "no strategy runs it"),
                         "kept, but no model can run with it");
        }
        return value;
    }
    kind.refuse(expected);
}

StoragePolicy read_policy(const JsonCursor& policy, const Doubts& doubts) {
    if (!policy.is_object()) policy.refuse("an object", "the smallest is {\"kind\": \"halo\"}");
    StoragePolicy result;
    result.kind = read_policy_kind(policy.at("kind", "add \"kind\": \"halo\""), doubts);
    if (!result.has_halo()) {
        doubts.raise_unknown_keys(policy, {"kind"});
        return result;
    }
    doubts.raise_unknown_keys(policy, {"kind", "scatter_mode", "gather_mode"});
    if (result.kind == PolicyKind::RefreshHalo) result.scatter_mode = ScatterMode::Local;
    if (const auto mode = policy.find("scatter_mode")) {
        result.scatter_mode = read_mode(*mode, kScatterModes, doubts);
    }
    if (const auto mode = policy.find("gather_mode")) {
        result.gather_mode = read_mode(*mode, kGatherModes, doubts);
    }
    return result;
}

/// Two adapters of one operator: harmless if they say the same.
void raise_repetition(const JsonCursor& place, const OpAdapter& earlier, const OpAdapter& adapter,
                      const Doubts& doubts) {
    const std::string got = "got operator " + in_quotes(adapter.op) + " a second time";
    if (earlier == adapter) {
        doubts.note(place, got +
                               " with the same transforms, expected each operator once (remove "
                               "one of the two; it counts once)");
    } else {
        doubts.raise(place,
                     got +
                         " with other transforms, expected each operator once (keep the right "
                         "one of the two)",
                     "both are kept, and the last one counts");
    }
}

std::vector<OpAdapter> read_custom_ops(const JsonCursor& custom_ops, const StoragePolicy& policy,
                                       const Doubts& doubts) {
    std::vector<OpAdapter> result;
    std::map<std::string, std::size_t> last_of;
    for (const JsonCursor& item : read_array(custom_ops, "operator adapters")) {
        result.push_back(read_op_adapter(item, policy, doubts));
        const auto [last, is_new] = last_of.emplace(result.back().op, result.size() - 1);
        if (!is_new) raise_repetition(item, result[last->second], result.back(), doubts);
        last->second = result.size() - 1;
    }
    return result;
}

std::optional<std::vector<std::string>> read_shard_fields(const JsonCursor& shard_fields,
                                                          const Doubts& doubts) {
    const std::vector<std::string> known(kPerAtomFields.begin(), kPerAtomFields.end());
    std::vector<std::string> result;
    for (const auto& [name, place] :
         read_names(shard_fields, doubts,
                    "leave the key out for the default fields, or write [] for none")) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            doubts.raise(place,
                         "got " + in_quotes(name) + ", expected one of " + quoted_list(known),
                         "kept, but no field has this name");
        }
        result.push_back(name);
    }
    if (result == default_shard_fields()) return std::nullopt;
    return result;
}

}  // namespace

DistributionSpec read_distribution_spec(const JsonCursor& core, const Doubts& doubts) {
    doubts.raise_unknown_keys(core,
                              {"policy", "custom_ops", "third_party_helpers", "shard_fields"});
    DistributionSpec result;
    result.policy = read_policy(core.at("policy", "add \"policy\": {\"kind\": \"halo\"}"), doubts);
    if (const auto custom_ops = core.find("custom_ops")) {
        result.custom_ops = read_custom_ops(*custom_ops, result.policy, doubts);
    }
    if (const auto helpers = core.find("third_party_helpers")) {
        for (const JsonCursor& helper : read_array(*helpers, "helper adapters")) {
            result.third_party_helpers.push_back(read_helper_adapter(helper, doubts));
        }
    }
    if (const auto fields = core.find("shard_fields")) {
        result.shard_fields = read_shard_fields(*fields, doubts);
    }
    return result;
}

const std::vector<std::string>& default_shard_fields() {
    static const std::vector<std::string> fields = {"positions", "charges", "atomic_numbers"};
    return fields;
}

}  // namespace nvalchemi
