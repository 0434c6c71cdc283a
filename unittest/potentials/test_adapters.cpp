// SPDX-License-Identifier: GPL-2.0-only
// Operator adapters, helper adapters and intent verbs. A model that loads has reproduced the
// undecomposed model on three unequal parts, one of them empty, and on parts of 1, 2 and 3 atoms.
#include <gtest/gtest.h>

#include <functional>

#include "potentials/session.hpp"
#include "spec/spec_error.hpp"
#include "unittest/potentials/adapter_operators.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi {

namespace {

struct Loaded {
    std::string failure;  ///< empty: it was accepted
    std::string listing;
    std::size_t forward = 0, sums = 0;
};

Loaded load(const ScriptedModel& model, const std::string& core, const std::string& rest = "",
            const std::string& policy = "halo") {
    register_adapter_operators();
    SessionOptions options;
    options.path = "network.pt";
    options.device = "cpu";
    options.card_text =
        scripted_card("", R"(, "spec": {"version": 2, "core": {"policy": {"kind": ")" + policy +
                              "\"}" + core + "}" + rest + "}");
    options.card_path = "network.card.json";
    Loaded loaded;
    try {
        const Session session(scripted_archive(model), options);
        loaded.listing = session.listing();
        for (const auto& event : session.schedule()) {
            loaded.forward += event.kind == ExchangeEvent::Kind::Forward;
            loaded.sums += event.kind == ExchangeEvent::Kind::SystemSum;
        }
    } catch (const std::exception& error) {
        loaded.failure = error.what();
    }
    return loaded;
}

/// Under policy graph_parallel.
Loaded in_blocks(const ScriptedModel& model, const std::string& core) {
    return load(model, core, "", "graph_parallel");
}

Loaded load(const std::string& body, const std::string& core, const std::string& rest = "") {
    return load(ScriptedModel{message_network(body), {}, {}}, core, rest);
}

std::string op(const std::string& name, const std::string& arguments, const std::string& outputs) {
    return R"({"op": "adaptertest::)" + name + R"(", "arg_transforms": {)" + arguments +
           R"(}, "output_transforms": {)" + outputs + "}}";
}

std::string with_op(const std::string& name, const std::string& arguments,
                    const std::string& outputs) {
    return R"(, "custom_ops": [)" + op(name, arguments, outputs) + "]";
}

std::string helper(const std::string& fields) {
    return R"(, "third_party_helpers": [{)" + fields + "}]";
}

void expect_text(const std::string& text, const std::vector<std::string>& parts) {
    for (const auto& part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "expected '" << part << "' in: " << text;
}

const std::string LAYER = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
const std::string PUSH = "    h = h + ops.adaptertest.push(h, i, j, m)\n";
const std::string PULL = "    h = h + ops.adaptertest.pull(h, i, j, m)\n";
const std::string SCATTER = R"("0": {"type": "scatter_outputs"})";
const std::string REDUCE = R"("0": {"type": "all_reduce_sum"})";
const std::string SLICE = R"("0": {"type": "slice_owned"})";
const std::string GATHER = R"("0": {"type": "gather_inputs"})";

}  // namespace

// --- operator adapters ---

TEST(OperatorAdapter, ScatterOutputsFoldsSumsOverSenders) {
    const auto loaded = load(LAYER + PUSH + LAYER, with_op("push", "", SCATTER));
    EXPECT_EQ(loaded.failure, "");
    EXPECT_EQ(loaded.forward, 3);  // before the operator, its fold, before the last layer
    expect_text(loaded.listing, {"halo_correct",
                                 "/core/custom_ops/0: operator adaptertest::push: "
                                 "scatter_outputs on output 0; at <string>:"});
}

TEST(OperatorAdapter, WithoutScatterOutputsTheResidualIsReported) {
    expect_text(
        load(LAYER + PUSH + LAYER, with_op("push", "", "")).failure,
        {"does not reproduce the undecomposed model", "adaptertest::push", "scatter_outputs"});
}

TEST(OperatorAdapter, ReceiverSumsNeedNoTransform) {
    const auto loaded = load(LAYER + PULL + LAYER, with_op("pull", "", ""));
    EXPECT_EQ(loaded.failure, "");
    EXPECT_EQ(loaded.forward, 2);
    // folding what is complete on its owner is a refresh: right too
    EXPECT_EQ(load(PULL + LAYER, with_op("pull", "", SCATTER)).failure, "");
}

TEST(OperatorAdapter, DoublePaddingIsNamed) {
    expect_text(load(LAYER + PULL, with_op("pull", GATHER, "")).failure,
                {"gather_inputs on argument 0 of adaptertest::pull", "double padding",
                 "Drop this transform", "<string>:"});
}

TEST(OperatorAdapter, GatherInputsWidensOwnedRows) {
    const std::string body = LAYER + R"(
    distributed, rank, world, owned, padded = ops.nvalchemi_lmp.current_dd_context()
    own = torch.tanh(h)
    if distributed:
        own = own[:owned]
    h = ops.adaptertest.pull(own, i, j, m)
)";
    const auto loaded = load(body, with_op("pull", GATHER, ""));
    EXPECT_EQ(loaded.failure, "");
    EXPECT_EQ(loaded.forward, 1);
    EXPECT_NE(load(body, with_op("pull", "", "")).failure, "");  // too few rows
}

TEST(OperatorAdapter, SliceOwnedAndAllReduceSumGiveTheSumOverTheSystem) {
    const auto loaded = load(LAYER + "    h = h * torch.cos(ops.adaptertest.total(h))\n" + LAYER,
                             with_op("total", SLICE, REDUCE));
    EXPECT_EQ(loaded.failure, "");
    EXPECT_GE(loaded.sums, 1);
}

TEST(OperatorAdapter, WithoutSliceOwnedAtomsAreCountedTwice) {
    expect_text(load(LAYER + "    h = h * torch.cos(ops.adaptertest.total(h))\n" + LAYER,
                     with_op("total", "", REDUCE))
                    .failure,
                {"does not reproduce the undecomposed model", "slice_owned"});
}

TEST(OperatorAdapter, AllReduceSumOfRowsIsRefused) {
    expect_text(load(LAYER + PULL, with_op("pull", "", REDUCE)).failure,
                {"all_reduce_sum on output 0 of adaptertest::pull", "has rows or edges"});
    expect_text(
        load(LAYER + "    h = h * ops.adaptertest.total(h)\n", with_op("total", SLICE, SCATTER))
            .failure,
        {"scatter_outputs on output 0 of adaptertest::total", "expected (n_rows, *)"});
}

TEST(OperatorAdapter, AllReduceSumOfWhatIsWholeIsRefused) {
    expect_text(load("    t = torch.stack([torch.cos(h.sum(0)), torch.sin(h.sum(0))])\n"
                     "    h = h + ops.adaptertest.total(t)\n" +
                         LAYER,
                     with_op("total", "", REDUCE))
                    .failure,
                {"all_reduce_sum on output 0 of adaptertest::total",
                 "sees values of the whole system only", "Drop this transform"});
}

TEST(OperatorAdapter, WithoutAnAdapterTheOperatorIsRefused) {
    expect_text(load(LAYER + PULL, "").failure,
                {"adaptertest::pull", "declare it with an adapter", "custom_ops"});
}

TEST(OperatorAdapter, RowWiseOperatorsNeedNoAdapter) {
    const auto loaded = load(LAYER + "    h = ops.adaptertest.gate(h)\n" + LAYER, "");
    EXPECT_EQ(loaded.failure, "");
    EXPECT_EQ(loaded.forward, 1);
}

TEST(OperatorAdapter, BindingErrorsSayWhatIsThere) {
    expect_text(load(LAYER, with_op("nosuch", "", "")).failure,
                {"/core/custom_ops/0/op", "adaptertest::nosuch", "load the library",
                 "adaptertest::pull", "keyword ops"});
    expect_text(load(LAYER, with_op("pull", R"("9": {"type": "slice_owned"})", "")).failure,
                {"/core/custom_ops/0/arg_transforms/9", "got position 9", "4 arguments",
                 "adaptertest::pull"});
    expect_text(load(LAYER, with_op("pull", "", R"("1": {"type": "scatter_outputs"})")).failure,
                {"/core/custom_ops/0/output_transforms/1", "1 outputs"});
}

TEST(OperatorAdapter, AnOperatorThatIsNotCalledIsListed) {
    const auto loaded = load(LAYER, with_op("pull", "", SCATTER));
    EXPECT_EQ(loaded.failure, "");
    expect_text(loaded.listing, {"operator adaptertest::pull", "not called by this model"});
}

// --- policies and reductions ---

TEST(Policy, ModesSayWhichExchangesMayBePlaced) {
    const auto halo = [](const std::string& modes) {
        return [modes](const std::string& body) {
            register_adapter_operators();
            SessionOptions options;
            options.path = "network.pt";
            options.device = "cpu";
            options.card_path = "network.card.json";
            options.card_text = scripted_card(
                "", R"(, "spec": {"version": 2, "core": {"policy": {)" + modes + "}}}");
            try {
                const Session session(scripted_archive(message_network(body)), options);
                return std::string();
            } catch (const std::exception& error) {
                return std::string(error.what());
            }
        };
    };
    const std::string sender = "    h = h + torch.zeros_like(h).index_add(0, j, h[i] * m)\n";
    for (const char* kind : {"halo", "refresh_halo"}) {
        const auto modes = [&](const char* scatter, const char* gather) {
            return halo(std::string(R"("kind": ")") + kind + R"(", "scatter_mode": ")" + scatter +
                        R"(", "gather_mode": ")" + gather + "\"");
        };
        EXPECT_EQ(modes("halo_correction", "halo_read")(LAYER + sender + LAYER), "");
        EXPECT_EQ(modes("local", "halo_read")(LAYER + LAYER), "");
        EXPECT_EQ(modes("halo_correction", "local")(LAYER + LAYER), "");
        EXPECT_EQ(modes("local", "local")(LAYER), "");
        expect_text(modes("local", "halo_read")(sender),
                    {"sums over senders have to be folded", "halo_correction"});
        expect_text(modes("local", "local")(LAYER + LAYER),
                    {"reads rows of senders that have to be refreshed", "halo_read"});
    }
    EXPECT_EQ(halo(R"("kind": "local")")(LAYER), "");
    expect_text(halo(R"("kind": "local")")(LAYER + LAYER), {"have to be refreshed"});
    EXPECT_EQ(halo(R"("kind": "graph_parallel")")(LAYER + LAYER), "");
    expect_text(halo(R"("kind": "graph_parallel")")(LAYER + sender),
                {"sums over senders have to be folded", "halo_correction"});
}

TEST(Policy, SystemReductionsMayBeForbidden) {
    const std::string body = LAYER + "    h = h * torch.cos(h.sum())\n";
    EXPECT_EQ(load(body, "").failure, "");
    expect_text(load(body, "", R"(, "system_reductions": false)").failure,
                {"sum over the atoms of the whole system", "system_reductions true"});
}

TEST(Policy, SpecAndCardMustAgree) {
    expect_text(load(LAYER, "", R"(, "output_kinds": [["energies", "per_graph"]])").failure,
                {"/output_kinds", "got kind \"per_graph\"", "energies", "per_node"});
    // the framework's own names are those of roles, not of keys
    EXPECT_EQ(
        load(LAYER, "",
             R"(, "output_kinds": [["atomic_energies", "per_node"], ["energy", "per_graph"]])")
            .failure,
        "");
    expect_text(load(LAYER, "", R"(, "output_kinds": [["atomic_energies", "per_graph"]])").failure,
                {"/output_kinds", "atomic_energies"});
    expect_text(load(LAYER, "", R"(, "compile": {"force_strategy": "model_internal"})").failure,
                {"/compile/force_strategy", "model_internal", "edge_vectors"});
    expect_text(load(LAYER, "", R"(, "all_reduce_outputs": ["energies"])").failure,
                {"/all_reduce_outputs", "per-node output", "remove it"});
}

// --- helper adapters ---

namespace {

const char* const MOL_SUM = R"(
def mol_sum(x: Tensor, last: Tensor) -> Tensor:
    n = int(last[-1]) + 1
    return torch.zeros([n, x.size(1)], dtype=x.dtype).index_add(0, last, x)
)";

const char* const SIMPLE_SUM = R"(
def mol_sum(x: Tensor, last: Tensor) -> Tensor:
    return torch.sum(x, [0], True)
)";

ScriptedModel charged(const std::string& function_body) {
    return {message_network(LAYER +
                            "    q = mol_sum(h, data['types'] * 0)\n"
                            "    h = h - q[0] * 0.01\n" +
                            LAYER),
            {{"aimnet.nbops", function_body}},
            {}};
}

}  // namespace

TEST(HelperAdapter, ReplacesAFunctionByABuiltIn) {
    EXPECT_NE(load(charged(MOL_SUM), "").failure, "");
    const auto loaded =
        load(charged(MOL_SUM),
             helper(R"("kind": "python", "module_path": "aimnet.nbops", "attr_name": "mol_sum",
                  "replacement": "nvalchemi.models.aimnet2:_distributed_mol_sum")"));
    EXPECT_EQ(loaded.failure, "");
    expect_text(loaded.listing, {"function aimnet.nbops.mol_sum", "built in", "owned rows"});
}

TEST(HelperAdapter, ReplacesAFunctionByOneOfTheArchive) {
    auto model = charged(MOL_SUM);
    model.functions["exported.replacements"] = R"(
def whole_sum(x: Tensor, last: Tensor) -> Tensor:
    return torch.sum(x, [0], True)
)";
    model.parts.push_back({"dd", "exported.Replacements", R"(
def whole(self, x: Tensor, last: Tensor) -> Tensor:
    return torch.sum(x, [0], True)
def forward(self, x: Tensor) -> Tensor:
    return x
)"});
    for (const char* kind : {"python", "jit"})
        EXPECT_EQ(load(model, helper(std::string(R"("kind": ")") + kind +
                                     R"(", "module_path": "aimnet.nbops", "attr_name": "mol_sum",
                                         "replacement": "archive:dd.whole")"))
                      .failure,
                  "");
    // a function that nothing calls is not saved with an archive
    expect_text(load(model, helper(R"("kind": "python", "module_path": "aimnet.nbops",
                                      "attr_name": "mol_sum",
                                      "replacement": "exported.replacements:whole_sum")"))
                    .failure,
                {"/core/third_party_helpers/0/replacement", "exported.replacements:whole_sum",
                 "archive:submodule.method"});
}

TEST(HelperAdapter, WrapsAMethod) {
    ScriptedModel model{message_network(LAYER + "    h = self.conv.forward(h, i, j, m)\n"), {}, {}};
    model.parts.push_back({"conv", "aimnet.modules.aev.ConvSV", R"(
def forward(self, h: Tensor, i: Tensor, j: Tensor, m: Tensor) -> Tensor:
    return torch.zeros_like(h).index_add(0, i, h[j] * m)
)"});
    model.parts.push_back({"dd", "exported.Replacements", R"(
def same(self, result: Tensor, h: Tensor, i: Tensor, j: Tensor, m: Tensor) -> Tensor:
    return result * 1.0
def forward(self, x: Tensor) -> Tensor:
    return x
)"});
    const std::string method = R"("kind": "method", "module_path": "aimnet.modules.aev",
        "class_name": "ConvSV", "method_name": "forward", "replacement": )";
    const auto kept =
        load(model, helper(method + R"("nvalchemi.models.aimnet2:_distributed_conv_sv_forward")"));
    EXPECT_EQ(kept.failure, "");
    EXPECT_EQ(kept.forward, 1);
    expect_text(kept.listing, {"method aimnet.modules.aev.ConvSV.forward", "archive's own code"});
    EXPECT_EQ(load(model, helper(method + R"("archive:dd.same")")).failure, "");
    EXPECT_EQ(load(model, helper(method + "null")).failure, "");
    expect_text(load(model, helper(method + R"("archive:dd.same", "mode": "marshal")")).failure,
                {"takes 6 arguments, expected 5"});
}

TEST(HelperAdapter, MatchingNothingListsNearNames) {
    expect_text(load(charged(MOL_SUM), helper(R"("kind": "python", "module_path": "aimnet.nbop",
                               "attr_name": "mol_sum",
                               "replacement": "nvalchemi_lmp:system_sum")"))
                    .failure,
                {"cannot distribute"});  // the function that fails is not replaced
    ScriptedModel model{message_network("    h = double_it(h)\n" + LAYER),
                        {{"pkg.nbops", "def double_it(x: Tensor) -> Tensor:\n    return x * 2\n"}},
                        {}};
    expect_text(
        load(model, helper(R"("kind": "python", "module_path": "pkg.nbop",
                                      "attr_name": "double_it",
                                      "replacement": "nvalchemi_lmp:keep_original")"))
            .failure,
        {"/core/third_party_helpers/0", "pkg.nbop.double_it", "near names", "pkg.nbops.double_it"});
    expect_text(load(LAYER, helper(R"("kind": "method", "module_path": "a", "class_name": "B",
                                      "method_name": "c", "replacement": null)"))
                    .failure,
                {"it calls none", "inlined or frozen"});
}

TEST(HelperAdapter, GraphParallelReplacementsAreRefused) {
    expect_text(load(charged(MOL_SUM), helper(R"("kind": "python", "module_path": "aimnet.nbops",
                               "attr_name": "mol_sum",
                               "replacement": "nvalchemi.models.uma:_distributed_partition_graph")"))
                    .failure,
                {"/core/third_party_helpers/0/replacement", "graph_parallel", "remove"});
}

TEST(HelperAdapter, GraphParallelReplacementsKeepTheOriginalThere) {
    auto spec = helper(R"("kind": "python", "module_path": "aimnet.nbops", "attr_name": "mol_sum",
                          "replacement": "nvalchemi.models.uma:_distributed_partition_graph")");
    const auto kept = in_blocks(charged(SIMPLE_SUM), spec);
    EXPECT_EQ(kept.failure, "");
    expect_text(kept.listing, {"for policy \"graph_parallel\" only", "own code runs"});
}

TEST(OperatorAdapter, TransformsForBlocksGatherAndSlice) {
    const auto full = with_op("pull", R"("0": {"type": "gather_inputs_full"})",
                              R"("0": {"type": "slice_outputs_owned"})");
    const auto loaded = in_blocks({message_network(LAYER + PULL + LAYER), {}, {}}, full);
    EXPECT_EQ(loaded.failure, "");
    EXPECT_EQ(loaded.forward, 2);  // all rows are gathered before the operator and after it
    expect_text(loaded.listing,
                {"gather_inputs_full on argument 0, slice_outputs_owned on output 0"});
    expect_text(
        in_blocks({message_network(LAYER + "    h = h * ops.adaptertest.total(h)\n"), {}, {}},
                  with_op("total", "", R"("0": {"type": "slice_outputs_owned"})"))
            .failure,
        {"slice_outputs_owned on output 0", "has no rows of all ranks"});
}

// --- intent verbs ---

TEST(IntentVerb, RefreshFoldAndSum) {
    EXPECT_EQ(load(LAYER + "    h = ops.nvalchemi_lmp.refresh_neighbors(h)\n" + LAYER, "").failure,
              "");
    EXPECT_EQ(load("    p = torch.zeros_like(h).index_add(0, i, m)\n"
                   "    p = ops.nvalchemi_lmp.scatter_to_owners(p)\n"
                   "    h = h + torch.zeros_like(h).index_add(0, i, p[j] * m)\n",
                   "")
                  .failure,
              "");
    const auto summed = load(LAYER +
                                 "    s = ops.nvalchemi_lmp.system_sum(h, data['types'] * 0, 1)\n"
                                 "    h = h * torch.cos(s[0])\n" +
                                 LAYER,
                             "");
    EXPECT_EQ(summed.failure, "");
    EXPECT_EQ(load(LAYER +
                       "    s = ops.nvalchemi_lmp.system_sum(h, data['types'] * 0, 1, 'local')\n"
                       "    h = h * torch.cos(s[0])\n" +
                       LAYER,
                   "")
                  .failure,
              "");
    EXPECT_EQ(load("    h = ops.nvalchemi_lmp.to_local(h)\n"
                   "    h = ops.nvalchemi_lmp.autograd_target(h)\n" +
                       LAYER,
                   "")
                  .failure,
              "");
}

TEST(IntentVerb, FoldsSumsOverSendersOnce) {
    for (const char* scatter :
         {"torch.zeros_like(h).index_add(0, j, h[i] * m)",
          "torch.zeros_like(h).scatter_add(0, j.unsqueeze(1).expand(-1, 4), m)"}) {
        const auto loaded = load("    p = " + std::string(scatter) +
                                     "\n    p = ops.nvalchemi_lmp.scatter_to_owners(p)\n"
                                     "    h = h + torch.zeros_like(h).index_add(0, i, p[j] * m)\n",
                                 "");
        EXPECT_EQ(loaded.failure, "");
        EXPECT_EQ(loaded.forward, 2);  // of the fold and of its adjoint
    }
}

TEST(IntentVerb, InternalOperatorsAreNotForModels) {
    expect_text(load("    h = ops.nvalchemi_lmp.halo_forward(h)\n" + LAYER, "").failure,
                {"nvalchemi_lmp::halo_forward", "expected one of the intent verbs"});
}

TEST(IntentVerb, TheContextTellsCountsAndRanks) {
    EXPECT_EQ(load(R"(
    distributed, rank, world, owned, padded = ops.nvalchemi_lmp.current_dd_context()
    if distributed:
        head = h[:owned]
        s = head.sum(0)
    else:
        s = h.sum(0)
    h = h * torch.cos(s)
)" + LAYER,
                   "")
                  .failure,
              "");
    expect_text(load(R"(
    distributed, rank, world, owned, padded = ops.nvalchemi_lmp.current_dd_context()
    h = h + float(rank)
)" + LAYER,
                     "")
                    .failure,
                {"differs between ranks"});
}

}  // namespace nvalchemi
