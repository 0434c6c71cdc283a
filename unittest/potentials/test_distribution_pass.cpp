// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/potentials/pass_outcome.hpp"

namespace nvalchemi {

TEST(DistributionPass, NeedsNoExchangeForOneLayer) { expect_exchanges(LAYER, 0); }

TEST(DistributionPass, ExchangesOnceBetweenTwoLayers) {
    expect_exchanges(std::string(LAYER) + LAYER, 1);
}

TEST(DistributionPass, FollowsMaskedEdges) {
    expect_exchanges(R"(
    k = r < 4.0
    i = i[k]
    j = j[k]
    g = (m * (torch.relu(4.0 - r) ** 3).unsqueeze(-1))[k]
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * g)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * g)
)",
                     1);
}

TEST(DistributionPass, FollowsAMaskedEdgeIndex) {
    expect_exchanges(R"(
    k = r < 4.0
    kept = edge_index[:, k]
    g = (m * (torch.relu(4.0 - r) ** 3).unsqueeze(-1))[k]
    h = h + torch.zeros_like(h).index_add(0, kept[0], (h[kept[1]] @ self.w) * g)
    h = h + torch.zeros_like(h).index_add(0, kept[0], (h[kept[1]] @ self.w) * g)
)",
                     1);
}

TEST(DistributionPass, FollowsUnbind) {
    expect_exchanges("    i, j = torch.unbind(edge_index)\n" + std::string(LAYER) + LAYER, 1);
}

TEST(DistributionPass, FollowsATransposedEdgeIndex) {
    expect_exchanges(
        "    pairs = edge_index.t().contiguous()\n    i = pairs[:, 0]\n"
        "    j = pairs[:, 1]\n" +
            std::string(LAYER) + LAYER,
        1);
}

TEST(DistributionPass, UnrollsALoopOverLayers) {
    expect_exchanges(R"(
    for layer in range(int(n) * 0 + 3):
        h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
)",
                     2);
}

TEST(DistributionPass, RefreshesADegreeFeature) {
    expect_exchanges(R"(
    degree = torch.bincount(i, minlength=n).to(h.dtype).unsqueeze(1)
    h = h * torch.log1p(degree)
    h = torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
)",
                     1);
}

TEST(DistributionPass, RefusesAMaximumOverNodes) {
    expect_refusal(
        "    h = h + torch.zeros_like(h).index_add(0, i, m)\n    h = h - torch.amax(h, 0)\n",
        {"aten::amax", "reduces or mixes all rows", ":"});
}

TEST(DistributionPass, FollowsAScatterIntoAView) {
    expect_exchanges(R"(
    out = torch.zeros_like(h)
    v = out[:, :2]
    v.index_add_(0, i, (m @ self.w)[:, :2])
    h = h + torch.zeros_like(h).index_add(0, i, out[j] * m)
)",
                     1);
}

TEST(DistributionPass, FollowsTorchGather) {
    expect_exchanges(std::string(LAYER) + R"(
    g = torch.gather(h, 0, j.unsqueeze(1).expand(-1, 4))
    h = torch.zeros_like(h).index_add(0, i, g * m)
)",
                     1);
}

TEST(DistributionPass, RefusesAnAdjacencyMatrix) {
    expect_refusal(R"(
    a = torch.zeros([n, n], dtype=h.dtype).index_put([i, j], m.sum(1), accumulate=True)
    h = torch.relu(a @ h @ self.w)
    h = a @ h
)",
                   {"two dimensions"});
}

TEST(DistributionPass, FoldsSumsOverSenders) {
    const auto outcome = load(R"(
    g = ((h[j] * h[i]) @ self.w) * m
    h = torch.zeros_like(h).index_add(0, i, g).index_add(0, j, g)
)");
    EXPECT_FALSE(outcome.refused) << outcome.text;
    EXPECT_NE(outcome.text.find("halo_correct"), std::string::npos) << outcome.text;
}

TEST(DistributionPass, FoldsInPlaceSumsOverSendersIntoAFullAccumulator) {
    const auto outcome = load(R"(
    h = h + torch.zeros_like(h).index_add(0, i, m)
    h.index_add_(0, j, m @ self.w)
    h = torch.tanh(h)
    h = h + torch.zeros_like(h).index_add(0, i, h[j] * m)
)");
    EXPECT_FALSE(outcome.refused) << outcome.text;
    EXPECT_NE(outcome.text.find("halo_correct"), std::string::npos) << outcome.text;
}

TEST(DistributionPass, KeepsNormsOfStaleRowsFromReachingOwners) {
    expect_exchanges(R"(
    s = torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
    h = h + s / torch.linalg_vector_norm(s, dim=1, keepdim=True)
    s = torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
    h = h * s / s.norm(p=2, dim=1, keepdim=True)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)
)",
                     2);
}

TEST(DistributionPass, AcceptsASoftmaxOverTheEdgesOfAReceiver) {
    expect_exchanges(R"(
    a = (m * h[j]).sum(1)
    top = torch.full([n], -1e30, dtype=h.dtype).scatter_reduce(0, i, a.detach(), reduce='amax')
    w = torch.exp(a - top[i]) * fc.squeeze(1)
    norm = torch.zeros([n], dtype=h.dtype).index_add(0, i, w)
    h = torch.zeros_like(h).index_add(0, i, h[j] * (w / norm[i]).unsqueeze(1))
    h = torch.zeros_like(h).index_add(0, i, h[j] * m)
)",
                     1);
}

TEST(DistributionPass, RefusesASoftmaxOverAllNodes) {
    expect_refusal(std::string(LAYER) + "    h = torch.softmax(h, dim=0)\n", {"aten::softmax"});
}

TEST(DistributionPass, RefusesAMaximumPerSender) {
    expect_refusal(R"(
    h = torch.full_like(h, -1e30).scatter_reduce(0, j.unsqueeze(1).expand_as(m), m, reduce='amax')
)",
                   {"per sender"});
}

TEST(DistributionPass, RefusesRowNumbersAsData) {
    expect_refusal("    h = h * torch.arange(n).to(h.dtype).unsqueeze(1)\n" + std::string(LAYER),
                   {"row numbers are used as data"});
    expect_refusal(
        "    half = (i < j).to(h.dtype).unsqueeze(1)\n"
        "    h = torch.zeros_like(h).index_add(0, i, h[j] * m * half)\n",
        {"row numbers are used as data"});
}

TEST(DistributionPass, RefusesRandomNumbers) {
    expect_refusal("    h = h + torch.randn_like(h)\n", {"random numbers"});
}

TEST(DistributionPass, RefusesTheNumberOfRowsAsData) {
    expect_refusal(std::string(LAYER) + "    h = h + n\n", {"number of rows"});
}

TEST(DistributionPass, RefusesABranchThatDependsOnTheNumberOfEdges) {
    expect_refusal(
        "    if vec.size(0) < 40:\n        h = h * 0\n    else:\n    " + std::string(LAYER),
        {"ranks could take different branches"});
}

TEST(DistributionPass, RefusesAReverseEdgeIndex) {
    expect_refusal(
        "    edge_state = m[j]\n    h = h + torch.zeros_like(h).index_add(0, i, edge_state)\n",
        {"reverse-edge"});
}

TEST(DistributionPass, RefusesASizeTakenFromData) {
    expect_refusal(
        "    size = int(j.max()) + 1\n    h = torch.zeros([size, 4], dtype=h.dtype)"
        ".index_add(0, i, m)\n",
        {"differ"});
}

TEST(DistributionPass, RefusesSelfLoops) {
    expect_refusal(R"(
    own = torch.arange(n)
    i = torch.cat([i, own])
    j = torch.cat([j, own])
    g = torch.cat([m, h])
    h = torch.zeros_like(h).index_add(0, i, g)
)",
                   {""});
}

TEST(DistributionPass, AcceptsOwnedRowsAlone) {
    expect_exchanges(R"(
    owned = int(data['nlocal'])
    s = torch.zeros([owned, 4], dtype=h.dtype).index_add(0, i, (h[j] @ self.w) * m)
    h = h[:owned] + s / (1.0 + s.norm(p=2, dim=1, keepdim=True))
    s = torch.zeros([owned, 4], dtype=h.dtype).index_add(0, i, (h[j] @ self.w) * m)
    h = h + s
)",
                     1, R"(, "nlocal": {"role": "n_owned"})");
}

TEST(DistributionPass, SumsASystemValueOverRanksBeforeANonlinearUse) {
    const auto outcome = load(std::string(LAYER) + R"(
    total = torch.tanh(h).sum(0)
    h = h * torch.sigmoid(total * 0.1)
)");
    EXPECT_FALSE(outcome.refused) << outcome.text;
    EXPECT_NE(outcome.text.find("system_sum"), std::string::npos) << outcome.text;
}

TEST(DistributionPass, ListsWidthAndSourceLine) {
    const auto outcome = load(std::string(LAYER) + LAYER);
    EXPECT_NE(outcome.text.find("1. halo_forward, width 4"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find(":"), std::string::npos) << outcome.text;
}

TEST(DistributionPass, ExchangesTheNarrowestValue) {
    // (rows, 4) -> (rows, 1) -> (rows, 4): the cut is the single column
    const auto outcome = load(std::string(LAYER) + R"(
    charge = torch.tanh(h).sum(1, keepdim=True)
    h = charge * self.u.sum(0)
    h = torch.zeros_like(h).index_add(0, i, h[j] * m)
)");
    EXPECT_NE(outcome.text.find("halo_forward, width 1"), std::string::npos) << outcome.text;
}

TEST(DistributionPass, RefusesNumbersMadeFromTheNumberOfRows) {
    for (const char* use : {"h + float(n)", "h * (1.0 / n)", "h * (float(n) ** 0.5)",
                            "torch.clamp(h, max=0.1 * float(n))", "h / float(min(int(n), 50))",
                            "h + torch.full([n, 1], n, dtype=h.dtype) * 0.01"})
        expect_refusal(std::string(LAYER) + "    h = " + use + "\n", {"number of rows"});
}

TEST(DistributionPass, NamesTheDimensionsThatSqueezeAndCrossDependOn) {
    expect_exchanges(std::string(LAYER) + "    q = (h @ self.w[:, :1]).squeeze()\n" +
                         "    h = torch.zeros_like(h).index_add(0, i, m * q[j].unsqueeze(1))\n",
                     1);
    expect_exchanges(R"(
    v = torch.zeros([n, 3], dtype=h.dtype).index_add(0, i, m[:, :3])
    w = torch.zeros([n, 3], dtype=h.dtype).index_add(0, i, m[:, 1:])
    c = torch.cross(v, w)
    h = h + torch.zeros_like(h).index_add(0, i, m * c[j].sum(1, keepdim=True))
)",
                     1);
}

TEST(DistributionPass, RefusesATableReadByRowNumbers) {
    expect_refusal("    h = h + self.u.new_ones([500, 4])[torch.arange(n)]\n", {"row numbers"});
    expect_refusal(
        "    h = h + torch.zeros_like(h).index_add(0, i, "
        "self.u.new_ones([500, 4])[j] * m)\n",
        {"row numbers"});
}

TEST(DistributionPass, RefreshesRowsWhoseOwnedPartAloneWasWritten) {
    expect_exchanges(R"(
    owned = int(data['nlocal'])
    z = torch.zeros_like(h)
    z[:owned] = torch.tanh(h[:owned])
    h = torch.zeros_like(h).index_add(0, i, z[j] * m)
)",
                     1, R"(, "nlocal": {"role": "n_owned"})");
}

TEST(DistributionPass, RefreshesFeaturesThatAnOwnedMaskMultiplied) {
    expect_exchanges("    h = h * data['mask'].unsqueeze(1)\n" + std::string(LAYER), 1,
                     R"(, "mask": {"role": "owned_mask"})");
}

TEST(DistributionPass, ShieldsTargetsOfInPlaceOperators) {
    expect_exchanges(std::string(LAYER) + LAYER + R"(
    s = torch.zeros_like(h).index_add(0, i, h[j] * m)
    g = h * 1.0
    g.mul_(s / s.norm(p=2, dim=1, keepdim=True))
    h = g
)" + LAYER,
                     3);
}

TEST(DistributionPass, FollowsInPlaceSumsIntoFeatures) {
    expect_exchanges(R"(
    h = h * 1.0
    h.index_add_(0, i, h[j] * m)
    h.index_add_(0, i, h[j] * m)
)",
                     1);
}

TEST(DistributionPass, RefusesEdgesInAnotherOrder) {
    expect_refusal(
        "    g = m * m[torch.argsort(r)]\n"
        "    h = torch.zeros_like(h).index_add(0, i, g)\n",
        {"two different sets"});
}

TEST(DistributionPass, AcceptsAllArraysInTheOrderOfReceivers) {
    expect_exchanges(R"(
    order = torch.argsort(i)
    i = i[order]
    j = j[order]
    m = m[order]
)" + std::string(LAYER) + LAYER,
                     1);
}

TEST(DistributionPass, FollowsPositionsOfNonzeroHoweverTheyAreFlattened) {
    for (const char* positions :
         {"torch.nonzero(near).squeeze(1)", "torch.nonzero(near)[:, 0]",
          "torch.nonzero(near).select(1, 0)", "torch.nonzero(near).view(-1)",
          "torch.nonzero(near).flatten()", "torch.nonzero(near).t()[0]"})
        expect_exchanges("    near = r < 4.0\n    at = " + std::string(positions) + R"(
    i = i[at]
    j = j[at]
    g = (m * (torch.relu(4.0 - r) ** 3).unsqueeze(-1))[at]
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * g)
    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * g)
)",
                         1);
}

TEST(DistributionPass, RefusesPositionsInOneSelectionUsedInAnother) {
    expect_refusal(R"(
    near = r < 4.5
    inner = torch.nonzero(r[near] < 3.5).squeeze(1)
    h = torch.zeros_like(h).index_add(0, i[inner], m[inner])
)",
                   {"another one"});
}

TEST(DistributionPass, RefusesGradientsOfRowFeatures) {
    expect_refusal(R"(
    q = h * 1.0
    q.requires_grad_(True)
    g = torch.autograd.grad([(q ** 3).sum()], [q])[0]
    assert g is not None
    h = torch.zeros_like(h).index_add(0, i, g[j] * m)
)",
                   {"features of rows"});
}

TEST(DistributionPass, RefusesAReshapeThatScramblesRows) {
    expect_refusal("    h = h + h.view(4, n).t()\n", {"behind another dimension"});
}

TEST(DistributionPass, CombinesMasks) {
    expect_exchanges(R"(
    near = (r < 4.5) & (r > 0.1)
    far = (r >= 4.5) | (r <= 0.1)
    m = m * near.to(h.dtype).unsqueeze(1) + m * 0.5 * far.to(h.dtype).unsqueeze(1)
)" + std::string(LAYER) + LAYER,
                     1);
}

TEST(DistributionPass, GathersBothEndsAtOnce) {
    expect_exchanges(std::string(LAYER) + R"(
    ends = h[edge_index]
    h = torch.zeros_like(h).index_add(0, i, ends[0] * ends[1] * m)
)",
                     1);
}

}  // namespace nvalchemi
