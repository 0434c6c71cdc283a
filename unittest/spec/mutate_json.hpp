// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_MUTATE_JSON_HPP
#define NVALCHEMI_UNITTEST_SPEC_MUTATE_JSON_HPP

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "spec/json_value.hpp"

namespace nvalchemi::testing {

/// Changes texts of specs and model cards at random, the same way for the same seed on every
/// machine: most as trees with the format's own vocabulary, which often gives valid specs, the
/// others byte by byte.
class SpecMutator {
  public:
    SpecMutator(const std::vector<std::string>& valid_texts, std::uint64_t seed);

    /// A valid text after one to four changes.
    std::string next();

  private:
    std::size_t below(std::size_t count) { return random_() % count; }
    template <typename Item>
    const Item& one_of(const std::vector<Item>& items) {
        return items[below(items.size())];
    }

    void change_tree(JsonValue& root);
    void change_object(JsonObject& object);
    void change_array(JsonArray& array);
    void change_leaf(JsonValue& leaf);
    std::string any_word();
    std::string changed_word(std::string word);
    JsonValue any_value();
    std::string changed_bytes(std::string text);

    std::vector<std::string> texts_;
    std::vector<JsonValue> trees_;
    std::mt19937_64 random_;
};

}  // namespace nvalchemi::testing

#endif
