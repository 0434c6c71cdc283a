// SPDX-License-Identifier: GPL-2.0-only
// What runs while an exchange is under way, and that nothing else is different.
#include <algorithm>

#include "unittest/potentials/form_outcome.hpp"
#include "unittest/potentials/pass_outcome.hpp"

namespace nvalchemi {
namespace {

constexpr const char* BEGIN = "nvalchemi_lmp::halo_forward_begin";
constexpr const char* END = "nvalchemi_lmp::halo_forward_end";
constexpr const char* WHOLE = "nvalchemi_lmp::halo_forward";

Session loaded(const std::string& body, bool overlap, bool edge_moments = false) {
    auto options = options_of_form(scripted_card(), /*self_test=*/true);
    options.overlap = overlap;
    options.edge_moments = edge_moments;
    return Session(scripted_archive(message_network(body)), options);
}

/// Operators between the two halves of exchange number `which`.
std::vector<std::string> meanwhile(const Session& session, int which = 0) {
    std::vector<std::string> names;
    bool inside = false;
    for (const auto& call : session.operator_calls()) {
        if (call.op == BEGIN) inside = which-- == 0;
        if (call.op == END) inside = false;
        if (inside && call.op != BEGIN) names.push_back(call.op);
    }
    return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::ptrdiff_t count_of(const Session& session, const std::string& op) {
    const auto calls = session.operator_calls();
    return std::count_if(calls.begin(), calls.end(),
                         [&](const OperatorCall& call) { return call.op == op; });
}

bool same_bits(const WholeNumbers& left, const WholeNumbers& right) {
    const auto atoms = left.energies.size() - 1;  // the last is a sum in the order of threads
    return std::equal(left.energies.begin(), left.energies.begin() + atoms,
                      right.energies.begin()) &&
           left.edge_gradients == right.edge_gradients;
}

/// Energies and gradients of one to four ranks, unequal and empty ones too.
void expect_same_bits(const std::string& body, std::ptrdiff_t split) {
    auto plain = loaded(body, false), overlapped = loaded(body, true);
    EXPECT_EQ(count_of(overlapped, BEGIN), split) << overlapped.listing();
    EXPECT_EQ(count_of(overlapped, END), split);
    for (const auto& [name, structure] : test_structures(plain.card()))
        for (int ranks = 1; ranks <= 4; ++ranks)
            for (const bool leave_one_empty : {false, true})
                EXPECT_TRUE(same_bits(in_parts(plain, structure, ranks, leave_one_empty),
                                      in_parts(overlapped, structure, ranks, leave_one_empty)))
                    << name << " on " << ranks << " ranks";
}

/// sin: needed by the exchange; cos: of the same atom's features, from before it; erf: of edges
/// alone; sigmoid: needs the halo rows.
const std::string TYPICAL = std::string(LAYER) + R"(
    own = torch.cos(h) @ self.w
    s = torch.sin(h) @ self.w
    g = torch.sigmoid(s[j])
    radial = torch.erf(m)
    h = own + torch.zeros_like(h).index_add(0, i, g * radial)
)";

TEST(OverlapPass, MovesWhatNeedsNoHaloRowsAndNothingElse) {
    const auto session = loaded(TYPICAL, true);
    const auto inside = meanwhile(session);
    EXPECT_TRUE(has(inside, "aten::cos") && has(inside, "aten::erf")) << session.listing();
    for (const auto* needed : {"aten::sin", "aten::sigmoid", "aten::index_add"})
        EXPECT_FALSE(has(inside, needed)) << needed;
    EXPECT_EQ(count_of(session, WHOLE), 0);
    EXPECT_NE(session.listing().find(", meanwhile " + std::to_string(inside.size()) + " operators"),
              std::string::npos)
        << session.listing();
}

TEST(OverlapPass, IsOffUnlessAskedFor) {
    const auto session = loaded(TYPICAL, false);
    EXPECT_EQ(count_of(session, WHOLE), 1);
    EXPECT_EQ(count_of(session, BEGIN) + count_of(session, END), 0);
    EXPECT_EQ(session.listing().find("meanwhile"), std::string::npos);
}

TEST(OverlapPass, GivesTheSameBits) { expect_same_bits(TYPICAL, 1); }

TEST(OverlapPass, GivesEachExchangeItsOwnWork) {
    const std::string layer = R"(
    h = torch.tanh(own + torch.zeros_like(h).index_add(0, i, (h @ self.w)[j] * radial))
)";
    const std::string body = "    own = h\n    radial = m\n" + layer +
                             "    own = torch.cos(h)\n    radial = torch.erf(m)\n" + layer +
                             "    own = torch.sin(h)\n    radial = torch.sigmoid(m)\n" + layer;
    const auto session = loaded(body, true);
    EXPECT_TRUE(has(meanwhile(session, 0), "aten::erf")) << session.listing();
    EXPECT_TRUE(has(meanwhile(session, 1), "aten::sigmoid")) << session.listing();
    EXPECT_FALSE(has(meanwhile(session, 0), "aten::sigmoid"));
    expect_same_bits(body, 2);
}

TEST(OverlapPass, KeepsTheSchedule) {
    const auto plain = loaded(TYPICAL, false), overlapped = loaded(TYPICAL, true);
    EXPECT_EQ(plain.schedule(), overlapped.schedule());
    EXPECT_EQ(plain.schedule().size(), 2);
}

TEST(OverlapPass, LeavesAnExchangeWholeThatHasNoWorkBesideIt) {
    expect_same_bits(std::string(LAYER) + LAYER, 0);
}

TEST(OverlapPass, KeepsWritesInTheirPlace) {
    // q is read after the exchange, written, and read again; z before it and written after it
    const std::string body = R"(
    q = m * 1.0
    z = h * 1.0
    h = h + torch.zeros_like(h).index_add(0, i, h[j] + q)
    k = z + 2.0
    g = h[j] + q
    q.mul_(0.5)
    z.add_(1.0)
    radial = torch.erf(q)
    h = torch.cos(k) + z + torch.zeros_like(h).index_add(0, i, g * radial)
    own = torch.erf(m)
    h = h + torch.zeros_like(h).index_add(0, i, h[j] * own)
)";
    expect_same_bits(body, 2);
    expect_right(message_network(body));
    const auto session = loaded(body, true);
    EXPECT_FALSE(has(meanwhile(session), "aten::mul_"));
}

/// Three gradients of `c` are added up, in the reverse order of its readers.
const std::string THREE_READERS_OF_C = R"(
    c = torch.tanh(m)
    h = h + torch.zeros_like(h).index_add(0, i, h[j] * c)
    h = h + torch.zeros_like(h).index_add(0, i, h[j] * c)
    radial = torch.erf(c)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * radial)
)";

TEST(OverlapPass, KeepsTheOrderOfSumsOfGradients) {
    expect_same_bits(THREE_READERS_OF_C, 1);
    EXPECT_TRUE(has(meanwhile(loaded(THREE_READERS_OF_C, true)), "aten::erf"));
}

/// The control of it: the same network with its readers in another order has other bits.
TEST(OverlapPass, ComparisonSeesAnotherOrderOfSums) {
    std::string body = THREE_READERS_OF_C;
    const std::string line = "    radial = torch.erf(c)\n";
    body.erase(body.find(line), line.size());
    body.insert(body.find("    h = "), line);
    auto plain = loaded(THREE_READERS_OF_C, false), moved = loaded(body, false);
    const auto structure = sample_structure(plain.card());
    const auto left = in_parts(plain, structure, 2, false),
               right = in_parts(moved, structure, 2, false);
    EXPECT_FALSE(same_bits(left, right));
    EXPECT_LT(relative_difference(left, right), kRounding);
}

/// TYPICAL with forces that the model computes itself; `more` is an argument of the gradient.
Session with_own_forces(bool overlap, const std::string& more) {
    std::string card = scripted_card();
    const auto replace = [&](const std::string& text, const std::string& by) {
        card.replace(card.find(text), text.size(), by);
    };
    replace(R"("edge_vectors"})", R"("edge_vectors", "requires_grad": true})");
    replace(R"("forces": "edge_vectors")", R"("forces": "model")");
    replace(
        R"x("(rows)"}})x",
        R"x("(rows)"}, "forces": {"role": "forces", "kind": "per_node", "shape": "(rows,3)"}})x");
    auto options = options_of_form(card, /*self_test=*/true);
    options.overlap = overlap;
    const std::string ending = R"(
    e = torch.tanh(h).sum(1) * 0.5
    grad = torch.autograd.grad([e.sum()], [vec])" +
                               more + R"()[0]
    assert grad is not None
    f = torch.zeros([n, 3], dtype=h.dtype).index_add(0, i, grad).index_add(0, j, -grad)
    return {'energies': e, 'forces': f}
)";
    return Session(scripted_archive(message_network(TYPICAL + ending)), options);
}

TEST(OverlapPass, GivesTheSameBitsWhereTheModelDifferentiates) {
    auto plain = with_own_forces(false, ""), overlapped = with_own_forces(true, "");
    EXPECT_EQ(count_of(overlapped, BEGIN), 1) << overlapped.listing();
    const auto structure = sample_structure(plain.card());
    const auto parts =
        decompose(structure, plain.card(), unequal_ranks(structure.size(), 3, true), 3);
    std::vector<AtomGraph> graphs;
    for (const auto& part : parts) graphs.push_back(part.graph.view());
    InMemoryGroup group(rows_of(parts));
    const auto expected = plain.evaluate_in_parts(group, graphs);
    const auto found = overlapped.evaluate_in_parts(group, graphs);
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        EXPECT_EQ(found[rank].atomic_energies, expected[rank].atomic_energies);
        EXPECT_EQ(found[rank].row_forces, expected[rank].row_forces);
    }
}

TEST(OverlapPass, LeavesModelsThatDifferentiateTwice) {
    const auto session = with_own_forces(true, ", create_graph=True");
    EXPECT_EQ(count_of(session, BEGIN), 0) << session.listing();
    EXPECT_EQ(count_of(session, WHOLE), 1);
}

TEST(OverlapPass, EnergiesAloneAndMomentsAreTheSame) {
    auto plain = loaded(TYPICAL, false, true), overlapped = loaded(TYPICAL, true, true);
    EXPECT_EQ(plain.energy_schedule(), overlapped.energy_schedule());
    const auto structure = sample_structure(plain.card());
    const auto parts =
        decompose(structure, plain.card(), unequal_ranks(structure.size(), 3, true), 3);
    const auto numbers = [&](Session& session) {
        std::vector<std::vector<double>> found(9);
        InMemoryGroup group(rows_of(parts));
        group.run([&](int rank, HaloExchange& exchange) {
            const auto graph = parts[rank].graph.view();
            found[rank] = session.evaluate_energies(graph, exchange).atomic_energies;
            const auto all = session.evaluate(graph, exchange, true);
            found[3 + rank] = all.edge_gradients;
            found[6 + rank] = all.edge_moments;
        });
        return found;
    };
    const auto expected = numbers(plain);
    EXPECT_EQ(numbers(overlapped), expected);
    EXPECT_FALSE(expected[8].empty());
}

/// Whose second half does nothing: what reads halo rows reads zeros.
class Unfinished final : public HaloExchange {
  public:
    explicit Unfinished(HaloExchange& inner) : inner_(inner) {}
    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    int rank() const override { return inner_.rank(); }
    void forward(const RowBlock& rows) override { inner_.forward(rows); }
    void reverse(const RowBlock& rows) override { inner_.reverse(rows); }
    void system_sum(const RowBlock& values) override { inner_.system_sum(values); }
    void finish(HaloMove, const RowBlock&) override {}

  private:
    HaloExchange& inner_;
};

TEST(OverlapPass, ComparisonSeesAnExchangeThatIsNotFinished) {
    auto session = loaded(TYPICAL, true);
    const auto structure = sample_structure(session.card());
    const auto parts =
        decompose(structure, session.card(), unequal_ranks(structure.size(), 2, false), 2);
    std::vector<AtomGraph> graphs;
    for (const auto& part : parts) graphs.push_back(part.graph.view());
    InMemoryGroup group(rows_of(parts));
    const auto right = session.evaluate_in_parts(group, graphs);
    PartsOptions options;
    options.wrap_exchange = [](int, HaloExchange& inner) {
        return std::make_unique<Unfinished>(inner);
    };
    const auto wrong = session.evaluate_in_parts(group, graphs, options);
    EXPECT_GT(relative_difference(wrong[0].atomic_energies, right[0].atomic_energies), 1e-3);
    EXPECT_GT(relative_difference(wrong[1].edge_gradients, right[1].edge_gradients), 1e-3);
}

TEST(OverlapPass, ARankThatThrowsMeanwhileEndsAll) {
    const std::string body = std::string(LAYER) + R"(
    s = h[j]
    close = (r < 0.7).to(i.dtype) * 3
    radial = torch.erf(m) * self.e[close]
    h = h + torch.zeros_like(h).index_add(0, i, s * radial)
)";
    auto session = loaded(body, true);
    EXPECT_TRUE(has(meanwhile(session), "aten::erf")) << session.listing();
    auto structure = open_structure({{0, 0, 0}, {2.1, 0.3, 0.7}, {3.9, 0, 0}, {4.5, 0, 0}});
    std::string failure;
    try {
        in_parts(session, structure, 2, false);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    EXPECT_NE(failure.find("index"), std::string::npos) << failure;
}

}  // namespace
}  // namespace nvalchemi
