// SPDX-License-Identifier: GPL-2.0-only
#include <cmath>
#include <nlohmann/json.hpp>

#include "potentials/session.hpp"
#include "potentials/validator/trace_report.hpp"
#include "spec/write_mlip_spec.hpp"

namespace nvalchemi {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kListedAtoms = 10000;

/// JSON has no infinity and no NaN: null stands for both.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json numbers(const std::vector<double>& values) {
    json list = json::array();
    for (const double value : values) list.push_back(number(value));
    return list;
}

json spec_json(const MLIPSpec& spec) { return json::parse(write_mlip_spec(spec)); }

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::Passed: return "passed";
        case Verdict::Failed: return "failed";
        case Verdict::Refused: break;
    }
    return "refused";
}

const char* name_of(ExchangeEvent::Kind kind) {
    switch (kind) {
        case ExchangeEvent::Kind::Forward: return "forward";
        case ExchangeEvent::Kind::Reverse: return "reverse";
        case ExchangeEvent::Kind::SystemSum: break;
    }
    return "system_sum";
}

json to_json(const std::vector<Deviation>& quantities) {
    json list = json::array();
    for (const auto& quantity : quantities) {
        json worst = nullptr, rank = nullptr;
        if (quantity.worst >= 0) worst = quantity.worst;
        if (quantity.rank >= 0) rank = quantity.rank;
        list.push_back({{"name", quantity.quantity},
                        {"unit", quantity.unit},
                        {"compared", quantity.compared},
                        {"largest", number(quantity.largest)},
                        {"difference", number(quantity.difference)},
                        {"tolerance", number(quantity.tolerance)},
                        {"worst_atom", worst},
                        {"worst_rank", rank},
                        {"passed", quantity.compared ? json(quantity.passed()) : json(nullptr)}});
    }
    return list;
}

json to_json(const Attempt& attempt) {
    return {{"number", attempt.number},
            {"parent", attempt.parent == 0 ? json(nullptr) : json(attempt.parent)},
            {"rule", attempt.rule.empty() ? json(nullptr) : json(attempt.rule)},
            {"rationale", attempt.rationale},
            {"patch", attempt.patch.empty() ? json::array() : json::parse(attempt.patch)},
            {"spec", spec_json(attempt.spec)},
            {"verdict", name_of(attempt.verdict)},
            {"message", attempt.message},
            {"score", number(attempt.score)},
            {"bytes_per_step", attempt.bytes_per_step},
            {"quantities", to_json(attempt.quantities)}};
}

json to_json(const Diagnostic& diagnostic) {
    return {{"symptom", diagnostic.symptom},
            {"confidence", diagnostic.confidence},
            {"evidence", diagnostic.evidence},
            {"advice", diagnostic.advice},
            {"patch", json::parse(diagnostic.patch.empty() ? "[]" : diagnostic.patch)}};
}

json completeness_json(const Completeness& found, const PlanCheck& plan) {
    json offenders = json::array();
    for (const auto& offender : found.first)
        offenders.push_back({{"atom", offender.atom},
                             {"rank", offender.rank},
                             {"seen", offender.seen},
                             {"expected", offender.expected}});
    const auto searched = [&](auto value) { return found.searched ? json(value) : json(nullptr); };
    return {{"complete", searched(found.complete)},
            {"edges_seen", found.edges_seen},
            {"edges_expected", searched(found.edges_expected)},
            {"atoms_wrong", searched(found.atoms_wrong)},
            {"atoms_owned_otherwise", searched(found.atoms_owned_otherwise)},
            {"rows_wrong", searched(found.rows_wrong)},
            {"positions_wrong", searched(found.positions_wrong)},
            {"first_offenders", offenders},
            {"exchange_plan",
             {{"good", plan.good},
              {"halo_rows", plan.halo_rows},
              {"forward_wrong", plan.forward_wrong},
              {"reverse_wrong", plan.reverse_wrong},
              {"sums_wrong", plan.sums_wrong},
              {"edges_wrong", plan.edges_wrong},
              {"edges_alone", plan.edges_alone},
              {"rounded", plan.rounded},
              {"failure", plan.failure},
              {"first", plan.first}}}};
}

json divergence_json(const AttemptEvidence& evidence) {
    if (!evidence.divergence) return nullptr;
    const auto& found = *evidence.divergence;
    json result = {{"found", found.found}, {"values_compared", found.values}};
    if (!found.found) return result;
    result["operator"] = found.call.op;
    result["source"] = found.call.source;
    result["module"] = found.call.module;
    result["position"] = found.position;
    result["output"] = found.output;
    result["placement"] = found.per_row ? "rows" : "system";
    result["relative_difference"] = number(found.difference);
    if (found.per_row) {
        result["worst_atom"] = found.worst_atom;
        result["atoms_wrong"] = found.atoms_wrong;
        result["atoms_wrong_near_face"] = found.wrong_near_face;
    } else {
        result["same_on_all_ranks"] = found.same_on_all_ranks;
        result["mean_over_reference"] = number(found.mean_over_reference);
        result["sum_over_reference"] = number(found.sum_over_reference);
    }
    return result;
}

json health_json(const PartitionHealth& health) {
    json parts = json::array();
    for (const auto& part : health.parts)
        parts.push_back({{"owned", part.owned},
                         {"halo", part.halo},
                         {"remote", part.remote},
                         {"edges", part.edges},
                         {"rows_sent", part.rows_sent},
                         {"rows_received", part.rows_received},
                         {"width", numbers(part.width)}});
    return {{"parts", parts},
            {"empty_parts", health.empty_parts},
            {"sees_everything", health.sees_everything},
            {"narrowest", number(health.narrowest)},
            {"advice", health.advice}};
}

/// Columns, one entry an atom.
json pairs_json(const std::vector<ErrorMap::ForcePair>& pairs) {
    json atoms = json::array(), reference = json::array(), decomposed = json::array(),
         distances = json::array();
    for (const auto& pair : pairs) {
        atoms.push_back(pair.atom);
        reference.push_back(numbers({pair.reference.begin(), pair.reference.end()}));
        decomposed.push_back(numbers({pair.decomposed.begin(), pair.decomposed.end()}));
        distances.push_back(pair.face_distance ? number(*pair.face_distance) : json(nullptr));
    }
    return {{"atoms", atoms},
            {"reference", reference},
            {"decomposed", decomposed},
            {"face_distances", distances}};
}

json errors_json(const std::optional<ErrorMap>& errors) {
    if (!errors) return nullptr;
    const auto& map = *errors;
    json worst = json::array();
    for (const auto& atom : map.worst)
        worst.push_back(
            {{"atom", atom.atom},
             {"rank", atom.rank},
             {"force_error", number(atom.force_error)},
             {"energy_error", number(atom.energy_error)},
             {"face_distance", atom.face_distance ? number(*atom.face_distance) : json(nullptr)}});
    // enough to plot errors against the distance to a face
    const bool small = map.force_errors.size() <= kListedAtoms;
    json distances = json::array();
    for (const double distance : map.face_distances)
        distances.push_back(distance < 0 ? json(nullptr) : json(distance));
    return {{"worst", worst},
            {"force_errors", small ? numbers(map.force_errors) : json(nullptr)},
            {"face_distances", small ? distances : json(nullptr)},
            {"forces", pairs_json(map.force_pairs)},
            {"largest_of_rank", numbers(map.largest_of_rank)},
            {"largest_near_face", number(map.largest_near_face)},
            {"largest_inside", number(map.largest_inside)},
            {"atoms_near_face", map.atoms_near_face},
            {"atoms_wrong", map.atoms_wrong},
            {"wrong_near_face", map.wrong_near_face},
            {"same_multiset", map.same_multiset}};
}

json trace_json(const AttemptEvidence& evidence) {
    json planned = json::array(), events = json::array(), adapters = json::array(),
         foreign = json::array();
    for (const auto& exchange : evidence.trace.planned)
        planned.push_back({{"name", exchange.name},
                           {"width", exchange.width},
                           {"source", exchange.source},
                           {"module", exchange.module}});
    for (const auto& event : evidence.trace.events)
        events.push_back({{"kind", name_of(event.kind)}, {"width", event.width}});
    for (const auto& use : evidence.adapter_uses)
        adapters.push_back({{"pointer", use.pointer},
                            {"target", use.target},
                            {"action", use.action},
                            {"places", use.places}});
    for (const auto& call : evidence.foreign_calls)
        foreign.push_back(
            {{"operator", call.op}, {"source", call.source}, {"covered", call.covered}});
    return {{"planned", planned},
            {"events", events},
            {"same_on_all_ranks", evidence.trace.same_on_all_ranks},
            {"adapters", adapters},
            {"foreign_operators", foreign}};
}

json slopes_json(const std::optional<FiniteDifferences>& slopes) {
    if (!slopes) return nullptr;
    json components = json::array();
    for (const auto& component : slopes->components)
        components.push_back({{"quantity", component.quantity},
                              {"own", number(component.own)},
                              {"slope", number(component.slope)}});
    return {{"forces_are_slopes", slopes->forces_are_slopes},
            {"largest_force_difference", number(slopes->largest_force_difference)},
            {"force_tolerance", number(slopes->force_tolerance)},
            {"has_virial", slopes->has_virial},
            {"virial_is_slope", slopes->virial_is_slope},
            {"largest_virial_difference", number(slopes->largest_virial_difference)},
            {"virial_tolerance", number(slopes->virial_tolerance)},
            {"model_gives_forces", slopes->model_gives_forces},
            {"components", components}};
}

json sampled_json(const SampledQuantity& quantity, int hops) {
    return {{"atoms", quantity.atoms},
            {"left_out", quantity.skipped},
            {"hops", hops},
            {"largest_cluster", quantity.largest_cluster},
            {"not_compared", quantity.compared() ? json(nullptr) : json(quantity.not_compared)}};
}

json strata_json(const SampledRun& run) {
    json list = json::array();
    for (const auto& stratum : worst_first(run.strata)) {
        if (list.size() == kListedAtoms) break;
        list.push_back(
            {{"rank", stratum.rank},
             {"neighbor", stratum.neighbor == kInterior ? json(nullptr) : json(stratum.neighbor)},
             {"rows", stratum.rows},
             {"sampled", stratum.sampled},
             {"wrong", stratum.wrong},
             {"difference", number(stratum.difference)},
             {"bound", number(stratum.bound())}});
    }
    return list;
}

json slope_json(const SampledRun& run) {
    const bool compared = run.no_slope.empty();
    const auto shown = [&](double value) { return compared ? number(value) : json(nullptr); };
    return {{"projected_forces", shown(run.projected_forces)},
            {"slope", shown(run.slope)},
            {"not_compared", compared ? json(nullptr) : json(run.no_slope)}};
}

json sampled_json(const SampledRun& run) {
    return {{"mode", run.mode},
            {"seed", run.seed},
            {"sample", run.count},
            {"room", run.room},
            {"force_room", run.force_room},
            {"hops", run.hops},
            {"cutoff", run.cutoff},
            {"change_beyond", run.beyond_reach < 0 ? json(nullptr) : number(run.beyond_reach)},
            {"energies", sampled_json(run.energies, run.hops)},
            {"bound", number(run.bound())},
            {"worst_stratum_bound", number(run.stratum_bound)},
            {"number_of_strata", run.strata.size()},
            {"strata", strata_json(run)},
            {"forces", sampled_json(run.forces, 2 * run.hops)},
            {"slope", slope_json(run)},
            {"not_checked", unchecked_by_samples()},
            {"cannot_see",
             {{"exchanges", "values of the model, and exchanges that the spec leaves out"},
              {"energies", "wrong energies of atoms outside of the sample"},
              {"forces", "wrong forces on atoms outside of the sample"},
              {"slope",
               "forces that are wrong by less than the tolerance along that direction; wrong "
               "energies whose slopes the forces are"}}}};
}

json run_json(const DecomposedRun& run) {
    json document = {{"label", run.label},
                     {"step", run.step},
                     {"ranks", run.ranks},
                     {"passed", run.is_undecided() ? json(nullptr) : json(run.passed())},
                     {"blame", name_of(run.blame)},
                     {"failure", run.failure},
                     {"same_parts", run.sampled ? json(nullptr) : json(run.same_parts)},
                     {"quantities", to_json(run.quantities)},
                     {"completeness", completeness_json(run.completeness, run.plan)},
                     {"partition_health", health_json(run.health)},
                     {"skin", number(run.skin)},
                     {"error_map", errors_json(run.errors)},
                     {"atom_ids", run.ids.size() <= kListedAtoms ? json(run.ids) : json(nullptr)}};
    if (run.sampled) document["sampled"] = sampled_json(*run.sampled);
    return document;
}

json versions_json(const TraceReport& report) {
    json versions = {{"torch_built", Session::torch_version_built()},
                     {"torch_running", Session::torch_version_running()}};
    if (report.run)
        for (const auto& [name, version] : report.run->versions) versions[name] = version;
    return versions;
}

template <typename List>
json list_of(const List& items) {
    json list = json::array();
    for (const auto& item : items) list.push_back(to_json(item));
    return list;
}

}  // namespace

std::string write_trace_report(const TraceReport& report) {
    const auto& evidence = report.evidence;
    json document = {
        {"format", "nvalchemi-trace-report"},
        {"format_version", 1},
        {"ok", report.ok},
        {"next_action", report.next_action},
        {"fix_applied", report.fix_applied.empty() ? json(nullptr) : json(report.fix_applied)},
        {"spec", spec_json(report.spec)},
        {"spec_patch", json::parse(report.proposed_patch)},
        {"quantities", to_json(evidence.attempt.quantities)},
        {"diagnostics", list_of(report.diagnostics)},
        {"attempts", list_of(report.attempts)},
        {"evidence_of_attempt", evidence.attempt.number},
        {"completeness", completeness_json(evidence.completeness, evidence.plan)},
        {"layer_divergence", divergence_json(evidence)},
        {"partition_health", health_json(evidence.health)},
        {"error_map", errors_json(evidence.errors)},
        {"trace", trace_json(evidence)},
        {"finite_differences", slopes_json(report.finite_differences)},
        {"noise", numbers({report.noise.begin(), report.noise.end()})},
        {"model",
         {{"name", report.model.name},
          {"family", report.model.family},
          {"dtype", report.model.dtype},
          {"cutoff", report.model.cutoff},
          {"hash", report.model.hash}}},
        {"structure",
         {{"atoms", report.atoms},
          {"edges", report.edges},
          {"periodic", {report.periodic[0], report.periodic[1], report.periodic[2]}}}},
        {"ranks", report.ranks},
        {"device", report.device},
        {"autofix", report.autofix},
        {"versions", versions_json(report)},
        {"seconds", number(report.seconds)}};
    if (report.run) document["run"] = run_json(*report.run);
    // file names of a model may hold bytes that are no UTF-8
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace nvalchemi
