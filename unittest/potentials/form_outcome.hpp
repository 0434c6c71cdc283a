// SPDX-License-Identifier: GPL-2.0-only
// What becomes of one way to write something: it is right in parts, or it is refused. For tests.
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_FORM_OUTCOME_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_FORM_OUTCOME_HPP

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "unittest/potentials/parts_comparison.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

/// Sums in another order differ by a few machine epsilons.
inline constexpr double kRounding = 1e-12;

inline SessionOptions options_of_form(const std::string& card, bool self_test) {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = card;
    options.card_path = "network.card.json";
    options.self_test = self_test;
    return options;
}

/// Loaded without the self-test, so that the distribution pass alone makes it right.
inline void expect_right(const std::string& methods, const std::string& card = scripted_card()) {
    const auto archive = scripted_archive(methods);
    try {
        Session session(archive, options_of_form(card, false));
        const auto found = difference_in_parts(session, test_structures(session.card()));
        EXPECT_LT(found.relative, kRounding) << found.where << "\n" << session.listing();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "refused: " << error.what();
    }
}

/// Refused by the distribution pass with a text that has this part.
inline void expect_refused(const std::string& methods, const std::string& part,
                           const std::string& card = scripted_card()) {
    const auto archive = scripted_archive(methods);
    try {
        const Session session(archive, options_of_form(card, false));
        ADD_FAILURE() << "it was let through: " << session.listing();
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << "expected '" << part << "' in: " << error.what();
    }
}

/// Right, or refused at load by whatever finds it, the self-test included.
inline void expect_never_silently_wrong(const std::string& methods,
                                        const std::string& card = scripted_card()) {
    const auto archive = scripted_archive(methods);
    try {
        Session session(archive, options_of_form(card, true));
        const auto found = difference_in_parts(session, test_structures(session.card()));
        EXPECT_LT(found.relative, kRounding) << found.where << "\n" << session.listing();
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()), "");
    }
}

/// A form by name, for GoogleTest.
inline std::string test_name(std::string text) {
    std::string name;
    bool starts_word = true;
    for (const char letter : text) {
        if (std::isalnum(static_cast<unsigned char>(letter)))
            name += starts_word
                        ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
                        : letter;
        starts_word = !std::isalnum(static_cast<unsigned char>(letter));
    }
    return name;
}

/// `text` with every stand-alone word `word` replaced.
inline std::string with_word(const std::string& text, const std::string& word,
                             const std::string& by) {
    const auto in_word = [&](std::size_t at) {
        return at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool found = text.compare(at, word.size(), word) == 0 &&
                           !(at > 0 && in_word(at - 1)) && !in_word(at + word.size());
        result += found ? by : std::string(1, text[at]);
        at += found ? word.size() : 1;
    }
    return result;
}

}  // namespace nvalchemi

#endif
