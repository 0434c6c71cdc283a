// SPDX-License-Identifier: GPL-2.0-only
// Every way to write a sum of edges into rows, by receiver and by sender, between two message
// layers: right on parts of structures whose counts collide, or refused by name.
#include "unittest/potentials/form_outcome.hpp"

namespace nvalchemi {

namespace {

/// In `text`, K is the index that is summed into, g (edges, 4) what is summed, s (n, 4) the sum.
struct Form {
    const char* name;
    const char* text;
    const char* refused_by_receiver = nullptr;  ///< part of the refusal; null: right
    const char* refused_by_sender = nullptr;

    friend void PrintTo(const Form& form, std::ostream* stream) { *stream << form.text; }
};

const char* const LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";

std::string network(const Form& form, const char* index) {
    return message_network(std::string(LAYER) + "    g = ((h[i] * h[j]) @ self.w + h[j]) * m\n" +
                           "    " + with_word(form.text, "K", index) +
                           "\n    h = h + torch.tanh(s)\n" + LAYER);
}

/// A layer whose sum by receiver is made by `text` of detached values.
std::string detached_network(const std::string& text) { return network({"", text.c_str()}, "i"); }

constexpr const char* const REFRESH_OF_SUMS_ALONE =
    R"({"version": 2, "core": {"policy": {"kind": "halo", "scatter_mode": "halo_correction",
     "gather_mode": "local"}}})";

constexpr const char* kNotASum = "edges are reduced per sender by something other than a sum";
constexpr const char* kLastOneKept = "the last one is kept, which depends on their order";
constexpr const char* kOtherDimension =
    "edges are summed per sender along a dimension other than the first";
constexpr const char* kRowNumbers = "row numbers are used as data";
constexpr const char* kTwoDimensions = "an adjacency or all-pairs matrix";

const Form kForms[] = {
    // --- index_add ---
    {"index_add", "s = torch.zeros_like(h).index_add(0, K, g)"},
    {"index_add function", "s = torch.index_add(torch.zeros_like(h), 0, K, g)"},
    {"index_add in place", "s = torch.zeros_like(h).index_add_(0, K, g)"},
    {"index_add return value dropped", "s = torch.zeros_like(h)\n    s.index_add_(0, K, g)"},
    {"index_add into new_zeros", "s = h.new_zeros([n, 4])\n    s.index_add_(0, K, g)"},
    {"index_add dim minus 2", "s = torch.zeros_like(h).index_add(-2, K, g)"},
    {"index_add alpha", "s = torch.zeros_like(h).index_add(0, K, g, alpha=0.5)"},
    {"index_add in place negative alpha",
     "s = torch.zeros_like(h)\n    s.index_add_(0, K, g, alpha=-1)"},
    {"index_add int32 index", "s = torch.zeros_like(h).index_add(0, K.int(), g)"},
    {"index_add in place int32 index", "s = torch.zeros_like(h)\n    s.index_add_(0, K.int(), g)"},
    // --- scatter_add ---
    {"scatter_add expand_as",
     "s = torch.zeros_like(h).scatter_add(0, K.unsqueeze(1).expand_as(g), g)"},
    {"scatter_add expand", "s = torch.zeros_like(h).scatter_add(0, K[:, None].expand(-1, 4), g)"},
    {"scatter_add repeat", "s = torch.zeros_like(h).scatter_add(0, K.view(-1, 1).repeat(1, 4), g)"},
    {"scatter_add return value dropped",
     "s = torch.zeros_like(h)\n    s.scatter_add_(0, K.unsqueeze(1).expand_as(g), g)"},
    {"scatter_add of an int32 index",
     "s = torch.zeros_like(h).scatter_add(0, K.int().long().unsqueeze(1).expand_as(g), g)"},
    {"scatter with reduce add",
     "s = torch.zeros_like(h).scatter(0, K.unsqueeze(1).expand_as(g), g.detach(), reduce='add')"},
    // --- scatter_reduce ---
    {"scatter_reduce sum",
     "s = torch.zeros_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='sum')"},
    {"scatter_reduce sum return value dropped",
     "s = torch.zeros_like(h)\n"
     "    s.scatter_reduce_(0, K.unsqueeze(1).expand_as(g), g, reduce='sum')"},
    {"scatter_reduce sum without self",
     "s = torch.ones_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='sum', "
     "include_self=False)",
     nullptr, "expected include_self=True"},
    {"scatter_reduce mean",
     "s = torch.zeros_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='mean')",
     nullptr, kNotASum},
    {"scatter_reduce mean without self",
     "s = torch.zeros_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='mean', "
     "include_self=False)",
     nullptr, kNotASum},
    {"scatter_reduce amax",
     "s = torch.zeros_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='amax')",
     nullptr, kNotASum},
    {"scatter_reduce amin without self",
     "s = torch.zeros_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='amin', "
     "include_self=False)",
     nullptr, kNotASum},
    {"scatter_reduce prod",
     "s = torch.ones_like(h).scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='prod')",
     nullptr, kNotASum},
    {"index_reduce mean",
     "s = torch.zeros_like(h).index_reduce(0, K, g, 'mean', include_self=False)", nullptr,
     kNotASum},
    {"index_reduce amax", "s = torch.zeros_like(h).index_reduce(0, K, g, 'amax')", nullptr,
     kNotASum},
    // --- index_put ---
    {"index_put accumulate", "s = torch.zeros_like(h).index_put([K], g, accumulate=True)"},
    {"index_put accumulate return value dropped",
     "s = torch.zeros_like(h)\n    s.index_put_([K], g, accumulate=True)"},
    {"index_put accumulate int32 index",
     "s = torch.zeros_like(h).index_put([K.int()], g, accumulate=True)"},
    {"put accumulate", "s = torch.zeros_like(h).put(K * 4, g[:, 0], accumulate=True)", kRowNumbers,
     kRowNumbers},
    // --- no sum: of several edges of a row one would be kept, another one for each order ---
    {"index_put", "s = torch.zeros_like(h).index_put([K], g)", kLastOneKept, kNotASum},
    {"index assigned", "s = torch.zeros_like(h)\n    s[K] = g", kLastOneKept, kNotASum},
    {"index assigned with plus", "s = torch.zeros_like(h)\n    s[K] += g", kLastOneKept, kNotASum},
    {"index_copy", "s = torch.zeros_like(h).index_copy(0, K, g)", kLastOneKept, kNotASum},
    {"scatter", "s = torch.zeros_like(h).scatter(0, K.unsqueeze(1).expand_as(g), g)", kLastOneKept,
     kNotASum},
    // --- segment_reduce: needs edges in the order of rows ---
    {"segment_reduce",
     "s = torch.segment_reduce(g, 'sum', lengths=torch.bincount(K, minlength=n), axis=0)",
     "aten::segment_reduce", "aten::bincount"},
    {"segment_reduce of sorted edges",
     "order = torch.argsort(K)\n"
     "    s = torch.segment_reduce(g[order], 'sum', lengths=torch.bincount(K, minlength=n), "
     "axis=0)",
     "aten::segment_reduce", "aten::bincount"},
    {"cumulated sums", "s = torch.cumsum(g, 0)[K]", "mixes all edges", "mixes all edges"},
    // --- other dimensions ---
    {"channel first dim minus 1",
     "s = torch.zeros_like(h).t().contiguous().index_add(-1, K, g.t()).t()", nullptr,
     kOtherDimension},
    {"channel first return value dropped",
     "c = torch.zeros([4, n], dtype=h.dtype)\n"
     "    c.index_add_(1, K, g.t().contiguous())\n    s = c.t()",
     nullptr, kOtherDimension},
    {"channel first scatter_add",
     "s = torch.zeros([4, n], dtype=h.dtype)"
     ".scatter_add(-1, K.unsqueeze(0).expand(4, -1), g.t()).t()",
     nullptr, kOtherDimension},
    {"middle dimension",
     "v = torch.zeros([3, n, 4], dtype=h.dtype)"
     ".index_add(1, K, (vec.unsqueeze(2) * g.unsqueeze(1)).transpose(0, 1))\n"
     "    s = (v * v).sum(0)",
     nullptr, kOtherDimension},
    {"three dimensions",
     "v = torch.zeros([n, 3, 4], dtype=h.dtype)"
     ".index_add(0, K, vec.unsqueeze(2) * g.unsqueeze(1))\n"
     "    s = (v * v).sum(1)"},
    {"three dimensions scatter_add",
     "q = vec.unsqueeze(2) * g.unsqueeze(1)\n"
     "    v = torch.zeros([n, 3, 4], dtype=h.dtype)"
     ".scatter_add(0, K.view(-1, 1, 1).expand_as(q), q)\n"
     "    s = (v * v).sum(1)"},
    // --- features of width 1 and 3, which look like sums over systems and like positions ---
    {"one dimension",
     "q = torch.zeros([n], dtype=h.dtype)\n    q.index_add_(0, K, g.sum(1))\n"
     "    s = q.unsqueeze(1) * self.u.sum(0)"},
    {"one dimension dim minus 1",
     "q = torch.zeros([n], dtype=h.dtype).index_add(-1, K, g.sum(1))\n"
     "    s = q.unsqueeze(1) * self.u.sum(0)"},
    {"one dimension scatter_add dim minus 1",
     "q = torch.zeros([n], dtype=h.dtype)\n    q.scatter_add_(-1, K, g.sum(1))\n"
     "    s = q.unsqueeze(1) * self.u.sum(0)"},
    {"one column",
     "q = torch.zeros([n, 1], dtype=h.dtype).index_add(0, K, g.sum(1, keepdim=True))\n"
     "    s = q * self.u.sum(0)"},
    {"width 3",
     "v = torch.zeros([n, 3], dtype=h.dtype).index_add(0, K, g[:, :3])\n    s = v @ self.u"},
    {"width 3 return value dropped",
     "v = torch.zeros([n, 3], dtype=h.dtype)\n    v.index_add_(0, K, g[:, :3])\n"
     "    s = v @ self.u"},
    {"count", "q = torch.bincount(K, minlength=n).to(h.dtype)\n    s = q.unsqueeze(1) * self.u[0]",
     nullptr, "expected a count per receiver"},
    // --- accumulators that are not zero ---
    {"into features", "s = h.index_add(0, K, g)"},
    {"into features in place", "s = h\n    s.index_add_(0, K, g)"},
    {"into a copy of features in place", "s = h.clone()\n    s.index_add_(0, K, g)"},
    {"into features scatter_add", "s = h.scatter_add(0, K.unsqueeze(1).expand_as(g), g)"},
    {"into features scatter_reduce",
     "s = h.scatter_reduce(0, K.unsqueeze(1).expand_as(g), g, reduce='sum')"},
    {"into features index_put", "s = h.index_put([K], g, accumulate=True)"},
    {"into fives", "s = torch.full_like(h, 5.0).index_add(0, K, g)"},
    {"into fives by number", "s = torch.full([n, 4], 5.0, dtype=h.dtype).index_add(0, K, g)"},
    {"into ones in place", "s = torch.ones_like(h)\n    s.index_add_(0, K, g)"},
    {"into embeddings", "s = self.e[data['types']].index_add(0, K, g)"},
    {"into a sum", "s = torch.zeros_like(h).index_add(0, K, g).index_add(0, K, g * 2.0)"},
    {"into both ends", "s = torch.zeros_like(h).index_add(0, i, g).index_add(0, j, g * 2.0)"},
    {"into both ends return values dropped",
     "s = torch.zeros_like(h)\n    s.index_add_(0, j, g)\n    s.index_add_(0, i, g * 2.0)"},
    {"into views",
     "s = torch.zeros_like(h)\n    a = s[:, :2]\n    a.index_add_(0, K, g[:, :2])\n"
     "    b = s[:, 2:]\n    b.index_add_(0, K, g[:, 2:])"},
    {"written into a part",
     "s = torch.zeros_like(h)\n"
     "    s[:, :2] = torch.zeros([n, 2], dtype=h.dtype).index_add(0, K, g[:, :2])"},
    {"of selected edges",
     "k = r < 4.5\n"
     "    s = torch.zeros_like(h).index_add(0, K[k], (g * (torch.relu(4.5 - r) ** 3)"
     ".unsqueeze(1))[k])"},
    // --- products with a matrix of zeros and ones: named ---
    {"one_hot product", "s = torch.one_hot(K, n).to(h.dtype).t() @ g", "aten::one_hot",
     "aten::one_hot"},
    {"one_hot einsum", "s = torch.einsum('en,ef->nf', [torch.one_hot(K, n).to(h.dtype), g])",
     "aten::one_hot", "aten::one_hot"},
    {"one_hot by comparison", "s = (K.unsqueeze(1) == torch.arange(n)).to(h.dtype).t() @ g",
     kRowNumbers, kRowNumbers},
    {"one_hot by scatter",
     "a = torch.zeros([K.size(0), n], dtype=h.dtype).scatter(1, K.unsqueeze(1), 1.0)\n"
     "    s = a.t() @ g",
     kTwoDimensions, kTwoDimensions},
    {"rows of the unit matrix", "s = torch.eye(n, dtype=h.dtype)[K].t() @ g", "aten::eye",
     "aten::eye"},
    {"a loop over rows",
     "s = torch.zeros_like(h)\n    for a in range(n):\n"
     "        s[a] = (g * (K == a).to(h.dtype).unsqueeze(1)).sum(0)",
     "prim::Loop", "prim::Loop"},
    // --- an index of its own for each column ---
    {"columns by other indices",
     "s = torch.zeros_like(h).scatter_add(0, torch.stack([i, j, i, j], 1), g)",
     "neither the receivers nor the senders", "neither the receivers nor the senders"},
};

}  // namespace

class SumIntoRows : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(, SumIntoRows, ::testing::ValuesIn(kForms),
                         [](const auto& test) { return test_name(test.param.name); });

TEST_P(SumIntoRows, ByReceiver) {
    const auto& form = GetParam();
    if (form.refused_by_receiver)
        expect_refused(network(form, "i"), form.refused_by_receiver);
    else
        expect_right(network(form, "i"));
}

TEST_P(SumIntoRows, BySender) {
    const auto& form = GetParam();
    if (form.refused_by_sender)
        expect_refused(network(form, "j"), form.refused_by_sender);
    else
        expect_right(network(form, "j"));
}

TEST(WeightedCounts, KeepTheirTypeOnARankWithoutEdges) {
    // torch.bincount returns integers where it has nothing to count
    for (const char* weights : {"g.sum(1).detach()", "g.sum(1).detach().float()"})
        expect_right(detached_network(std::string("q = torch.bincount(K, weights=") + weights +
                                      ", minlength=n).to(h.dtype)\n"
                                      "    s = q.unsqueeze(1) * self.u[0]"));
}

namespace {

/// Sums of rows into one value for each element, s (3, 4): `t` is the target, H the rows.
struct SystemForm {
    const char* name;
    const char* text;
    const char* refused = nullptr;

    friend void PrintTo(const SystemForm& form, std::ostream* stream) { *stream << form.text; }
};

const SystemForm kSystemForms[] = {
    {"into zeros", "s = torch.zeros(3, 4, dtype=h.dtype).index_add(0, types, h)"},
    {"into zeros in place", "s = h.new_zeros([3, 4])\n    s.index_add_(0, types, h)"},
    {"into ones", "s = torch.ones([3, 4], dtype=h.dtype).index_add(0, types, h)"},
    {"into ones in place",
     "s = torch.ones([3, 4], dtype=h.dtype)\n    s.index_add_(0, types, h, alpha=0.5)"},
    {"into parameters", "s = self.e.index_add(0, types, h)"},
    {"into a copy of parameters", "s = self.e.clone()\n    s.index_add_(0, types, h)"},
    {"into parameters scatter_add",
     "s = self.e.scatter_add(0, types.unsqueeze(1).expand_as(h), h)"},
    {"into parameters scatter_reduce",
     "s = self.e.scatter_reduce(0, types.unsqueeze(1).expand_as(h), h, reduce='sum')"},
    {"into parameters without their own value",
     "s = self.e.scatter_reduce(0, types.unsqueeze(1).expand_as(h), h, reduce='sum', "
     "include_self=False)",
     "without the target's own value"},
    {"twice into zeros",
     "s = torch.zeros([3, 4], dtype=h.dtype)\n    s.index_add_(0, types, h)\n"
     "    s.index_add_(0, types, h * h)"},
    {"twice into ones",
     "s = torch.ones([3, 4], dtype=h.dtype)\n    s.index_add_(0, types, h)\n"
     "    s.index_add_(0, types, h * h)"},
    {"into a sum of rows", "s = h.sum(0).expand(3, 4).index_add(0, types, h)"},
    {"into written zeros",
     "s = torch.zeros([3, 4], dtype=h.dtype)\n    s[0] = 1.5\n"
     "    s.index_add_(0, types, h)"},
    {"of edges into ones",
     "s = torch.ones([3, 4], dtype=h.dtype).index_add(0, types[i], h[j] * m)"},
};

std::string system_network(const SystemForm& form) {
    return message_network(std::string(LAYER) + "    types = data['types']\n    " + form.text +
                           "\n    h = h + torch.tanh(s)[types]\n" + LAYER);
}

}  // namespace

class SumIntoSystem : public ::testing::TestWithParam<SystemForm> {};
INSTANTIATE_TEST_SUITE_P(, SumIntoSystem, ::testing::ValuesIn(kSystemForms),
                         [](const auto& test) { return test_name(test.param.name); });

TEST_P(SumIntoSystem, CountsTheTargetOnce) {
    if (GetParam().refused)
        expect_refused(system_network(GetParam()), GetParam().refused);
    else
        expect_right(system_network(GetParam()));
}

/// Where sums over edges alone may be refreshed, several of them can stand behind one read.
TEST(SumsOfSeveralLayers, AreEachRefreshedWhereReadsMayNotBe) {
    const std::string in_place =
        "    a = torch.zeros_like(h)\n    a.index_add_(0, i, (h[j] @ self.w) * m)\n";
    const std::string two = in_place +
                            "    b = torch.zeros_like(h).index_add(0, i, h[j] * m * m)\n"
                            "    h = h + torch.tanh(a) * torch.sin(b)\n";
    const auto card = scripted_card("", R"(, "spec": )" + std::string(REFRESH_OF_SUMS_ALONE));
    expect_right(message_network(in_place + "    h = h + a\n" + LAYER), card);
    expect_right(message_network(two + LAYER), card);
    expect_right(message_network(two + two + LAYER), card);
}

TEST(NarrowTypes, OfSixteenBitsAreRefusedByName) {
    expect_refused(message_network(std::string(LAYER) + "    h = h + h.to(15).double()\n"),
                   "it computes in bfloat16");
    expect_refused(message_network(std::string(LAYER) + "    h = h + h.to(5).double()\n"),
                   "it computes in float16");
}

TEST(NarrowTypes, SingleInADoubleModelIsComparedAsSingle) {
    const auto methods = message_network(std::string(LAYER) +
                                         "    h = torch.zeros_like(h).index_add(0, i, "
                                         "(h[j].float() * m.float()).double())\n" +
                                         LAYER);
    const Session session(scripted_archive(methods), options_of_form(scripted_card(), true));
    EXPECT_EQ(session.precision(), "float32");
    EXPECT_NE(session.rounds_at().find("aten::to"), std::string::npos) << session.rounds_at();

    const Session plain(scripted_archive(message_network(LAYER)),
                        options_of_form(scripted_card(), true));
    EXPECT_EQ(plain.precision(), "float64");
    EXPECT_EQ(plain.rounds_at(), "");
}

/// The comparison itself must see an exchange that is wrong.
TEST(SumIntoRowsControl, SeesAHaloRowOfAnotherAtom) {
    Session session(scripted_archive(network(kForms[0], "j")),
                    options_of_form(scripted_card(), false));
    const auto structure = sample_cluster(session.card());
    auto parts = decompose(structure, session.card(), {0, 1, 0, 0, 1, 1}, 2);
    ASSERT_GT(parts[0].rows.halo.size(), 0);

    const auto right = in_parts(session, structure, parts);
    parts[0].rows.halo[0].owner_row ^= 1;
    const auto wrong = in_parts(session, structure, parts);

    const auto whole = undecomposed(session, structure);
    EXPECT_LT(relative_difference(right, whole), kRounding);
    EXPECT_GT(relative_difference(wrong, whole), 1e-3);
}

/// The structures have the counts that they are there for.
TEST(CollidingStructures, HaveEqualCountsOfRowsEdgesFeaturesAndSystems) {
    const auto structures = colliding_structures();
    const auto counts = [](const SampleStructure& structure) {
        return std::pair(structure.size(), structure.edges.size());
    };
    EXPECT_EQ(counts(structures[0].structure), std::pair(1L, 0L));
    EXPECT_EQ(counts(structures[1].structure), std::pair(2L, 2L));
    EXPECT_EQ(counts(structures[2].structure), std::pair(3L, 4L));
    EXPECT_EQ(counts(structures[3].structure), std::pair(4L, 4L));
    EXPECT_EQ(counts(structures[4].structure), std::pair(4L, 8L));
    const ModelCard card;
    for (const auto& part : decompose(structures[4].structure, card, {0, 0, 1, 1}, 2)) {
        EXPECT_EQ(part.atom_of_row.size(), 4);
        EXPECT_EQ(part.edge_of_edge.size(), 4);
    }
}

}  // namespace nvalchemi
