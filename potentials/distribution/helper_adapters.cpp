// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/helper_adapters.hpp"

#include <algorithm>

#include "potentials/explain_spec.hpp"
#include "spec/format_names.hpp"
#include "spec/json_value.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

namespace {

using Action = BuiltinReplacement::Action;

constexpr const char* ARCHIVE = "archive:";

/// "package.module.name" of "__torch__.package.___torch_mangle_3.module.name".
std::string python_name(const std::string& qualified) {
    std::string name;
    for (std::size_t at = 0; at <= qualified.size();) {
        const auto end = std::min(qualified.find('.', at), qualified.size());
        const auto atom = qualified.substr(at, end - at);
        const bool torch_prefix = at == 0 && atom == "__torch__";
        if (!torch_prefix && atom.rfind("___torch_mangle_", 0) != 0)
            name += (name.empty() ? "" : ".") + atom;
        at = end + 1;
    }
    return name;
}

/// The method at the end of a path of submodules: "parts.sum" is method sum of module.parts.
bool find_method(const torch::jit::Module& module, const std::string& path, Replacement& found) {
    c10::IValue object = module._ivalue();
    std::size_t at = 0;
    for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', at)) {
        const auto name = path.substr(at, dot - at);
        const auto type = object.toObjectRef().type();
        const auto slot = type->findAttributeSlot(name);
        if (!slot || !object.toObjectRef().getSlot(*slot).isObject()) return false;
        object = object.toObjectRef().getSlot(*slot);
        at = dot + 1;
    }
    found.function = object.toObjectRef().type()->findMethod(path.substr(at));
    found.self = object;
    return found.function != nullptr;
}

/// A free function of the archive by its Python name "module.qualname".
bool find_function(const torch::jit::Module& module, const std::string& name, Replacement& found) {
    for (auto* function : module._ivalue()->compilation_unit()->get_functions())
        if (python_name(function->qualname().qualifiedName()) == name) found.function = function;
    return found.function != nullptr;
}

Replacement resolve(const std::string& pointer, const std::string* name,
                    const torch::jit::Module& module, PolicyKind policy) {
    Replacement result;
    if (name == nullptr) return result;
    if (const auto* builtin = find_builtin_replacement(*name)) {
        if (builtin->action == Action::GraphParallel && policy != PolicyKind::GraphParallel)
            throw SpecError(SPEC_DOCUMENT, pointer,
                            "got replacement " + in_quotes(*name) +
                                ", expected one for halo storage (" + builtin->reason +
                                ", which belongs to policy \"graph_parallel\"; remove this "
                                "adapter)");
        result.action = builtin->action;
        return result;
    }
    auto dotted = *name;
    std::replace(dotted.begin(), dotted.end(), ':', '.');
    const bool in_archive = name->rfind(ARCHIVE, 0) == 0
                                ? find_method(module, name->substr(8), result)
                                : find_function(module, dotted, result);
    if (in_archive) return result;
    throw SpecError(SPEC_DOCUMENT, pointer,
                    "got replacement " + in_quotes(*name) +
                        ", expected a built-in one or one that the archive carries (write "
                        "\"archive:submodule.method\" for a method of the archive, or one of " +
                        quoted_list(builtin_replacement_names()) + ")");
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t k = 0; k <= b.size(); ++k) row[k] = k;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t k = 1; k <= b.size(); ++k) {
            const auto above = row[k];
            row[k] = std::min({row[k] + 1, row[k - 1] + 1, diagonal + (a[i - 1] != b[k - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

/// Of what the model calls: the same last part first, then the smallest distance.
std::vector<std::string> near_names(const std::string& wanted, const std::set<std::string>& seen) {
    std::vector<std::string> names(seen.begin(), seen.end());
    const auto rank = [&](const std::string& name) {
        const std::size_t other_name = last_part(name) == last_part(wanted) ? 0 : 1000;
        return other_name + edit_distance(name, wanted);
    };
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    if (names.size() > 5) names.resize(5);
    return names;
}

}  // namespace

HelperAdapters::HelperAdapters(const MLIPSpec& spec, const torch::jit::Module& module) {
    for (const auto& adapter : spec.distribution.third_party_helpers) {
        const auto index = targets_.size();
        const auto pointer = "/core/third_party_helpers/" + std::to_string(index);
        const auto* name = replacement_of(adapter);
        targets_.push_back(target_of(adapter));
        auto replacement =
            resolve(pointer + "/replacement", name, module, spec.distribution.policy.kind);
        const auto* method = std::get_if<MethodAdapter>(&adapter);
        replacement.wraps = method != nullptr && !method->marshal;
        replacement.adapter = index;
        replacements_.push_back(replacement);
        uses_.push_back({pointer,
                         (method ? "method " : "function ") + targets_.back(),
                         action_of(adapter),
                         {}});
    }
}

const Replacement* HelperAdapters::match(const std::string& name, const std::string& source) {
    seen_.insert(name);
    for (std::size_t k = 0; k < targets_.size(); ++k) {
        if (targets_[k] != name) continue;
        note_place(uses_[k], source);
        return &replacements_[k];
    }
    return nullptr;
}

const Replacement* HelperAdapters::of_function(const std::string& qualified,
                                               const std::string& source) {
    return match(python_name(qualified), source);
}

const Replacement* HelperAdapters::of_method(const std::string& qualified_class,
                                             const std::string& method, const std::string& source) {
    return match(python_name(qualified_class) + "." + method, source);
}

void HelperAdapters::require_matches() const {
    for (std::size_t k = 0; k < targets_.size(); ++k) {
        if (!uses_[k].places.empty()) continue;
        const auto near = near_names(targets_[k], seen_);
        throw SpecError(SPEC_DOCUMENT, uses_[k].pointer,
                        "got an adapter of " + in_quotes(targets_[k]) +
                            ", expected a function or method that the model calls (" +
                            (near.empty() ? "it calls none: the archive was inlined or frozen "
                                            "before it was saved"
                                          : "near names: " + quoted_list(near)) +
                            ")");
    }
}

}  // namespace nvalchemi
