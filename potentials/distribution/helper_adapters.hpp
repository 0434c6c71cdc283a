// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_HELPER_ADAPTERS_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_HELPER_ADAPTERS_HPP

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "potentials/adapter_use.hpp"
#include "potentials/builtin_replacements.hpp"
#include "potentials/internal_torch.hpp"
#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// What takes the place of a function or method that a helper adapter names.
struct Replacement {
    BuiltinReplacement::Action action = BuiltinReplacement::Action::KeepOriginal;
    torch::jit::Function* function = nullptr;  ///< of the archive; the action has no meaning then
    std::optional<c10::IValue> self;           ///< of a method of the archive
    bool wraps = false;                        ///< gets the original's result first
    std::size_t adapter = 0;
};

/// The helper adapters of a spec, bound to the code of one archive.
class HelperAdapters {
  public:
    /// Throws SpecError for a replacement that is neither built in nor carried by the archive, or
    /// that belongs to another policy.
    HelperAdapters(const MLIPSpec& spec, const torch::jit::Module& module);

    /// The replacement of a called function, nullptr if no adapter names it. `qualified` is the
    /// name in the archive, "__torch__.package.module.function".
    const Replacement* of_function(const std::string& qualified, const std::string& source);
    const Replacement* of_method(const std::string& qualified_class, const std::string& method,
                                 const std::string& source);

    /// After the whole model was followed. Throws SpecError for an adapter that matched nothing,
    /// with the names that come near.
    void require_matches() const;
    const std::vector<AdapterUse>& uses() const { return uses_; }

  private:
    const Replacement* match(const std::string& name, const std::string& source);

    std::vector<std::string> targets_;  ///< dotted name that each adapter looks for
    std::vector<Replacement> replacements_;
    std::vector<AdapterUse> uses_;
    std::set<std::string> seen_;  ///< what the model calls
};

}  // namespace nvalchemi

#endif
