// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_STRUCTURE_FILE_HPP
#define NVALCHEMI_POTENTIALS_STRUCTURE_FILE_HPP

#include <string>

#include "potentials/model_card.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

/// Read a structure as the command-line tools take it: a JSON object with `symbols`, `cell`
/// (lattice vectors as rows), `pbc` (a boolean or three, true if absent) and `positions`, in
/// Angstrom; other keys are ignored. Or, where the name ends in `xyz`, extended XYZ with Lattice,
/// pbc, and species and pos among its Properties, as the command nvalchemi/write writes it. What
/// the model takes besides stands under `charges` and `inputs` (read_input_values()); in extended
/// XYZ as the properties `charges` and `input_NAME`, and for the system as `input_NAME="..."`.
/// Throws std::runtime_error naming the file and the key or line.
WholeSystem read_structure_file(const std::string& path, const ModelCard& card);

}  // namespace nvalchemi

#endif
