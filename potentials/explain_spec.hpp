// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_EXPLAIN_SPEC_HPP
#define NVALCHEMI_POTENTIALS_EXPLAIN_SPEC_HPP

#include <string>
#include <vector>

#include "potentials/adapter_use.hpp"
#include "spec/mlip_spec.hpp"

namespace nvalchemi {

/// What messages on places in a spec begin with.
constexpr const char* SPEC_DOCUMENT = "distribution spec";

/// What each adapter of `spec` does, as far as that is known without a model: `places` are empty.
/// Operators are looked up among those that are registered in this process.
std::vector<AdapterUse> explain_adapters(const MLIPSpec& spec);

/// "scatter_outputs on output 0"; what is without effect under the spec's policy is left out.
std::string action_of(const OpAdapter& adapter, const StoragePolicy& policy);
/// What takes the helper's place, and why that is right.
std::string action_of(const HelperAdapter& helper);

/// The "replacement" of a helper adapter if it can bind at all.
const std::string* replacement_of(const HelperAdapter& helper);

/// Bind the operator adapters to the operators that are registered in this process. Throws
/// SpecError for an operator that is not, and for a position outside its schema.
void check_operators(const MLIPSpec& spec);
bool is_registered_operator(const std::string& op);

/// What can be transformed of an operator.
struct OperatorPositions {
    std::vector<int> tensor_arguments;
    int outputs = 0;
};
/// Nothing of an operator that is not registered.
OperatorPositions operator_positions(const std::string& op);
/// All registered operators of a namespace, sorted, without overloads.
std::vector<std::string> registered_operators(const std::string& name_space);

/// Open operator libraries, so that they register what they have; a library is looked for in
/// `folder` first, then as the loader does. Throws ModelError naming the library.
void load_operator_libraries(const std::vector<std::string>& libraries,
                             const std::string& folder = "");

}  // namespace nvalchemi

#endif
