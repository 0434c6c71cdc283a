// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_ATTEMPT_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_ATTEMPT_HPP

#include <optional>
#include <string>
#include <vector>

#include "potentials/adapter_use.hpp"
#include "potentials/distribution/planned_exchange.hpp"
#include "potentials/observed_value.hpp"
#include "potentials/validation.hpp"
#include "potentials/validator/layer_divergence.hpp"
#include "potentials/validator/partition_checks.hpp"
#include "spec/mlip_spec.hpp"

namespace nvalchemi {

enum class Verdict {
    Passed,
    Failed,   ///< it ran, and something differs
    Refused,  ///< it could not be loaded or run: `message` says why
};

/// One spec that was tried.
struct Attempt {
    int number = 1;
    int parent = 0;         ///< the attempt whose spec was edited; 0: none
    std::string rule;       ///< that edited it; empty: the spec that was given
    std::string rationale;  ///< why
    std::string patch;      ///< RFC 6902, from the parent's spec
    MLIPSpec spec;
    Verdict verdict = Verdict::Refused;
    bool readable = true;  ///< a strict reader takes the spec
    std::string message;
    std::vector<Deviation> quantities;
    /// Largest difference over tolerance; at most 1 if it passed. Infinite where it did not run.
    double score = 0;
    std::int64_t bytes_per_step = 0;  ///< that all ranks send in one evaluation
    /// The same for companion_system(): it tells specs apart where one part sends nothing. 0 where
    /// the chain was not evaluated.
    std::int64_t chain_bytes = 0;
};

/// Largest difference over its tolerance, of the quantities that were compared.
double score_of(const std::vector<Deviation>& quantities);

/// How the exchange was used in one evaluation.
struct ExchangeTrace {
    std::vector<PlannedExchange> planned;  ///< of the forward pass
    std::vector<ExchangeEvent> events;     ///< of rank 0, backward pass included
    bool same_on_all_ranks = true;
};

/// All that one attempt showed.
struct AttemptEvidence {
    Attempt attempt;
    int ranks = 1;
    std::vector<AdapterUse> adapter_uses;
    std::vector<ForeignCall> foreign_calls;
    std::vector<OperatorCall> calls;
    std::vector<std::string> free_functions;  ///< of the archive
    ExchangeTrace trace;
    Completeness completeness;
    PlanCheck plan;
    PartitionHealth health;
    std::optional<LayerDivergence> divergence;  ///< only looked for where the attempt failed
    bool divergence_on_chain = false;           ///< on companion_system(), whose atoms it names
    std::optional<ErrorMap> errors;             ///< where it ran
};

}  // namespace nvalchemi

#endif
