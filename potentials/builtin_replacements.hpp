// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_BUILTIN_REPLACEMENTS_HPP
#define NVALCHEMI_POTENTIALS_BUILTIN_REPLACEMENTS_HPP

#include <string>
#include <vector>

namespace nvalchemi {

/// What stands here for a replacement function of the Python package, by its name in a spec.
struct BuiltinReplacement {
    enum class Action {
        KeepOriginal,   ///< run what the archive has: the distribution pass places the exchanges
        SystemSum,      ///< sum of the first argument's owned rows over all ranks, (1, *)
        GraphParallel,  ///< has a meaning under policy "graph_parallel" only
    };
    std::string name;  ///< "module:qualname"
    Action action;
    std::string reason;  ///< why that is right, for listings
};

/// nullptr if there is none of that name.
const BuiltinReplacement* find_builtin_replacement(const std::string& name);
std::vector<std::string> builtin_replacement_names();

}  // namespace nvalchemi

#endif
