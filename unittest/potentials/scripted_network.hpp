// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_SCRIPTED_NETWORK_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_SCRIPTED_NETWORK_HPP

#include <map>
#include <string>
#include <vector>

namespace nvalchemi {

/// Bytes of a TorchScript archive whose forward has the given source. The module has parameters
/// `w` (4, 4), `u` (3, 4), `e` (3, 4) of fixed pseudo-random numbers, float64, and the buffer
/// `rc` = 5.0. `methods` is TorchScript text, for example "def forward(self, ...): ...".
std::string scripted_archive(const std::string& methods);

/// A module with free functions and submodules of classes with names of their own.
struct ScriptedModel {
    struct Part {
        std::string attribute;   ///< of the module
        std::string class_name;  ///< "package.module.Class"
        std::string methods;
    };
    std::string methods;
    /// "package.module" to the text of functions there; they are known by their last name.
    std::map<std::string, std::string> functions;
    std::vector<Part> parts;
};

/// The same for such a module. Text may also call `ops.namespace.operator(...)`.
std::string scripted_archive(const ScriptedModel& model);

/// A card for it: Dict input with `types`, `edge_index` (receiver first), `edge_vec`; output
/// `energies`, forces from edge vectors. `extra_inputs` is JSON text appended to "inputs", `more`
/// to the card.
std::string scripted_card(const std::string& extra_inputs = "", const std::string& more = "");

/// A forward over the Dict `data` whose body computes per-row features `h` (rows, 4) and ends with
/// them; prologue and readout are the same for all networks. `i`, `j` are receivers and senders,
/// `m` (edges, 4) smooth edge features that vanish at the cutoff.
std::string message_network(const std::string& body);

}  // namespace nvalchemi

#endif
