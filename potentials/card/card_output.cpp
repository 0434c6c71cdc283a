// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/card/card_output.hpp"

#include <algorithm>

#include "potentials/card/card_shape.hpp"

namespace nvalchemi {

namespace {

constexpr std::array<NamedValue<OutputRole>, 7> kRoles = {{
    {"atomic_energies", OutputRole::AtomicEnergies},
    {"energy", OutputRole::Energy},
    {"forces", OutputRole::Forces},
    {"virial", OutputRole::Virial},
    {"stress", OutputRole::Stress},
    {"charges", OutputRole::Charges},
    {"other", OutputRole::Other},
}};

constexpr std::array<NamedValue<OutputKind>, 4> kKinds = {{
    {"per_node", OutputKind::PerNode},
    {"per_graph", OutputKind::PerGraph},
    {"global", OutputKind::Global},
    {"unknown", OutputKind::Unknown},
}};

constexpr std::array<NamedValue<bool>, 2> kSigns = {{
    {"minus_dE_dstrain", true},
    {"dE_dstrain", false},
}};

/// What a role says about its tensor: numbers for each row, or for the system.
struct RoleLayout {
    OutputRole role;
    OutputKind kind;
    const char* kind_name;
    std::int64_t numbers;
    const char* shapes;
};

constexpr std::array<RoleLayout, 6> kLayouts = {{
    {OutputRole::AtomicEnergies, OutputKind::PerNode, "per_node", 1, "(rows) or (rows,1)"},
    {OutputRole::Energy, OutputKind::PerGraph, "per_graph", 1, "(), (1) or (1,1)"},
    {OutputRole::Forces, OutputKind::PerNode, "per_node", 3, "(rows,3)"},
    {OutputRole::Virial, OutputKind::PerGraph, "per_graph", 9, "(3,3) or (1,3,3)"},
    {OutputRole::Stress, OutputKind::PerGraph, "per_graph", 9, "(3,3) or (1,3,3)"},
    {OutputRole::Charges, OutputKind::PerNode, "per_node", 1, "(rows) or (rows,1)"},
}};

void check_layout(const JsonCursor& record, const OutputSpec& output) {
    const bool starts_with_rows = !output.shape.empty() && output.shape[0] == kRowsDimension;
    const auto system_sized = std::count_if(output.shape.begin(), output.shape.end(),
                                            [](std::int64_t d) { return d < 0; });
    if (output.kind == OutputKind::PerNode && !(starts_with_rows && system_sized == 1)) {
        record.at("shape").refuse("a shape (rows,...)", "a per_node output has one row per atom");
    }
    if (output.kind == OutputKind::PerGraph && system_sized > 0) {
        record.at("shape").refuse("a shape of numbers", "a per_graph output has a fixed size");
    }
    for (const RoleLayout& layout : kLayouts) {
        if (layout.role != output.role) continue;
        const std::string role = "role " + in_quotes(record.at("role").as_string());
        if (output.kind != layout.kind) {
            record.at("kind").refuse(in_quotes(layout.kind_name), "that is the kind of " + role);
        }
        if (fixed_element_count(output.shape) != layout.numbers) {
            record.at("shape").refuse(layout.shapes, "that is what " + role + " holds");
        }
    }
}

void read_sign(const JsonCursor& record, OutputSpec& output) {
    // A stress is commonly dE/dstrain divided by the volume, a virial its negative undivided.
    output.minus_dE_dstrain = output.role != OutputRole::Stress;
    const auto sign = record.find("sign");
    if (!sign) return;
    if (output.role != OutputRole::Virial && output.role != OutputRole::Stress) {
        sign->fail("got a sign, expected none (only the roles \"virial\" and \"stress\" have one)");
    }
    output.minus_dE_dstrain = sign->as_one_of(kSigns);
}

OutputSpec read_output(const JsonCursor& record, const std::string& key) {
    record.allow_only({"role", "kind", "shape", "autograd", "sign"});
    OutputSpec output;
    output.key = key;
    output.role = record.at("role", "say what the model returns there").as_one_of(kRoles);
    output.kind = record.at("kind", "say how the output is laid out").as_one_of(kKinds);
    output.shape = read_card_shape(record.at("shape", "such as \"(rows,1)\""));
    if (const auto flag = record.find("autograd")) output.autograd = flag->as_bool();
    read_sign(record, output);
    check_layout(record, output);
    return output;
}

bool has_role(const std::vector<OutputSpec>& outputs, OutputRole role) {
    return std::any_of(outputs.begin(), outputs.end(),
                       [role](const OutputSpec& output) { return output.role == role; });
}

}  // namespace

std::vector<OutputSpec> read_card_outputs(const JsonCursor& outputs) {
    std::vector<OutputSpec> result;
    for (const auto& [key, record] : outputs.members()) {
        OutputSpec output = read_output(record, key);
        if (output.role != OutputRole::Other && has_role(result, output.role)) {
            record.at("role").refuse("a role that no other output has",
                                     "one of the two outputs must be \"other\"");
        }
        result.push_back(std::move(output));
    }
    if (!has_role(result, OutputRole::AtomicEnergies)) {
        outputs.fail(
            "got no output of role \"atomic_energies\", expected one (the energy of a "
            "part of the system is the sum over its own atoms; export a model that "
            "returns the energy of each atom)");
    }
    return result;
}

}  // namespace nvalchemi
