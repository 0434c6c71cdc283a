// SPDX-License-Identifier: GPL-2.0-only
// What the command-line tools share: the files they read, and their outermost function.
#ifndef NVALCHEMI_POTENTIALS_TOOLS_MODEL_FILES_HPP
#define NVALCHEMI_POTENTIALS_TOOLS_MODEL_FILES_HPP

#include <functional>
#include <string>
#include <vector>

#include "potentials/session.hpp"

namespace nvalchemi {

/// The bytes of a file. Throws std::runtime_error naming it.
std::string read_file(const std::string& path);

/// Options for the archive `bytes` of file `path`: `card` if it is not empty, else the embedded
/// one, else NAME.card.json beside the archive, if there is one.
SessionOptions options_with_card(const std::string& bytes, const std::string& path,
                                 const std::string& card);

/// The value of an option --charge. Throws std::runtime_error.
double parse_charge(const std::string& word);

/// The whole of a tool: prints `usage` where it is asked for, and what `run` throws. Returns the
/// exit status: 0, 1 after a failure, 2 after std::invalid_argument (misuse) or without words.
int run_tool(const std::string& name, const std::string& usage,
             const std::vector<std::string>& words,
             const std::function<void(const std::vector<std::string>&)>& run);

}  // namespace nvalchemi

#endif
