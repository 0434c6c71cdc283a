// SPDX-License-Identifier: GPL-2.0-only
// Transforms, verbs and policy modes as maps on the tuple of all ranks' tensors: the backward pass
// is the transpose of the forward pass, and every reduced value gets its whole cotangent.
#include <memory>

#include "unittest/potentials/adapter_operators.hpp"
#include "unittest/potentials/form_outcome.hpp"

namespace nvalchemi {

namespace {

/// x (n, 3) are rows; `body` makes z (n, 3) of them, linearly, with c (edges, 3) as fixed weights.
struct Map {
    const char* name;
    const char* body;
    const char* core;  ///< of the spec: policy and adapters

    friend void PrintTo(const Map& map, std::ostream* stream) { *stream << map.body; }
};

const char* const HALO = R"("policy": {"kind": "halo"})";
const char* const TOTAL_OF_ROWS = R"("policy": {"kind": "halo"}, "custom_ops": [
    {"op": "adaptertest::total", "arg_transforms": {"0": {"type": "slice_owned"}},
     "output_transforms": {"0": {"type": "all_reduce_sum"}}}])";
const char* const TOTAL_REPLICATED = R"("policy": {"kind": "halo"}, "custom_ops": [
    {"op": "adaptertest::total", "arg_transforms": {"0": {"type": "slice_owned"}},
     "output_transforms": {"0": {"type": "all_reduce_sum", "replicated_consumer": true}}}])";
const char* const TOTAL_SLICED = R"("policy": {"kind": "halo"}, "custom_ops": [
    {"op": "adaptertest::total", "arg_transforms": {"0": {"type": "slice_owned"}}}])";
const char* const TOTAL_OF_EDGES = R"("policy": {"kind": "halo"}, "custom_ops": [
    {"op": "adaptertest::total", "output_transforms": {"0": {"type": "all_reduce_sum"}}}])";

const char* const PUSH_FOLDED = R"("policy": {"kind": "halo"}, "custom_ops": [
    {"op": "adaptertest::push", "output_transforms": {"0": {"type": "scatter_outputs"}}}])";

const Map kMaps[] = {
    // --- transforms around an operator ---
    {"gather_inputs",
     "    distributed, rank, world, owned, padded = ops.nvalchemi_lmp.current_dd_context()\n"
     "    own = x\n    if distributed:\n        own = x[:owned]\n"
     "    z = ops.adaptertest.pull(own, i, j, c)\n",
     R"("policy": {"kind": "halo"}, "custom_ops": [{"op": "adaptertest::pull",
        "arg_transforms": {"0": {"type": "gather_inputs"}}}])"},
    {"no transform", "    z = ops.adaptertest.pull(x, i, j, c)\n",
     R"("policy": {"kind": "halo"}, "custom_ops": [{"op": "adaptertest::pull"}])"},
    {"slice_owned", "    z = x + ops.adaptertest.total(x)\n", TOTAL_SLICED},
    {"slice_owned and all_reduce_sum", "    z = x + ops.adaptertest.total(x)\n", TOTAL_OF_ROWS},
    {"all_reduce_sum with a replicated consumer", "    z = x + ops.adaptertest.total(x)\n",
     TOTAL_REPLICATED},
    {"all_reduce_sum of edges", "    z = x + ops.adaptertest.total(vec * c)\n", TOTAL_OF_EDGES},
    {"scatter_outputs", "    z = ops.adaptertest.push(x, i, j, c)\n", PUSH_FOLDED},
    {"scatter_outputs twice",
     "    z = ops.adaptertest.push(ops.adaptertest.push(x, i, j, c), i, j, c)\n", PUSH_FOLDED},
    {"scatter_outputs under refresh_halo", "    z = ops.adaptertest.push(x, i, j, c)\n",
     R"("policy": {"kind": "refresh_halo"}, "custom_ops": [{"op": "adaptertest::push",
        "output_transforms": {"0": {"type": "scatter_outputs"}}}])"},
    // --- policy modes ---
    {"halo correction and read",
     "    z = torch.zeros_like(x).index_add(0, j, x[j] * c).index_add(0, i, x[j] * c)\n", HALO},
    {"halo correction alone", "    z = torch.zeros_like(x).index_add(0, j, x[i] * c)\n",
     R"("policy": {"kind": "halo", "scatter_mode": "halo_correction", "gather_mode": "local"})"},
    {"halo read alone", "    z = torch.zeros_like(x).index_add(0, i, x[j] * c)\n",
     R"("policy": {"kind": "halo", "scatter_mode": "local", "gather_mode": "halo_read"})"},
    {"refresh_halo", "    z = torch.zeros_like(x).index_add(0, i, x[j] * c)\n",
     R"("policy": {"kind": "refresh_halo"})"},
    // --- verbs and the sums that the pass places ---
    {"refresh_neighbors", "    z = ops.nvalchemi_lmp.refresh_neighbors(x)\n", HALO},
    {"scatter_to_owners", "    z = ops.nvalchemi_lmp.scatter_to_owners(x)\n", HALO},
    {"scatter_to_owners of a sum over senders",
     "    z = ops.nvalchemi_lmp.scatter_to_owners("
     "torch.zeros_like(x).index_add(0, j, x[i] * c))\n",
     HALO},
    {"system_sum", "    z = x + ops.nvalchemi_lmp.system_sum(x, data['types'], 3)[data['types']]\n",
     HALO},
    {"sum over rows", "    z = x + x.sum(0) - x.mean(0)\n", HALO},
    {"sum over edges", "    z = x + (vec * c).sum(0)\n", HALO},
};

/// Rows read by senders and weighted, y (edges, 3) being other weights on every edge. Linear in the
/// edge vectors, or with functions that bend before and after the map.
std::string network(const Map& map, bool linear) {
    const std::string weights = linear ? "vec.detach()" : "vec";
    return R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    edge_index = data['edge_index']
    i = edge_index[0]
    j = edge_index[1]
    vec = data['edge_vec']
    n = data['types'].size(0)
    c = torch.cos()" +
           weights + R"( * 3.0 + 0.3)
    y = torch.sin()" +
           weights + R"( * 7.0 + 0.2)
    x = torch.zeros([n, 3], dtype=vec.dtype).index_add(0, i, vec)
)" + (linear ? "" : "    x = torch.tanh(x * 0.3)\n") +
           map.body + (linear ? "" : "    z = z * torch.sigmoid(z)\n") + R"(
    s = torch.zeros([n], dtype=vec.dtype).index_add(0, i, (z[j] * y).sum(1))
    return {'energies': s}
)";
}

std::string card_with_core(const std::string& core, const std::string& inputs = "") {
    return scripted_card(inputs, R"(, "spec": {"version": 2, "core": {)" + core + "}}");
}

std::unique_ptr<Session> load(const ScriptedModel& model, const std::string& card) {
    register_adapter_operators();
    return std::make_unique<Session>(scripted_archive(model), options_of_form(card, false));
}

std::unique_ptr<Session> load(const std::string& methods, const std::string& card) {
    return load(ScriptedModel{methods, {}, {}}, card);
}

struct Decomposed {
    std::string name;
    SampleStructure structure;
    std::vector<RankPart> parts;

    /// Or one part alone, which cannot leave one empty.
    bool has_empty_part() const {
        return parts.size() == 1 || std::any_of(parts.begin(), parts.end(), [](const auto& part) {
                   return part.rows.owned == 0;
               });
    }
};

/// Structures that have edges, in 1 to 4 unequal parts, with and without an empty one.
std::vector<Decomposed> decompositions(const ModelCard& card) {
    std::vector<Decomposed> result;
    for (const auto& [name, structure] : test_structures(card))
        for (int ranks = 1; ranks <= 4 && structure.edges.size() > 0; ++ranks)
            for (const bool leave_one_empty : {false, true})
                result.push_back(
                    {name + " on " + std::to_string(ranks) + " ranks", structure,
                     decompose(structure, card,
                               unequal_ranks(structure.size(), ranks, leave_one_empty), ranks)});
    return result;
}

/// <A x, y> - <x, A^T y> relative to the size of its terms: for a model that is linear in its edge
/// vectors x, the energy is <A x, y>, and A^T y the gradient.
double adjoint_defect(Session& session, const Decomposed& system) {
    const auto found = in_parts(session, system.structure, system.parts);
    double difference = found.energies.back(), scale = 0;
    for (std::size_t k = 0; k < found.edge_gradients.size(); ++k) {
        const double term = system.structure.edges.vector[k] * found.edge_gradients[k];
        difference -= term;
        scale += std::abs(term);
    }
    return std::abs(difference) / std::max(scale, 1e-3);
}

/// Deviation of one gradient from the difference of the energy of all parts, of fourth order.
double gradient_defect(Session& session, const Decomposed& system, std::size_t rank,
                       std::size_t component, double gradient) {
    constexpr double kStep = 1e-3;
    auto moved = system.parts;
    const auto energy = [&](double step) {
        auto& coordinate = moved[rank].graph.edge_vector[component];
        const double before = coordinate;
        coordinate += step;
        const double result = in_parts(session, system.structure, moved).energies.back();
        coordinate = before;
        return result;
    };
    const double slope =
        (8 * (energy(kStep) - energy(-kStep)) - (energy(2 * kStep) - energy(-2 * kStep))) /
        (12 * kStep);
    return std::abs(gradient - slope);
}

/// The same for some edges of each rank, relative to the largest gradient.
double gradient_defect(Session& session, const Decomposed& system) {
    const auto gradients = in_parts(session, system.structure, system.parts).edge_gradients;
    double difference = 0, largest = 1e-3;
    for (const double gradient : gradients) largest = std::max(largest, std::abs(gradient));
    for (std::size_t rank = 0; rank < system.parts.size(); ++rank) {
        const auto& edges = system.parts[rank].edge_of_edge;
        const std::size_t components = 3 * edges.size();
        for (std::size_t k = 0; k < components; k += 1 + components / 6)
            difference = std::max(difference, gradient_defect(session, system, rank, k,
                                                              gradients[3 * edges[k / 3] + k % 3]));
    }
    return difference / largest;
}

template <typename Case>
std::string name_of_case(const ::testing::TestParamInfo<Case>& test) {
    return test_name(test.param.name);
}

// --- sums over the system ---

/// `body` makes t (3), to which the sum over rows of x (n, 3), or over edges of vec, contributes
/// with `weight`.
struct Reduction {
    const char* name;
    const char* body;
    const char* core = HALO;
    double weight = 1;
    bool by_atoms = false;  ///< the weight is divided by the number of atoms

    friend void PrintTo(const Reduction& map, std::ostream* stream) { *stream << map.body; }
};

const char* const MOL_SUM_REPLACED = R"("policy": {"kind": "halo"}, "third_party_helpers": [
    {"kind": "python", "module_path": "aimnet.nbops", "attr_name": "mol_sum",
     "replacement": "nvalchemi.models.aimnet2:_distributed_mol_sum"}])";

const Reduction kReductions[] = {
    {"sum of rows", "t = x.sum(0)"},
    {"sum of edges", "t = vec.sum(0)"},
    {"mean of rows", "t = x.mean(0)", HALO, 1, true},
    {"weighted sum", "t = (x * 2.5).sum(0)", HALO, 2.5},
    {"index_add by system",
     "t = torch.zeros([1, 3], dtype=x.dtype).index_add(0, data['types'] * 0, x)[0]"},
    {"index_add by species",
     "t = torch.zeros([3, 3], dtype=x.dtype).index_add(0, data['types'], x).sum(0)"},
    {"index_add of edges by sender",
     "t = torch.zeros([3, 3], dtype=x.dtype).index_add(0, data['types'][j], vec).sum(0)"},
    {"verb", "t = ops.nvalchemi_lmp.system_sum(x, data['types'] * 0, 1)[0]"},
    {"verb by species", "t = ops.nvalchemi_lmp.system_sum(x, data['types'], 3).sum(0)"},
    {"verb of this rank", "t = ops.nvalchemi_lmp.system_sum(x, data['types'] * 0, 1, 'local')[0]"},
    {"slice_owned and all_reduce_sum", "t = ops.adaptertest.total(x)", TOTAL_OF_ROWS},
    {"slice_owned alone", "t = ops.adaptertest.total(x)", TOTAL_SLICED},
    {"replicated_consumer", "t = ops.adaptertest.total(x)", TOTAL_REPLICATED},
    {"all_reduce_sum of edges", "t = ops.adaptertest.total(vec)", TOTAL_OF_EDGES},
    {"replaced function", "t = mol_sum(x, data['types'] * 0)[0]", MOL_SUM_REPLACED},
};

/// A function that sums by system and takes the number of systems from the data.
const std::map<std::string, std::string> FUNCTIONS = {{"aimnet.nbops", R"(
def mol_sum(x: Tensor, last: Tensor) -> Tensor:
    n = int(last[-1]) + 1
    return torch.zeros([n, x.size(1)], dtype=x.dtype).index_add(0, last, x)
)"}};

/// Energies that depend on t in another way for each atom: `delta` is added to t on every rank.
std::string audited_network(const std::string& body) {
    return R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    edge_index = data['edge_index']
    i = edge_index[0]
    j = edge_index[1]
    vec = data['edge_vec']
    n = data['types'].size(0)
    x = torch.zeros([n, 3], dtype=vec.dtype).index_add(0, i, vec)
    )" + body +
           R"(
    t = t + data['delta']
    degree = torch.zeros([n], dtype=vec.dtype).index_add(0, i, torch.ones_like(vec[:, 0]))
    phase = 0.1 * t.unsqueeze(0) + 0.4 * degree.unsqueeze(1) + self.e[data['types']][:, :3]
    return {'energies': torch.sin(phase).sum(1) + 0.05 * (t * t).sum() + 2.0}
)";
}

std::string delta_input(int component, double value) {
    std::string numbers;
    for (int k = 0; k < 3; ++k)
        numbers += (k > 0 ? ", " : "") + std::to_string(k == component ? value : 0.0);
    return R"(, "delta": {"role": "constant", "value": [)" + numbers + "]}";
}

/// Largest deviation from 1, over the ranks, of the gradient that reaches a rank's contributions to
/// one component of the reduced value, divided by the energy's derivative with respect to it.
double audit_defect(const Reduction& reduction, int component) {
    constexpr double kStep = 1e-4;
    const ScriptedModel model{audited_network(reduction.body), FUNCTIONS, {}};
    const auto session_at = [&](double step) {
        return load(model, card_with_core(reduction.core, delta_input(component, step)));
    };
    const auto session = session_at(0), up = session_at(kStep), down = session_at(-kStep);
    double defect = 0;
    for (const auto& system : decompositions(session->card())) {
        const double slope = (in_parts(*up, system.structure, system.parts).energies.back() -
                              in_parts(*down, system.structure, system.parts).energies.back()) /
                             (2 * kStep);
        const double weight =
            reduction.weight / (reduction.by_atoms ? double(system.structure.size()) : 1.0);
        const auto gradients = in_parts(*session, system.structure, system.parts).edge_gradients;
        for (const auto& part : system.parts)
            for (const auto edge : part.edge_of_edge)
                defect = std::max(defect,
                                  std::abs(gradients[3 * edge + component] / (weight * slope) - 1));
    }
    return defect;
}

}  // namespace

class Adjoint : public ::testing::TestWithParam<Map> {};
INSTANTIATE_TEST_SUITE_P(, Adjoint, ::testing::ValuesIn(kMaps), name_of_case<Map>);

TEST_P(Adjoint, IsTheTranspose) {
    const auto session = load(network(GetParam(), true), card_with_core(GetParam().core));
    for (const auto& system : decompositions(session->card())) {
        EXPECT_LT(adjoint_defect(*session, system), kRounding) << system.name;
        EXPECT_LT(relative_difference(in_parts(*session, system.structure, system.parts),
                                      undecomposed(*session, system.structure)),
                  kRounding)
            << system.name;
    }
}

TEST_P(Adjoint, OfABentMapEqualsFiniteDifferences) {
    const auto session = load(network(GetParam(), false), card_with_core(GetParam().core));
    for (const auto& system : decompositions(session->card())) {
        if (system.structure.size() > 6 || !system.has_empty_part()) continue;
        EXPECT_LT(gradient_defect(*session, system), 1e-6) << system.name;
    }
}

TEST(AdjointControl, SeesAGradientThatDoesNotArrive) {
    const Map cut{"", "    z = x + x[:, :1].detach()\n", HALO};
    const auto linear = load(network(cut, true), card_with_core(HALO));
    const auto bent = load(network(cut, false), card_with_core(HALO));

    const auto systems = decompositions(linear->card());

    EXPECT_GT(adjoint_defect(*linear, systems.back()), 1e-3);
    EXPECT_GT(gradient_defect(*bent, systems.front()), 1e-3);
}

class ReductionAudit : public ::testing::TestWithParam<Reduction> {};
INSTANTIATE_TEST_SUITE_P(, ReductionAudit, ::testing::ValuesIn(kReductions),
                         name_of_case<Reduction>);

TEST_P(ReductionAudit, GivesEveryRankTheWholeCotangent) {
    for (int component = 0; component < 3; ++component)
        EXPECT_LT(audit_defect(GetParam(), component), 1e-6) << "component " << component;
}

TEST(ReductionAuditControl, SeesHalfACotangent) {
    EXPECT_NEAR(audit_defect({"", "t = 0.5 * (x + x.detach()).sum(0)"}, 0), 0.5, 1e-6);
}

// --- energies that are not sums over atoms alone ---

struct Energy {
    const char* name;
    const char* energies;  ///< of e (n), the energies of atoms
    friend void PrintTo(const Energy& energy, std::ostream* stream) { *stream << energy.energies; }
};

const Energy kEnergies[] = {
    {"a shift for each atom", "e + self.e[data['types'], 0]"},
    {"a constant for each atom", "e + 2.0"},
    {"a constant spread over atoms", "e + 2.0 / torch.ones_like(e).sum()"},
    {"a squared sum", "e + 0.7 * torch.sin(e) * torch.sin(e).sum()"},
    {"a squared sum spread over atoms", "e + 0.7 * torch.sin(e).sum() ** 2 / n"},
    {"a mean", "e + 0.3 * torch.cos(e.mean())"},
    {"all together",
     "e + 2.0 / torch.ones_like(e).sum() + 0.7 * torch.sin(e) * torch.sin(e).sum() + "
     "self.e[data['types'], 1]"},
};

namespace {

/// Two layers; e are the energies of atoms.
std::string energy_network(const std::string& ending) {
    const std::string layer =
        "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
    return message_network(layer + layer + "    e = torch.tanh(h).sum(1) * 0.5\n" + ending);
}

}  // namespace

class WholeEnergy : public ::testing::TestWithParam<Energy> {};
INSTANTIATE_TEST_SUITE_P(, WholeEnergy, ::testing::ValuesIn(kEnergies), name_of_case<Energy>);

TEST_P(WholeEnergy, AndForcesAreExact) {
    const auto session =
        load(energy_network(std::string("    return {'energies': ") + GetParam().energies + "}\n"),
             scripted_card());

    const auto found = difference_in_parts(*session, test_structures(session->card()));

    EXPECT_LT(found.relative, kRounding) << found.where;
}

namespace {

const Energy kDifferentiated[] = {
    {"a sum", "e.sum()"},
    {"a shift for each atom", "(e + self.e[data['types'], 0]).sum()"},
    {"a sum of shifts", "e.sum() + self.e[data['types'], 0].sum()"},
    {"a product of sums", "e.sum() * torch.cos(e.sum())"},
    {"a constant", "e.sum() + 2.0"},
    {"a squared sum", "e.sum() + 0.7 * torch.sin(e).sum() ** 2"},
    {"a mean", "e.mean()"},
    {"the verb", "ops.nvalchemi_lmp.system_sum(e, data['types'] * 0, 1).sum()"},
};

const char* const CARD_OF_FORCES = R"card({"format": "nvalchemi-model", "format_version": 1,
 "name": "scripted", "family": "test", "cutoff": 5.0,
 "units": {"length": "Angstrom", "energy": "eV"}, "dtype": "float64",
 "species": ["O", "Na", "Cl"], "species_index": [0, 1, 2],
 "forward": {"style": "dict", "arguments": []},
 "inputs": {"types": {"role": "species_index"}, "edge_index": {"role": "edge_index"},
            "edge_vec": {"role": "edge_vectors", "requires_grad": true}},
 "edges": {"list": "full", "receiver_row": 0, "sender_row": 1}, "rows": "folded",
 "outputs": {"energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
             "forces": {"role": "forces", "kind": "per_node", "shape": "(rows,3)"}},
 "forces": "model", "ops": []})card";

}  // namespace

class DifferentiatedInside : public ::testing::TestWithParam<Energy> {};
INSTANTIATE_TEST_SUITE_P(, DifferentiatedInside, ::testing::ValuesIn(kDifferentiated),
                         name_of_case<Energy>);

/// Also where the scalar is the same on every rank: never W times too large.
TEST_P(DifferentiatedInside, GivesExactForces) {
    const auto methods = energy_network(std::string("    grad = torch.autograd.grad([") +
                                        GetParam().energies + R"(], [vec])[0]
    assert grad is not None
    f = torch.zeros([n, 3], dtype=h.dtype).index_add(0, i, grad).index_add(0, j, -grad)
    return {'energies': e, 'forces': f}
)");
    const auto session = load(methods, CARD_OF_FORCES);
    const auto found = difference_in_parts(*session, test_structures(session->card()));
    EXPECT_LT(found.relative, kRounding) << found.where;
}

// --- what would count twice, or once for each rank ---

const Map kCountedTwice[] = {
    {"fold of a sum over both ends",
     "    p = torch.zeros_like(h).index_add(0, j, m).index_add(0, i, m)\n"
     "    h = h + ops.nvalchemi_lmp.scatter_to_owners(p)\n",
     HALO},
    {"fold of fresh rows", "    h = h + 0.1 * ops.nvalchemi_lmp.scatter_to_owners(h)\n", HALO},
    {"fold twice",
     "    p = ops.nvalchemi_lmp.scatter_to_owners(torch.zeros_like(h).index_add(0, i, m))\n"
     "    h = h + ops.nvalchemi_lmp.scatter_to_owners(p)\n",
     HALO},
    {"reduced value reduced",
     "    t = torch.stack([torch.cos(h.sum(0)), torch.sin(h.sum(0))])\n"
     "    h = h + ops.adaptertest.total(t)\n",
     TOTAL_OF_ROWS},
    {"halo rows reduced", "    h = h + torch.cos(ops.adaptertest.total(h))\n",
     R"("policy": {"kind": "halo"}, "custom_ops": [{"op": "adaptertest::total",
        "output_transforms": {"0": {"type": "all_reduce_sum"}}}])"},
    {"sum not folded", "    h = h + ops.adaptertest.push(h, i, j, m)\n",
     R"("policy": {"kind": "halo"}, "custom_ops": [{"op": "adaptertest::push"}])"},
    {"number of ranks as data",
     "    distributed, rank, world, owned, padded = ops.nvalchemi_lmp.current_dd_context()\n"
     "    h = h * float(world)\n",
     HALO},
};

class CountedTwice : public ::testing::TestWithParam<Map> {};
INSTANTIATE_TEST_SUITE_P(, CountedTwice, ::testing::ValuesIn(kCountedTwice), name_of_case<Map>);

TEST_P(CountedTwice, IsNeverSilent) {
    register_adapter_operators();
    const std::string layer =
        "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
    expect_never_silently_wrong(message_network(layer + GetParam().body + layer),
                                card_with_core(GetParam().core));
}

TEST(PolicyWithoutExchanges, RunsOneLayer) {
    for (const char* core :
         {R"("policy": {"kind": "local"})",
          R"("policy": {"kind": "halo", "scatter_mode": "local", "gather_mode": "local"})",
          R"("policy": {"kind": "refresh_halo", "scatter_mode": "local", "gather_mode": "local"})"})
        expect_right(message_network("    h = h + torch.zeros_like(h).index_add(0, i, h[j] * m)\n"),
                     card_with_core(core));
}

}  // namespace nvalchemi
