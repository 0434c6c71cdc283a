// SPDX-License-Identifier: GPL-2.0-only
// Models that take their neighbours as a table, and a total charge.
#include "unittest/potentials/pass_outcome.hpp"

namespace nvalchemi {

namespace {

const std::string kTable =
    R"(, "nbmat": {"role": "neighbor_matrix"}, "mask": {"role": "neighbor_mask"})";

/// A layer over slots; the sum is over the second dimension.
const std::string kLayer = R"(
    near = h.index_select(0, data['nbmat'].flatten()).view(h.size(0), data['nbmat'].size(1), 4)
    h = torch.tanh(h + 0.1 * (near * data['mask'].unsqueeze(-1)).sum(1))
)";

/// Forces need edges; a sum over receivers at the end reads no sender.
const std::string kEdges = "    h = h + torch.zeros_like(h).index_add(0, i, m)\n";

std::string failure(const std::string& inputs, const std::string& body,
                    std::optional<double> charge) {
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text = scripted_card(inputs);
    options.card_path = "network.card.json";
    options.total_charge = charge;
    try {
        const Session session(scripted_archive(message_network(body)), options);
        EXPECT_EQ(session.card().total_charge, charge.value_or(0.0));
        return "";
    } catch (const ModelError& error) {
        return error.what();
    }
}

}  // namespace

// what loads has reproduced the undecomposed model, whose table has exactly as many slots as needed

TEST(NeighborTable, FirstLayerReadsSpeciesAlone) { expect_exchanges(kLayer + kEdges, 0, kTable); }

TEST(NeighborTable, LaterLayersReadRefreshedRows) {
    expect_exchanges(kLayer + kLayer + kEdges, 1, kTable);
}

TEST(NeighborTable, EveryFormOfAGatherIsFollowed) {
    for (const std::string gather :
         {"h[data['nbmat']]", "h.index_select(0, data['nbmat'].view(-1)).view(h.size(0), -1, 4)",
          "h[data['nbmat'].flatten()].unflatten(0, data['nbmat'].shape)"})
        expect_exchanges(
            kLayer + "    h = h + (" + gather + " * data['mask'].unsqueeze(-1)).sum(1)\n" + kEdges,
            1, kTable);
}

/// The mask is there for a purpose: an empty slot shows the row itself.
TEST(NeighborTable, WithoutTheMaskEmptySlotsCount) {
    const auto outcome = load("    h = h + 0.1 * h[data['nbmat']].sum(1)\n" + kEdges, kTable);
    EXPECT_TRUE(outcome.refused) << outcome.text;
    EXPECT_NE(outcome.text.find("does not reproduce the undecomposed model"), std::string::npos)
        << outcome.text;
}

TEST(NeighborTable, MixesWithAnEdgeList) { expect_exchanges(kLayer + LAYER + kLayer, 2, kTable); }

TEST(TotalCharge, IsWhatTheModelIsGiven) {
    const std::string role = R"(, "charge": {"role": "total_charge"})";
    const std::string body = "    h = h + data['charge'] * 0.01\n" + kEdges;
    EXPECT_EQ(failure(role, body, 2.0), "");
    EXPECT_EQ(failure(role, body, std::nullopt), "");
    EXPECT_NE(failure("", "", 2.0)
                  .find("got a total charge of 2.000000, but the model has no input "
                        "of role \"total_charge\"; leave it out"),
              std::string::npos);
}

/// Pieces of one sum are made whole by one sum over ranks, forward and back.
TEST(SharedSums, OneServesAllPieces) {
    const auto sums = [](const std::string& body) {
        SessionOptions options;
        options.path = "network.pt";
        options.device = "cpu";
        options.card_text = scripted_card();
        options.card_path = "network.card.json";
        const Session session(scripted_archive(message_network(body)), options);
        std::size_t count = 0;
        for (const auto& event : session.schedule())
            count += event.kind == ExchangeEvent::Kind::SystemSum;
        return count;
    };
    const std::string layer = LAYER;
    EXPECT_EQ(sums(layer + "    s = torch.cat([h, h * h], dim=1).sum(0)\n"
                           "    h = h * torch.cos(s[:4]) + torch.sin(s[4:])\n"),
              2);
    EXPECT_EQ(sums(layer + "    h = h * torch.cos(0.1 * h.sum(0)) + torch.sin((h * h).sum(0))\n"),
              4);
}

}  // namespace nvalchemi
