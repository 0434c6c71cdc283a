// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ELEMENT_TEST_HPP
#define NVALCHEMI_POTENTIALS_ELEMENT_TEST_HPP

#include "potentials/internal_torch.hpp"
#include "potentials/model_card.hpp"

namespace nvalchemi {

/// Evaluate atoms of every element of the card on the archive as it is, in host memory. Throws
/// ModelError for the first element that the model cannot take: otherwise a run would, at whatever
/// step an atom of it comes.
void test_elements(const ModelCard& card, const torch::jit::Module& module);

}  // namespace nvalchemi

#endif
