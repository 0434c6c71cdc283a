// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_ADAPTER_BINDING_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_ADAPTER_BINDING_HPP

#include <optional>
#include <string>
#include <vector>

#include "potentials/adapter_use.hpp"
#include "potentials/internal_torch.hpp"
#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// The operator adapters of a spec, bound to registered operators.
class OperatorAdapters {
  public:
    /// Throws SpecError for an operator that no loaded library registers, and for a position
    /// outside its schema.
    explicit OperatorAdapters(const MLIPSpec& spec);

    /// The adapter of an operator by qualified name without overload; nullptr without one.
    const OpAdapter* find(const std::string& op) const;
    /// Note that `adapter` was applied at a source line of the model.
    void note_use(const OpAdapter& adapter, const std::string& source);
    const std::vector<AdapterUse>& uses() const { return uses_; }

  private:
    std::vector<OpAdapter> adapters_;
    std::vector<AdapterUse> uses_;  ///< one for each adapter
};

}  // namespace nvalchemi

#endif
