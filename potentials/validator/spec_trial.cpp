// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/spec_trial.hpp"
#include "potentials/reference_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "potentials/validator/companion.hpp"
#include "potentials/validator/partition.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/write_mlip_spec.hpp"

namespace nvalchemi {

namespace {

SessionOptions undecomposed_options(SessionOptions options) {
    options.distribute = false;
    options.self_test = false;
    options.spec.reset();
    return options;
}

const ValidationRequest& checked(const ValidationRequest& request) {
    if (request.ranks < 1)
        throw std::invalid_argument("ranks: got " + std::to_string(request.ranks) +
                                    ", expected at least 1");
    if (request.system.size() == 0)
        throw std::invalid_argument("structure: got no atoms, expected at least one");
    const bool good = static_cast<std::int64_t>(request.owners.size()) == request.system.size() &&
                      std::all_of(request.owners.begin(), request.owners.end(),
                                  [&](int owner) { return owner >= 0 && owner < request.ranks; });
    if (!good && !request.owners.empty())
        throw std::invalid_argument("owners: expected one of the " + std::to_string(request.ranks) +
                                    " ranks for each of the " +
                                    std::to_string(request.system.size()) + " atoms");
    return request;
}

std::vector<int> owners_of(const ValidationRequest& request) {
    return request.owners.empty() ? bisect(request.system, request.ranks) : request.owners;
}

/// A spec that passes must load, too. The card counts for its own spec, not for one that replaces
/// it.
void require_expected_exchanges(const ModelCard& card, const ValidationRequest& request,
                                AttemptEvidence& evidence) {
    auto& attempt = evidence.attempt;
    const auto found = static_cast<std::int64_t>(evidence.trace.planned.size());
    if (attempt.verdict != Verdict::Passed || request.session.spec || !card.expected_exchanges ||
        *card.expected_exchanges == found)
        return;
    attempt.verdict = Verdict::Failed;
    attempt.score = std::max(attempt.score, 2.0);
    attempt.message = "the numbers are right, but the model card expects " +
                      std::to_string(*card.expected_exchanges) + " exchanges and there are " +
                      std::to_string(found) + ": correct the card or the spec";
}

void name_atom(const std::vector<std::int64_t>& names, std::int64_t& atom) {
    if (atom >= 0 && atom < static_cast<std::int64_t>(names.size())) atom = names[atom];
}

/// Atoms by the names that the caller gave them, in all that is shown to people. A divergence on
/// the chain names atoms of the chain.
void name_atoms(const std::vector<std::int64_t>& names, AttemptEvidence& evidence) {
    for (auto& quantity : evidence.attempt.quantities) name_atom(names, quantity.worst);
    for (auto& offender : evidence.completeness.first) name_atom(names, offender.atom);
    if (evidence.divergence && !evidence.divergence_on_chain)
        name_atom(names, evidence.divergence->worst_atom);
    if (!evidence.errors) return;
    for (auto& atom : evidence.errors->worst) name_atom(names, atom.atom);
    for (auto& pair : evidence.errors->force_pairs) name_atom(names, pair.atom);
}

bool all_passed(const std::vector<Deviation>& quantities) {
    return std::all_of(quantities.begin(), quantities.end(),
                       [](const auto& quantity) { return quantity.passed(); });
}

}  // namespace

double score_of(const std::vector<Deviation>& quantities) {
    double score = 0;
    for (const auto& quantity : quantities) {
        if (!quantity.compared) continue;
        const double ratio = quantity.difference / std::max(quantity.tolerance, 1e-300);
        if (!(ratio <= score)) score = ratio;
    }
    return std::isnan(score) ? std::numeric_limits<double>::infinity() : score;
}

std::int64_t bytes_sent(const std::vector<ExchangeEvent>& events, const VirtualParts& parts,
                        const ModelCard& card) {
    const std::int64_t element = card.dtype == "float64" ? 8 : 4;
    std::int64_t rows = 0;
    for (std::size_t rank = 0; rank < parts.parts.size(); ++rank)
        for (const auto& source : parts.parts[rank].rows.halo)
            rows += source.owner_rank != static_cast<int>(rank);
    const auto ranks = static_cast<std::int64_t>(parts.parts.size());
    std::int64_t bytes = 0;
    for (const auto& event : events)
        bytes += element * event.width *
                 (event.kind == ExchangeEvent::Kind::SystemSum ? (ranks > 1 ? ranks : 0) : rows);
    return bytes;
}

SpecTrial::SpecTrial(const ValidationRequest& request)
    : request_(checked(request)),
      undecomposed_(request.archive, undecomposed_options(request.session)),
      reference_(make_reference(undecomposed_, request.system)),
      parts_(make_virtual_parts(request.system, undecomposed_.card(), owners_of(request),
                                request.ranks)) {
    check_reference(undecomposed_);  // no spec mends a card that does not fit its archive
    if (request.alter_parts) request.alter_parts(parts_);
    common_.ranks = request.ranks;
    common_.free_functions = undecomposed_.free_functions();
    common_.completeness = check_completeness(request.system, card(), parts_);
    common_.plan = check_plan(parts_, request.parts);
    common_.health = judge_partition(request.system, card().cutoff, parts_);
    companion_ = companion_system(card());
    companion_parts_ = make_virtual_parts(companion_, card(), companion_owners(), kCompanionRanks);
    try {
        companion_reference_ = make_reference(undecomposed_, companion_);
    } catch (const ModelError&) {
        // a model need not have an energy of a chain without periodicity
    }
}

/// A spec that is right on the structure must be right where no rank sees everything, too.
void SpecTrial::evaluate_companion(Session& session, AttemptEvidence& evidence) {
    auto& attempt = evidence.attempt;
    if (!companion_reference_ || attempt.verdict != Verdict::Passed) return;
    const auto found = evaluate_virtual(session, companion_parts_);
    attempt.chain_bytes = bytes_sent(found.events.front(), companion_parts_, card());
    auto quantities = compare_with_reference(companion_, *companion_reference_, found, {});
    if (all_passed(quantities)) return;
    attempt.verdict = Verdict::Failed;
    attempt.score = score_of(quantities);
    attempt.message =
        request_.ranks == 1
            ? "right on 1 rank; the spec would be wrong on more: a chain of twelve atoms in parts "
              "differs"
            : "right on the given structure, but wrong on a chain of " +
                  std::to_string(companion_.size()) +
                  " atoms in parts of which none sees all: the quantities named \"chain\"";
    for (auto& quantity : quantities) {
        quantity.quantity = "chain: " + quantity.quantity;
        quantity.worst = -1;
        attempt.quantities.push_back(std::move(quantity));
    }
    evidence.divergence = find_divergence(session, companion_parts_, {});
    evidence.divergence_on_chain = true;
}

void SpecTrial::evaluate(Session& session, AttemptEvidence& evidence) {
    auto& attempt = evidence.attempt;
    const auto found = evaluate_virtual(session, parts_, request_.parts);
    evidence.trace.events = found.events.front();
    evidence.trace.same_on_all_ranks =
        std::all_of(found.events.begin(), found.events.end(),
                    [&](const auto& events) { return events == found.events.front(); });
    attempt.bytes_per_step = bytes_sent(evidence.trace.events, parts_, card());
    attempt.quantities =
        compare_with_reference(request_.system, reference_, found, request_.tolerance);
    attempt.score = score_of(attempt.quantities);
    // parts that are not those of the system are no proof, whatever the numbers say
    const bool sound = evidence.completeness.complete && evidence.plan.good;
    attempt.verdict = all_passed(attempt.quantities) && sound ? Verdict::Passed : Verdict::Failed;
    evidence.errors = map_errors(reference_.whole, found, parts_, attempt.quantities[1].tolerance,
                                 attempt.quantities[2].tolerance);
}

AttemptEvidence SpecTrial::run(const MLIPSpec& spec) {
    auto evidence = try_spec(spec);
    name_atoms(request_.names, evidence);
    return evidence;
}

AttemptEvidence SpecTrial::try_spec(const MLIPSpec& spec) {
    auto evidence = common_;
    auto& attempt = evidence.attempt;
    attempt.spec = spec;
    attempt.score = std::numeric_limits<double>::infinity();
    auto options = request_.session;
    options.spec = spec;
    // this run is a better test than the one at load, and says more when it fails
    options.self_test = false;
    options.counts_exchanges = false;
    try {
        // what was read leniently, or was edited, must be what a strict reader accepts
        if (!options.spec_reading.lenient) {
            attempt.readable = false;
            parse_mlip_spec(write_mlip_spec(spec), "distribution spec");
            attempt.readable = true;
        }
        Session session(request_.archive, options);
        evidence.adapter_uses = session.adapter_uses();
        evidence.foreign_calls = session.foreign_calls();
        evidence.calls = session.operator_calls();
        evidence.trace.planned = session.planned_exchanges();
        evaluate(session, evidence);
        evaluate_companion(session, evidence);
        require_expected_exchanges(card(), request_, evidence);
        if (attempt.verdict == Verdict::Failed && !evidence.divergence)
            evidence.divergence = find_divergence(session, parts_, request_.parts);
    } catch (const std::exception& error) {
        attempt.message = error.what();
        if (attempt.quantities.empty()) attempt.verdict = Verdict::Refused;
    }
    return evidence;
}

}  // namespace nvalchemi
