// SPDX-License-Identifier: GPL-2.0-only
// What the command-line tools share: the files that they read and write.
#ifndef NVALCHEMI_POTENTIALS_TOOLS_MODEL_FILES_HPP
#define NVALCHEMI_POTENTIALS_TOOLS_MODEL_FILES_HPP

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

/// Write a file. A regular one appears whole or not at all. Throws std::runtime_error naming it.
void write_file(const std::string& path, const std::string& bytes);

}  // namespace nvalchemi

#endif
