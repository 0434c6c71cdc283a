// SPDX-License-Identifier: GPL-2.0-only
// Every spec that differs from a right one in one place is either right too, or is found, named and
// mended; and so are specs that differ in two.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <random>
#include <set>

#include "potentials/explain_spec.hpp"
#include "potentials/validator/spec_patch.hpp"
#include "spec/spec_error.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/potentials/test_validator_support.hpp"

namespace nvalchemi {

namespace {

using namespace testing;
using Kind = OutputTransform::Kind;

/// Specs that differ from `right` in one place.
class Mutants {
  public:
    explicit Mutants(const MLIPSpec& right) : right_(right) { seen_.insert(text_of(right)); }

    std::vector<MLIPSpec> all() {
        for (std::size_t k = 0; k < right_.distribution.custom_ops.size(); ++k) mutate_adapter(k);
        for (std::size_t k = 0; k < right_.distribution.third_party_helpers.size(); ++k)
            add([&](MLIPSpec& s) {
                auto& helpers = s.distribution.third_party_helpers;
                helpers.erase(helpers.begin() + static_cast<std::ptrdiff_t>(k));
            });
        mutate_policy();
        add([](MLIPSpec& s) { s.system_reductions = false; });
        add([](MLIPSpec& s) { s.all_reduce_outputs.insert("energies"); });
        for (const auto kind : {OutputKind::PerGraph, OutputKind::Global, OutputKind::PerNode})
            add([&](MLIPSpec& s) { s.output_kinds["energies"] = kind; });
        for (const auto strategy :
             {ForceStrategy::ModelInternal, ForceStrategy::FrameworkFromNodeEnergy})
            add([&](MLIPSpec& s) {
                s.compile.emplace();
                s.compile->force_strategy = strategy;
            });
        return std::move(mutants_);
    }

  private:
    /// Of what cannot be written, an empty text.
    static std::string text_of(const MLIPSpec& spec) { return write_mlip_spec(spec); }

    void add(const std::function<void(MLIPSpec&)>& change) {
        auto spec = right_;
        change(spec);
        if (seen_.insert(text_of(spec)).second) mutants_.push_back(std::move(spec));
    }

    void mutate_adapter(std::size_t k) {
        const auto positions = operator_positions(right_.distribution.custom_ops[k].op);
        const auto of = [k](MLIPSpec& s) -> OpAdapter& { return s.distribution.custom_ops[k]; };
        for (const int argument : positions.tensor_arguments) {
            add([&](MLIPSpec& s) { of(s).arg_transforms.erase(argument); });
            for (const auto transform : {ArgTransform::GatherInputs, ArgTransform::SliceOwned})
                add([&](MLIPSpec& s) { of(s).arg_transforms[argument] = transform; });
        }
        for (int output = 0; output < positions.outputs; ++output) {
            add([&](MLIPSpec& s) { of(s).output_transforms.erase(output); });
            for (const auto kind : {Kind::ScatterOutputs, Kind::AllReduceSum})
                add([&](MLIPSpec& s) { of(s).output_transforms[output] = {kind, false}; });
        }
        add([&](MLIPSpec& s) {
            auto& ops = s.distribution.custom_ops;
            ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(k));
        });
        add([&](MLIPSpec& s) { of(s).op += "x"; });
    }

    void mutate_policy() {
        for (const auto kind : {PolicyKind::Halo, PolicyKind::RefreshHalo})
            for (const auto scatter : {ScatterMode::HaloCorrection, ScatterMode::Local})
                for (const auto gather : {GatherMode::HaloRead, GatherMode::Local})
                    add([&](MLIPSpec& s) { s.distribution.policy = {kind, scatter, gather}; });
        for (const auto kind : {PolicyKind::Local, PolicyKind::GraphParallel})
            add([&](MLIPSpec& s) { s.distribution.policy.kind = kind; });
    }

    const MLIPSpec& right_;
    std::set<std::string> seen_;
    std::vector<MLIPSpec> mutants_;
};

struct Tally {
    int mutants = 0, equivalent = 0, named = 0, mended = 0;
};

/// A mutant that passes must pass in other parts as well.
void expect_equivalent(ValidationRequest request, const std::string& patch) {
    request.autofix = AutoFix::No;
    request.ranks = 4;
    const auto report = validate_in_parts(request);
    EXPECT_TRUE(report.ok) << "right in two parts, wrong in four: " << patch << "\n"
                           << summarize(report);
}

void judge(ValidationRequest request, const MLIPSpec& right, const MLIPSpec& mutant, Tally& tally) {
    const auto patch = make_spec_patch(right, mutant);
    request.ranks = 2;
    request.autofix = AutoFix::Apply;
    request.session.spec = mutant;
    const auto report = validate_in_parts(request);
    ++tally.mutants;
    if (report.attempts[0].verdict == Verdict::Passed) {
        ++tally.equivalent;
        expect_equivalent(request, patch);
        return;
    }
    const bool named = !report.diagnostics.empty() && report.diagnostics[0].confidence >= 0.5;
    tally.named += named;
    tally.mended += report.ok;
    if (!named || !report.ok)
        std::printf("%s: %s, %s\n%s\n", patch.c_str(), named ? "named" : "NOT NAMED",
                    report.ok ? "mended" : "NOT MENDED", summarize(report).c_str());
}

void judge_all(const ValidationRequest& request, int pairs) {
    const auto right = parse_model_card(*request.session.card_text, "card").distribution();
    const auto single = Mutants(right).all();
    Tally tally;
    for (const auto& mutant : single) judge(request, right, mutant, tally);
    std::mt19937 random(3);
    for (int k = 0; k < pairs; ++k) {
        const auto& first = single[random() % single.size()];
        const auto second = Mutants(first).all();
        judge(request, right, second[random() % second.size()], tally);
    }
    const int wrong = tally.mutants - tally.equivalent;
    std::printf("%d mutants, %d of them equivalent; of %d wrong ones %d named, %d mended\n",
                tally.mutants, tally.equivalent, wrong, tally.named, tally.mended);
    EXPECT_GE(10 * tally.named, 9 * wrong);
    EXPECT_GE(10 * tally.mended, 9 * wrong);
}

}  // namespace

TEST(MutatedSpecs, OfOpaqueOperators) {
    judge_all(
        scripted_request(kPush + kTotal + kPull + kLayer,
                         with_ops({adapter("push", "", kScatter), adapter("total", kSlice, kReduce),
                                   adapter("pull", "", "")})),
        20);
}

TEST(MutatedSpecs, OfOrdinaryOperators) {
    judge_all(scripted_request(kLayer + kSenderSum + kSystemSum + kLayer), 10);
}

TEST(MutatedSpecs, OfHelpers) {
    judge_all(scripted_request(network_with_system_helper(), kHelperAdapter), 10);
}

}  // namespace nvalchemi
