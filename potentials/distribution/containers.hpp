// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_CONTAINERS_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_CONTAINERS_HPP

#include <optional>
#include <vector>

#include "potentials/distribution/abstract_value.hpp"

namespace nvalchemi {

/// A constant as an abstract value; lists, tuples and dictionaries are opened.
AbstractPtr lift(const c10::IValue& value);

/// Results of `node` if it makes, reads or changes a list, tuple or dictionary; empty otherwise.
/// Containers are resolved while tracing: no instruction is made. Throws ModelError for a position
/// that depends on the number of atoms or on data.
std::optional<std::vector<AbstractPtr>> apply_container(const torch::jit::Node* node,
                                                        std::vector<AbstractPtr>& inputs);

}  // namespace nvalchemi

#endif
