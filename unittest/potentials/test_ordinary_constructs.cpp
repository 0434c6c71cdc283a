// SPDX-License-Identifier: GPL-2.0-only
// Constructs of ordinary models: accepted networks have reproduced the undecomposed model.
#include "unittest/potentials/pass_outcome.hpp"

namespace nvalchemi {

TEST(OrdinaryConstructs, MeanOverNodesIsTakenOverTheWholeSystem) {
    expect_exchanges(std::string(LAYER) + "    h = h - h.mean(0)\n" + LAYER, 1);
    expect_exchanges("    h = h + h.mean(dim=0, keepdim=True) * m.mean()\n" + std::string(LAYER),
                     0);
}

TEST(OrdinaryConstructs, NumberOfNodesScalesASum) {
    expect_exchanges("    h = h + h.sum(0) / h.size(0)\n" + std::string(LAYER), 0);
    expect_exchanges("    h = h + h.sum(0) / float(n)\n" + std::string(LAYER), 0);
    expect_exchanges("    h = h * (m.sum(0) / m.shape[0])\n" + std::string(LAYER), 0);
}

TEST(OrdinaryConstructs, NumberOfSystemsComesFromTheBatch) {
    expect_exchanges(R"(
    b = data['batch']
    systems = int(b.max()) + 1
    total = torch.zeros(systems, 4, dtype=h.dtype).index_add(0, b, h)
    h = h + total[b] * 0.01
    last = int(b[-1]) + 1
    more = torch.zeros(last, 4, dtype=h.dtype).index_add(0, b, h)
    h = h + more[b] * 0.01
)" + std::string(LAYER),
                     0, R"(, "batch": {"role": "batch"})");
}

TEST(OrdinaryConstructs, NetworksOfEachElementSeeTheirOwnAtoms) {
    expect_exchanges(std::string(LAYER) + R"(
    out = torch.zeros_like(h)
    for k in range(3):
        mask = data['types'] == k
        out[mask] = torch.tanh(h[mask] @ self.w) * (k + 1.0)
    h = out
)" + LAYER,
                     1);
    expect_exchanges(std::string(LAYER) + R"(
    out = torch.zeros_like(h)
    for k in range(3):
        at = torch.nonzero(data['types'] == k).squeeze(1)
        if at.numel() > 0:
            out = out.index_add(0, at, torch.tanh(h.index_select(0, at)) * (k + 1.0))
    h = out
)" + LAYER,
                     1);
}

TEST(OrdinaryConstructs, SumsOfSelectedAtomsAreRefused) {
    expect_refusal("    h = h + h[data['types'] == 1].sum(0)\n" + std::string(LAYER),
                   {"aten::sum", "reduces or mixes all rows"});
    expect_refusal(
        "    a = data['types'] == 1\n    b = r > 0\n    c = h[:, 0] > 0\n"
        "    h = h + (h[a].sum(1).mean() + h[c].sum())\n" +
            std::string(LAYER),
        {"reduces or mixes all rows"});
}

TEST(OrdinaryConstructs, EmptyGraphsNeedNoBranch) {
    const std::string guarded = R"(
    if edge_index.numel() == 0:
        return {'energies': torch.zeros(n, dtype=h.dtype)}
)";
    expect_exchanges(guarded + LAYER + LAYER, 1);
    expect_refusal("    if n > 5:\n        h = h * 2.0\n" + std::string(LAYER),
                   {"prim::If", "depends on the number of atoms"});
}

TEST(OrdinaryConstructs, OperatorsThatActRowByRow) {
    for (const char* line :
         {"torch.pad(h, [0, 2])[:, 1:5]", "torch.prelu(h, self.w[0])",
          "torch.glu(torch.cat([h, h * 2.0], 1), 1)", "torch.einsum('...a,ab->...b', h, self.w)",
          "torch.hstack([h, h])[:, 2:6]", "torch.cosine_similarity(h, h + 0.1).unsqueeze(1) * h",
          "torch.bilinear(h, h, self.w.unsqueeze(0).expand(4, 4, 4), None)"})
        expect_exchanges(std::string(LAYER) + "    h = " + line + "\n" + LAYER, 1);
    expect_refusal("    h = torch.cdist(h, h) @ h\n" + std::string(LAYER), {"aten::cdist"});
}

TEST(OrdinaryConstructs, OperatorsThatMixRowsAreNotTakenForRowWise) {
    for (const char* line :
         {"h / torch.frobenius_norm(h, [0], True)", "torch.cummax(h, 0)[0]", "torch.softmax(h, 0)",
          "torch.avg_pool1d(h.t().unsqueeze(0), [3], [1], [1])[0].t()"})
        EXPECT_TRUE(load("    h = " + std::string(line) + "\n" + LAYER).refused) << line;
}

TEST(OrdinaryConstructs, GuardsOnSelectionsByGeometryAreRefused) {
    for (const char* guard : {"r[r < 2.2].numel() > 0", "m[r < 2.2].size(0) != 0",
                              "len(torch.nonzero(r < 2.2)) > 0", "h[h[:, 0] > 0.3].size(0) > 0"})
        expect_refusal(std::string(LAYER) + "    if " + guard + ":\n        h = h * 2.0\n",
                       {"prim::If"});
}

TEST(OrdinaryConstructs, GuardsOnElementsMustChangeNothingElse) {
    const std::string guarded =
        "    at = torch.nonzero(data['types'] == 1).squeeze(1)\n"
        "    if at.numel() > 0:\n        ";
    expect_exchanges(guarded + "h = h.index_add(0, at, torch.tanh(h[at]))\n" + LAYER, 0);
    expect_refusal(guarded + "h = h * 2.0\n" + LAYER, {"does not reproduce"});
}

TEST(OrdinaryConstructs, TheOrderOfEdgesMustNotMatter) {
    expect_refusal("    h = h.index_add(0, i, m[torch.argsort(r)])\n" + std::string(LAYER),
                   {"two different sets of rows or edges", "another order"});
    expect_refusal(
        "    o = torch.zeros_like(m)\n    o[torch.argsort(r)] = m\n"
        "    h = h.index_add(0, i, o)\n" +
            std::string(LAYER),
        {"two different sets of rows or edges"});
    expect_refusal("    h = torch.index_put(h, [i], m)\n" + std::string(LAYER),
                   {"the last one is kept, which depends on their order"});
}

TEST(OrdinaryConstructs, AModelMustNotChangeItself) {
    expect_refusal("    self.w.mul_(1.01)\n" + std::string(LAYER),
                   {"changes its own parameter or buffer"});
    expect_refusal("    self.w.detach().add_(h.sum() * 0.1)\n" + std::string(LAYER),
                   {"changes its own parameter or buffer"});
}

}  // namespace nvalchemi
