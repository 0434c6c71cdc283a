// SPDX-License-Identifier: GPL-2.0-only
// What the distribution pass makes of small networks; for tests.
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_PASS_OUTCOME_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_PASS_OUTCOME_HPP

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "potentials/session.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

struct Outcome {
    bool refused = false;
    std::string text;  ///< of the refusal, or the listing
    std::size_t exchanges = 0;
};

/// Load a network with the self-test on: what loads has reproduced the undecomposed model on
/// three unequal parts, one of them empty.
inline Outcome load(const std::string& body, const std::string& extra_inputs = "") {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = scripted_card(extra_inputs);
    options.card_path = "network.card.json";
    Outcome outcome;
    try {
        const Session session(scripted_archive(message_network(body)), options);
        outcome.text = session.listing();
        for (const auto& event : session.schedule())
            outcome.exchanges += event.kind == ExchangeEvent::Kind::Forward;
    } catch (const ModelError& error) {
        outcome.refused = true;
        outcome.text = error.what();
    }
    return outcome;
}

inline void expect_exchanges(const std::string& body, std::size_t count,
                             const std::string& extra_inputs = "") {
    const auto outcome = load(body, extra_inputs);
    EXPECT_FALSE(outcome.refused) << outcome.text;
    EXPECT_EQ(outcome.exchanges, count) << outcome.text;
}

/// Refused with a text that has all of `parts`, the source line of the network among them.
inline void expect_refusal(const std::string& body, const std::vector<std::string>& parts) {
    const auto outcome = load(body);
    EXPECT_TRUE(outcome.refused) << "it was let through: " << outcome.text;
    for (const auto& part : parts)
        EXPECT_NE(outcome.text.find(part), std::string::npos)
            << "expected '" << part << "' in: " << outcome.text;
}

/// One message layer.
inline constexpr const char* LAYER =
    "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

}  // namespace nvalchemi

#endif
