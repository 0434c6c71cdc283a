// SPDX-License-Identifier: GPL-2.0-only
// Every way to read rows by an index, and to sum rows over the system, between two message layers:
// right on parts of structures whose counts collide, or refused by name.
#include "unittest/potentials/form_outcome.hpp"

namespace nvalchemi {

namespace {

const char* const LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

/// In `text`, K is the index, N its row of edge_index, x (edges, 4) what is read.
struct Gather {
    const char* name;
    const char* text;

    friend void PrintTo(const Gather& form, std::ostream* stream) { *stream << form.text; }
};

std::string network(const char* text, const char* index, const char* row) {
    return message_network(std::string(LAYER) + "    " +
                           with_word(with_word(text, "K", index), "N", row) +
                           "\n    h = h + torch.zeros_like(h).index_add(0, i, x * m)\n" + LAYER);
}

std::size_t forward_exchanges(const std::string& methods) {
    const Session session(scripted_archive(methods), options_of_form(scripted_card(), false));
    std::size_t count = 0;
    for (const auto& event : session.schedule())
        count += event.kind == ExchangeEvent::Kind::Forward;
    return count;
}

const Gather kGathers[] = {
    {"index", "x = h[K]"},
    {"index and slice", "x = h[K, :]"},
    {"index and ellipsis", "x = h[K, ...]"},
    {"index int32", "x = h[K.int()]"},
    {"index by a column vector", "x = h[K.view(-1, 1)].squeeze(1)"},
    {"index of two dimensions", "x = h[K, torch.zeros_like(K)].unsqueeze(1) * self.u[0]"},
    {"index and column", "x = h[K, 1].unsqueeze(1) * self.u[0]"},
    {"index and some columns", "x = h[K, :2].repeat(1, 2)"},
    {"index_select", "x = h.index_select(0, K)"},
    {"index_select dim minus 2", "x = torch.index_select(h, -2, K)"},
    {"index_select int32", "x = h.index_select(0, K.int())"},
    {"channel first index_select", "x = h.t().contiguous().index_select(-1, K).t()"},
    {"channel first index", "x = h.t()[:, K].t()"},
    {"gather", "x = torch.gather(h, 0, K.unsqueeze(1).expand(-1, 4))"},
    {"gather repeat", "x = h.gather(0, K.view(-1, 1).repeat(1, 4))"},
    {"gather dim minus 2", "x = torch.gather(h, -2, K.unsqueeze(1).expand(-1, 4))"},
    {"gather of one column", "x = torch.gather(h, 0, K.unsqueeze(1)) * self.u[0]"},
    {"channel first gather", "x = torch.gather(h.t(), 1, K.unsqueeze(0).expand(4, -1)).t()"},
    {"embedding", "x = torch.embedding(h, K)"},
    {"embedding int32", "x = torch.embedding(h, K.int())"},
    {"embedding of a column vector", "x = torch.embedding(h, K.unsqueeze(1)).squeeze(1)"},
    {"take_along_dim", "x = torch.take_along_dim(h, K.unsqueeze(1).expand(-1, 4), 0)"},
    {"take_along_dim broadcast", "x = torch.take_along_dim(h, K.unsqueeze(1), 0)"},
    {"width 3", "x = h[:, :3][K] @ self.u"},
    {"width 3 index_select", "x = (h @ self.w)[:, 1:].index_select(0, K) @ self.u"},
    {"width 3 gather", "x = h[:, :3].gather(0, K.unsqueeze(1).expand(-1, 3)) @ self.u"},
    {"width 1", "x = h.sum(1, keepdim=True)[K] * self.u[0]"},
    {"one dimension", "x = h.sum(1)[K].unsqueeze(1) * self.u[0]"},
    {"one dimension gather", "x = h.sum(1).gather(0, K).unsqueeze(1) * self.u[0]"},
    {"one dimension take_along_dim", "x = h.sum(1).take_along_dim(K, 0).unsqueeze(1) * self.u[0]"},
    {"three dimensions", "x = (h.unsqueeze(1) * self.u.unsqueeze(0))[K].sum(1)"},
    {"middle dimension", "x = (h.unsqueeze(1) * self.u.unsqueeze(0)).transpose(0, 1)[:, K].sum(0)"},
    {"three dimensions gather",
     "x = (h.unsqueeze(1) * self.u.unsqueeze(0))"
     ".gather(0, K.view(-1, 1, 1).expand(-1, 3, 4)).sum(1)"},
    {"columns apart", "x = torch.stack([c[K] for c in h.unbind(1)], 1)"},
    {"of selected edges",
     "k = r < 4.5\n    x = torch.zeros_like(m)\n"
     "    x[k] = h[K[k]] * (torch.relu(4.5 - r) ** 3).unsqueeze(1)[k]"},
    {"index by select", "x = h[edge_index.select(0, N)]"},
    {"index by narrow", "x = h[edge_index.narrow(0, N, 1).squeeze(0)]"},
    {"index by chunk", "x = h[edge_index.chunk(2)[N].view(-1)]"},
    {"index by transposition", "x = h[edge_index.t()[:, N]]"},
    {"index by other types", "x = h[K.int().long()]"},
    {"rows by number first", "x = h[torch.arange(n)][K]"},
};

struct Refused {
    const char* name;
    const char* text;
    const char* part;

    friend void PrintTo(const Refused& form, std::ostream* stream) { *stream << form.text; }
};

const Refused kRefusedGathers[] = {
    {"one_hot product", "x = torch.one_hot(K, n).to(h.dtype) @ h", "aten::one_hot"},
    {"one_hot by comparison", "x = (K.unsqueeze(1) == torch.arange(n)).to(h.dtype) @ h",
     "row numbers are used as data"},
    {"rows of the unit matrix", "x = torch.eye(n, dtype=h.dtype)[K] @ h", "aten::eye"},
    {"take", "x = h.take(K * 4).unsqueeze(1) * self.u[0]", "row numbers are used as data"},
    {"embedding_bag", "x = torch.embedding_bag(h, K, torch.arange(K.size(0)))[0]",
     "aten::embedding_bag"},
    {"index computed from both ends", "x = h[torch.maximum(i, j)]", "row numbers are used as data"},
    {"index turned round", "x = h[K.flip(0)]", "row numbers are used as data"},
    {"repeated rows", "x = h.repeat_interleave(torch.bincount(i, minlength=n), dim=0)", "repeated"},
    {"a row of padding", "x = torch.cat([h, torch.zeros([1, 4], dtype=h.dtype)])[K]",
     "rows are appended to rows"},
    {"one row", "x = h[0] * m", "which atom has that number differs between ranks"},
    {"some rows", "x = h[1:][K - 1]", "positions differ between ranks"},
};

/// Sums over the system: t is used in a function that is not linear.
const Gather kSystemSums[] = {
    {"sum", "t = h.sum(0)"},
    {"sum of all", "t = h.sum()"},
    {"sum keepdim", "t = h.sum(0, keepdim=True)"},
    {"mean", "t = h.mean(0)"},
    {"sum by the number of rows", "t = h.sum(0) / n"},
    {"count", "t = torch.ones_like(h[:, 0]).sum(0)"},
    {"index_add", "t = torch.zeros([1, 4], dtype=h.dtype).index_add(0, b, h)"},
    {"index_add return value dropped",
     "t = torch.zeros([1, 4], dtype=h.dtype)\n    t.index_add_(0, b, h)"},
    {"index_add alpha", "t = torch.zeros([1, 4], dtype=h.dtype).index_add(0, b, h, alpha=0.5)"},
    {"index_add int32 index", "t = torch.zeros([1, 4], dtype=h.dtype).index_add(0, b.int(), h)"},
    {"index_add last dimension",
     "t = torch.zeros([4, 1], dtype=h.dtype).index_add(-1, b, h.t()).t()"},
    {"index_add one dimension", "t = torch.zeros([1], dtype=h.dtype).index_add(-1, b, h.sum(1))"},
    {"scatter_add",
     "t = torch.zeros([1, 4], dtype=h.dtype).scatter_add(0, b.unsqueeze(1).expand(-1, 4), h)"},
    {"scatter_reduce",
     "t = torch.zeros([1, 4], dtype=h.dtype)"
     ".scatter_reduce(0, b.unsqueeze(1).expand(-1, 4), h, reduce='sum')"},
    {"for each species", "t = torch.zeros([3, 4], dtype=h.dtype).index_add(0, s, h)[s]"},
    {"as many systems as features", "t = torch.zeros([4, 4], dtype=h.dtype).index_add(0, s, h)[s]"},
    {"of edges", "t = m.sum(0)"},
    {"of edges by receiver", "t = torch.zeros([1, 4], dtype=h.dtype).index_add(0, b[i], m)"},
    {"of edges by sender", "t = torch.zeros([1, 4], dtype=h.dtype).index_add(0, b[j], m)"},
    {"of edges by the sender's species",
     "t = torch.zeros([3, 4], dtype=h.dtype).index_add(0, s[j], m)[s]"},
    {"of features of senders", "t = h[j].sum(0)"},
    {"into another sum", "t = m.sum(0, keepdim=True).index_add(0, b, h)"},
    {"plus a constant", "t = h.sum(0) + 0.7"},
    {"changed in place", "t = h.sum(0)\n    t += 0.7\n    t *= 0.5"},
    {"written beside constants",
     "a = torch.ones([2, 4], dtype=h.dtype)\n    a[0] += h.sum(0)\n"
     "    t = a[0] * a[1]"},
};

const Gather kSystemSumsIntoConstants[] = {
    {"index_add into a constant", "t = torch.full([1, 4], 0.7, dtype=h.dtype).index_add(0, b, h)"},
    {"index_add into ones in place",
     "t = torch.ones([1, 4], dtype=h.dtype)\n    t.index_add_(0, b, h)"},
    {"index_add into a parameter", "t = self.w[:1].index_add(0, b, h)"},
    {"index_add into a square of a sum", "t = (h.sum(0, keepdim=True) ** 2).index_add(0, b, h)"},
};

const char* const BATCH = R"(, "batch": {"role": "batch"})";

std::string system_network(const char* text) {
    return message_network(std::string(LAYER) + "    b = data['batch']\n    s = data['types']\n" +
                           "    " + text + "\n    h = h + torch.cos(t)\n" + LAYER);
}

const Refused kRefusedSystemSums[] = {
    {"scatter_reduce mean",
     "t = torch.zeros([1, 4], dtype=h.dtype).scatter_reduce(0, b.unsqueeze(1).expand(-1, 4), h, "
     "reduce='mean', include_self=False)",
     "reduced to a per-system value by something other than a sum"},
    {"scatter_reduce amax",
     "t = torch.zeros([1, 4], dtype=h.dtype).scatter_reduce(0, b.unsqueeze(1).expand(-1, 4), h, "
     "reduce='amax')",
     "reduced to a per-system value by something other than a sum"},
    {"index_put", "t = torch.zeros([1, 4], dtype=h.dtype).index_put([b], h, accumulate=True)",
     "rows are summed into systems by index_put; use index_add"},
    {"product", "t = h.t() @ h", "it contracts over all rows"},
    {"product with ones", "t = torch.ones([1, n], dtype=h.dtype) @ h",
     "it contracts over all rows"},
    {"maximum", "t = torch.amax(h, 0)", "mixes all rows"},
    {"standard deviation", "t = h.std(0)", "mixes all rows"},
    {"logarithm of a sum of exponentials", "t = torch.logsumexp(h, 0)", "mixes all rows"},
};

/// Features of `width` numbers, in rows and, transposed, in columns; a sum over senders; a sum over
/// the system.
std::string network_of_width(int width) {
    const auto text = std::to_string(width);
    return with_word(R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    edge_index = data['edge_index']
    i = edge_index[0]
    j = edge_index[1]
    vec = data['edge_vec']
    r = torch.linalg_vector_norm(vec, dim=-1)
    x = (r / self.rc).clamp(max=1.0)
    fc = ((1.0 - x * x) ** 3).unsqueeze(-1)
    m = torch.tanh(vec @ self.u.repeat(1, 50)[:, :WIDTH]) * fc
    h = self.e.repeat(1, 50)[:, :WIDTH][data['types']]
    n = h.size(0)
    w = self.w.repeat(50, 50)[:WIDTH, :WIDTH] * 4.0 / float(WIDTH)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ w) * m)
    h = h + torch.zeros([n, WIDTH], dtype=h.dtype).index_add(0, j, (h[i] @ w) * m)
    c = h.t().contiguous()
    c = c + torch.zeros_like(c).index_add(1, i, c[:, j] * m.t())
    h = (torch.zeros([WIDTH, WIDTH], dtype=h.dtype) + w) @ c
    h = h.t() * torch.cos(c.sum(1) / float(WIDTH))
    h = h + torch.zeros([h.size(0), h.size(1)], dtype=h.dtype).index_add(0, i, h[j] * m)
    return {'energies': torch.tanh(h).sum(1)}
)",
                     "WIDTH", text);
}

/// Models that see positions: v (n, 3) are features as wide as positions.
const Gather kBesidePositions[] = {
    {"width 3 read by senders", "x = v[j] @ self.u"},
    {"width 3 changed", "x = torch.tanh(v * v.sum(1, keepdim=True))[j] @ self.u"},
    {"width 3 summed by sender",
     "a = torch.zeros_like(pos).index_add(0, j, vec * fc)\n    x = a[j] @ self.u"},
    {"width 3 behind positions", "x = torch.cat([pos, v], 1)[j][:, 3:] @ self.u"},
    {"positions moved by features", "p = pos + 0.1 * v\n    x = (p[j] - p[i]) @ self.u"},
    {"positions stretched", "p = pos * 1.5\n    x = (p[j] - p[i]) @ self.u"},
    {"positions summed into", "p = pos.index_add(0, j, vec * fc)\n    x = (p[j] - p[i]) @ self.u"},
};

std::string position_network(const char* text) {
    return std::string(R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    i = data['edge_index'][0]
    j = data['edge_index'][1]
    pos = data['pos']
    vec = pos[j] - pos[i]
    r = torch.linalg_vector_norm(vec, dim=-1)
    fc = ((1.0 - ((r / self.rc) ** 2).clamp(max=1.0)) ** 3).unsqueeze(-1)
    m = torch.tanh(vec @ self.u) * fc
    h = self.e[data['types']]
    v = torch.zeros_like(pos).index_add(0, i, vec * fc)
    )") + text +
           R"(
    h = h + torch.zeros_like(h).index_add(0, i, x * m)
    return {'energies': torch.tanh(h).sum(1)}
)";
}

const char* const CARD_OF_POSITIONS = R"card({"format": "nvalchemi-model", "format_version": 1,
 "name": "scripted", "family": "test", "cutoff": 5.0,
 "units": {"length": "Angstrom", "energy": "eV"}, "dtype": "float64",
 "species": ["O", "Na", "Cl"], "species_index": [0, 1, 2],
 "forward": {"style": "dict", "arguments": []},
 "inputs": {"types": {"role": "species_index"}, "edge_index": {"role": "edge_index"},
            "pos": {"role": "positions"}},
 "edges": {"list": "full", "receiver_row": 0, "sender_row": 1}, "rows": "raw",
 "outputs": {"energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
 "forces": "positions", "ops": []})card";

template <typename Case>
std::string name_of_case(const ::testing::TestParamInfo<Case>& test) {
    return test_name(test.param.name);
}

}  // namespace

class ReadOfRows : public ::testing::TestWithParam<Gather> {};
INSTANTIATE_TEST_SUITE_P(, ReadOfRows, ::testing::ValuesIn(kGathers), name_of_case<Gather>);

TEST_P(ReadOfRows, ByReceiverNeedsNoExchange) {
    const auto methods = network(GetParam().text, "i", "0");
    expect_right(methods);
    EXPECT_EQ(forward_exchanges(methods), 1);  // before the last layer
}

TEST_P(ReadOfRows, BySenderNeedsOneExchange) {
    const auto methods = network(GetParam().text, "j", "1");
    expect_right(methods);
    EXPECT_EQ(forward_exchanges(methods), 2);
}

TEST(ReadOfRowsByBothEnds, IsRight) {
    expect_right(network("x = h[edge_index][0] + h[edge_index][1] * 2.0", "", ""));
    expect_right(network("x = h[edge_index.view(-1)].view(2, -1, 4).sum(0)", "", ""));
}

class RefusedReadOfRows : public ::testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(, RefusedReadOfRows, ::testing::ValuesIn(kRefusedGathers),
                         name_of_case<Refused>);

TEST_P(RefusedReadOfRows, SaysWhy) {
    for (const char* index : {"i", "j"})
        expect_refused(network(GetParam().text, index, "0"), GetParam().part);
}

class SumOverSystem : public ::testing::TestWithParam<Gather> {};
INSTANTIATE_TEST_SUITE_P(, SumOverSystem, ::testing::ValuesIn(kSystemSums), name_of_case<Gather>);

TEST_P(SumOverSystem, CountsEachAtomAndEdgeOnce) {
    expect_right(system_network(GetParam().text), scripted_card(BATCH));
}

class SumIntoConstant : public ::testing::TestWithParam<Gather> {};
INSTANTIATE_TEST_SUITE_P(, SumIntoConstant, ::testing::ValuesIn(kSystemSumsIntoConstants),
                         name_of_case<Gather>);

TEST_P(SumIntoConstant, NeverCountsItSilentlyOnEachRank) {
    expect_never_silently_wrong(system_network(GetParam().text), scripted_card(BATCH));
}

class RefusedSumOverSystem : public ::testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(, RefusedSumOverSystem, ::testing::ValuesIn(kRefusedSystemSums),
                         name_of_case<Refused>);

TEST_P(RefusedSumOverSystem, SaysWhy) {
    expect_refused(system_network(GetParam().text), GetParam().part, scripted_card(BATCH));
}

class BesidePositions : public ::testing::TestWithParam<Gather> {};
INSTANTIATE_TEST_SUITE_P(, BesidePositions, ::testing::ValuesIn(kBesidePositions),
                         name_of_case<Gather>);

TEST_P(BesidePositions, FeaturesAreRefreshedAndPositionsKeepTheirShift) {
    expect_right(position_network(GetParam().text), CARD_OF_POSITIONS);
}

/// Also widths that equal the numbers of rows and edges in the pass's own sample graphs.
class FeatureWidth : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, FeatureWidth,
                         ::testing::Values(1, 2, 3, 4, 8, 12, 29, 37, 41, 53, 127, 157),
                         ::testing::PrintToStringParamName());

TEST_P(FeatureWidth, NeverPassesForANumberOfRowsOrEdges) {
    expect_right(network_of_width(GetParam()));
}

}  // namespace nvalchemi
