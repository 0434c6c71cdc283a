// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/spec_repair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "potentials/validator/spec_patch.hpp"
#include "spec/write_mlip_spec.hpp"

namespace nvalchemi {

namespace {

struct Candidate {
    MLIPSpec spec;
    std::size_t parent = 0;
    std::string rule, rationale;
    double parent_score = 0, confidence = 0;
};

/// Edits of a spec that ran come before edits of one that was refused; then the more certain ones.
bool comes_first(const Candidate& left, const Candidate& right) {
    const bool left_ran = std::isfinite(left.parent_score);
    const bool right_ran = std::isfinite(right.parent_score);
    if (left_ran != right_ran) return left_ran;
    // an edit that nothing speaks for waits for certain ones of other attempts
    const bool left_certain = left.confidence >= 0.6, right_certain = right.confidence >= 0.6;
    if (left_certain != right_certain) return left_certain;
    if (left.confidence != right.confidence) return left.confidence > right.confidence;
    return left.parent_score < right.parent_score;
}

bool better(const Attempt& left, const Attempt& right) {
    const bool left_passed = left.verdict == Verdict::Passed;
    const bool right_passed = right.verdict == Verdict::Passed;
    if (left_passed != right_passed) return left_passed;
    if (!left_passed && left.readable != right.readable) return left.readable;
    if (!left_passed) return left.score < right.score;
    if (left.bytes_per_step != right.bytes_per_step)
        return left.bytes_per_step < right.bytes_per_step;
    // one part sends nothing, whatever the spec
    if (left.chain_bytes != right.chain_bytes) return left.chain_bytes < right.chain_bytes;
    return false;  // the earlier one, which needs fewer edits
}

class Search {
  public:
    Search(SpecTrial& trial, AttemptEvidence first, int max_attempts)
        : trial_(trial), max_attempts_(max_attempts) {
        seen_.insert(write_mlip_spec(first.attempt.spec));
        add(std::move(first));
    }

    Repair run() {
        while (!passed() && try_next()) {
        }
        if (passed()) {
            is_mended_ = true;
            queue_.clear();
            propose(repair_.best, true);
            while (try_next()) {
            }
        }
        return std::move(repair_);
    }

  private:
    bool passed() const { return repair_.tried[repair_.best].attempt.verdict == Verdict::Passed; }

    void add(AttemptEvidence evidence) {
        evidence.attempt.number = static_cast<int>(repair_.tried.size()) + 1;
        repair_.tried.push_back(std::move(evidence));
        const auto newest = repair_.tried.size() - 1;
        if (better(repair_.tried[newest].attempt, repair_.tried[repair_.best].attempt))
            repair_.best = newest;
        const bool passes = repair_.tried[newest].attempt.verdict == Verdict::Passed;
        if (!passes && !is_mended_) propose(newest, false);
        if (passes && is_mended_ && newest == repair_.best) {
            queue_.clear();  // the same edits of a spec that communicates more
            propose(newest, true);
        }
    }

    void propose(std::size_t parent, bool after_pass) {
        const auto& evidence = repair_.tried[parent];
        const auto score = evidence.attempt.score;
        if (!after_pass)
            for (const auto& found : diagnose(trial_.card(), evidence))
                for (std::size_t k = 0; k < found.edits.size(); ++k)
                    // the less likely edits of a certain diagnosis stay certain
                    queue_.push_back({found.edits[k], parent, found.symptom, found.advice, score,
                                      found.confidence - 0.01 * static_cast<double>(k)});
        for (const auto& rule : edit_rules()) {
            if (rule.only_after_pass != after_pass) continue;
            for (auto& spec : rule.propose(trial_.card(), evidence))
                queue_.push_back({std::move(spec), parent, rule.name,
                                  after_pass ? "it may pass with less communication"
                                             : "no diagnosis was certain enough",
                                  score, rule.confidence});
        }
    }

    /// False if nothing is left to try, or no attempt is.
    bool try_next() {
        while (!queue_.empty() && static_cast<int>(repair_.tried.size()) < max_attempts_) {
            const auto next = std::min_element(queue_.begin(), queue_.end(), comes_first);
            const auto candidate = *next;
            queue_.erase(next);
            if (!seen_.insert(write_mlip_spec(candidate.spec)).second) continue;
            auto evidence = trial_.run(candidate.spec);
            evidence.attempt.parent = static_cast<int>(candidate.parent) + 1;
            evidence.attempt.rule = candidate.rule;
            evidence.attempt.rationale = candidate.rationale;
            evidence.attempt.patch =
                make_spec_patch(repair_.tried[candidate.parent].attempt.spec, candidate.spec);
            add(std::move(evidence));
            return true;
        }
        return false;
    }

    SpecTrial& trial_;
    int max_attempts_;
    bool is_mended_ = false;  ///< one passed: what is tried from now on is to communicate less
    std::vector<Candidate> queue_;
    std::set<std::string> seen_;
    Repair repair_;
};

}  // namespace

Repair repair_spec(SpecTrial& trial, AttemptEvidence first, int max_attempts) {
    return Search(trial, std::move(first), max_attempts).run();
}

}  // namespace nvalchemi
