// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/element_test.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "potentials/distributed_model.hpp"
#include "potentials/sample_structure.hpp"
#include "potentials/session.hpp"
#include "spec/json_value.hpp"

namespace nvalchemi {

namespace {

/// Why the model cannot be evaluated on a few atoms of these elements.
std::optional<std::string> failure(const ModelCard& card, const torch::jit::Module& module,
                                   SampleStructure& structure) {
    try {
        undecomposed_energies(card, module, torch::kCPU, undecomposed_graph(structure).view());
    } catch (const NotFiniteError&) {
        // without neighbours some models have no energy
    } catch (const ModelError& error) {
        return error.what();
    }
    return {};
}

[[noreturn]] void refuse(const ModelCard& card, std::int64_t element, const std::string& reason) {
    const auto place = std::to_string(element);
    const auto symbol = in_quotes(card.species[element]);
    const bool by_index = card.find_input(InputRole::SpeciesIndex) != nullptr;
    throw ModelError("model card of '" + card.name + "' /" +
                     (by_index ? "species_index/" + place + ": got " +
                                     std::to_string(card.species_index[element]) + " for " + symbol
                               : "species/" + place + ": got " + symbol) +
                     ", expected an element that the archive can be evaluated with. Correct the "
                     "card, or export the model again. The archive says: " +
                     reason);
}

}  // namespace

void test_elements(const ModelCard& card, const torch::jit::Module& module) {
    auto structure = sample_cluster(card);
    const auto elements = static_cast<std::int64_t>(card.species.size());
    std::optional<std::pair<std::int64_t, std::string>> failed;
    bool some_work = false;
    for (std::int64_t first = 0; first < elements; first += structure.size()) {
        for (std::int64_t atom = 0; atom < structure.size(); ++atom)
            structure.species[atom] = std::min(first + atom, elements - 1);
        if (!failure(card, module, structure)) {
            some_work = true;
            continue;
        }
        const auto suspects = structure.species;
        for (const auto element : suspects) {
            std::fill(structure.species.begin(), structure.species.end(), element);
            const auto reason = failure(card, module, structure);
            if (!reason)
                some_work = true;
            else if (!failed)
                failed.emplace(element, *reason);
        }
    }
    // what fails with every element is no fault of one: it is told where it is found
    if (failed && some_work) refuse(card, failed->first, failed->second);
}

}  // namespace nvalchemi
