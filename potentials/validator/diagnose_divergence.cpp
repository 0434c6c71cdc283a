// SPDX-License-Identifier: GPL-2.0-only
// What differences say about a spec that ran.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "potentials/explain_spec.hpp"
#include "potentials/validator/diagnosis_rules.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

using Found = std::optional<Diagnostic>;
using Kind = OutputTransform::Kind;

// rounding to float32 makes relative differences between these
constexpr double kSinglePrecision = 1e-6;
constexpr double kDoublePrecision = 1e-10;
constexpr double kRatioTolerance = 1e-6;

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string place_text(const LayerDivergence& divergence) {
    const auto& call = divergence.call;
    std::string text = call.op;
    if (!call.source.empty()) text += " (" + call.source + ")";
    if (!call.module.empty()) text += " in module " + call.module;
    return text;
}

/// "the first value that differs is output 0 of demo::push (...): 12 atoms, all of them near ..."
std::string divergence_text(const LayerDivergence& d) {
    std::string text = "the first value that differs is output " + std::to_string(d.output) +
                       " of " + place_text(d);
    if (d.per_row)
        return text + ": " + std::to_string(d.atoms_wrong) + " atoms, " +
               std::to_string(d.wrong_near_face) + " of them with neighbours in another part, by " +
               text_of(d.difference) + " of its largest row";
    return text + ": a rank has " + text_of(d.mean_over_reference) +
           " times the value of the whole system, the sum over ranks is " +
           text_of(d.sum_over_reference) + " times it";
}

const LayerDivergence* divergence_of(const AttemptEvidence& e) {
    return e.divergence && e.divergence->found ? &*e.divergence : nullptr;
}

bool is_sound(const AttemptEvidence& e) { return e.completeness.complete && e.plan.good; }

/// The operator of another library that was called at `source`, "" if none was.
std::string foreign_at(const AttemptEvidence& e, const std::string& source) {
    for (const auto& call : e.foreign_calls)
        if (call.source == source) return call.op;
    return "";
}

bool is_foreign(const AttemptEvidence& e, const std::string& op) {
    return std::any_of(e.foreign_calls.begin(), e.foreign_calls.end(),
                       [&](const auto& call) { return call.op == op; });
}

Diagnostic finding(double confidence, std::vector<std::string> evidence, const std::string& advice,
                   std::vector<MLIPSpec> edits = {}) {
    return {"", confidence, std::move(evidence), advice, std::move(edits), ""};
}

Found tolerance_below_rounding(const ModelCard& card, const AttemptEvidence& e) {
    if (!is_sound(e) || !is_below_rounding(e.attempt.quantities)) return {};
    std::vector<std::string> evidence;
    for (const auto& quantity : e.attempt.quantities)
        if (!quantity.passed())
            evidence.push_back(quantity.quantity + " differs by " + text_of(quantity.difference) +
                               ", which the tolerance of " + text_of(quantity.tolerance) +
                               " forbids; rounding and the order of sums make up to " +
                               text_of(quantity.rounding) + " in " + card.dtype);
    return finding(0.99, std::move(evidence),
                   "Loosen the tolerance: it asks for more than the precision of the numbers "
                   "gives. Neither the spec nor the run is at fault.");
}

Found incomplete_edges(const ModelCard&, const AttemptEvidence& e) {
    const auto& c = e.completeness;
    if (c.complete) return {};
    std::vector<std::string> evidence{"edges seen: " + std::to_string(c.edges_seen) + " of " +
                                      std::to_string(c.edges_expected) +
                                      "; atoms with other "
                                      "neighbours than they have: " +
                                      std::to_string(c.atoms_wrong)};
    for (std::size_t k = 0; k < std::min<std::size_t>(3, c.first.size()); ++k)
        evidence.push_back("atom " + std::to_string(c.first[k].atom) + " on rank " +
                           std::to_string(c.first[k].rank) + ": " +
                           std::to_string(c.first[k].seen) + " edges seen, " +
                           std::to_string(c.first[k].expected) + " exist");
    if (c.rows_wrong > 0)
        evidence.push_back(std::to_string(c.rows_wrong) +
                           " rows have another species than their "
                           "atom");
    if (c.positions_wrong > 0)
        evidence.push_back(std::to_string(c.positions_wrong) +
                           " edges are not the difference of their rows' positions");
    if (c.atoms_owned_otherwise > 0)
        evidence.push_back(std::to_string(c.atoms_owned_otherwise) +
                           " atoms are owned by no rank or by several");
    return finding(0.99, std::move(evidence),
                   "Parts miss neighbours or have wrong rows: no spec can mend that. Widen the "
                   "halo (comm_modify cutoff), let the neighbour list be made anew before atoms "
                   "have moved half the skin (neigh_modify every 1 delay 0 check yes; 'Dangerous "
                   "builds' in the log count the lists that came too late), or use a larger "
                   "structure.");
}

Found exchange_plan(const ModelCard&, const AttemptEvidence& e) {
    const auto& p = e.plan;
    const bool only_rounded = p.failure.empty() && p.wrong() == p.rounded;
    if (p.good || only_rounded) return {};
    std::vector<std::string> evidence;
    if (!p.failure.empty()) evidence.push_back("the exchange failed: " + p.failure);
    if (p.forward_wrong > 0)
        evidence.push_back(std::to_string(p.forward_wrong) + " of " + std::to_string(p.halo_rows) +
                           " halo rows do not receive their atom's row");
    if (p.reverse_wrong > 0)
        evidence.push_back(std::to_string(p.reverse_wrong) +
                           " owned rows do not receive the sum of their halo rows");
    if (p.sums_wrong > 0)
        evidence.push_back(std::to_string(p.sums_wrong) +
                           " ranks do not receive the sum over all ranks");
    if (p.edges_wrong > 0)
        evidence.push_back(
            std::to_string(p.edges_wrong) +
            " edges read the row of another atom, or have another vector than lies between their "
            "atoms");
    if (p.edges_alone > 0)
        evidence.push_back(std::to_string(p.edges_alone) +
                           " atoms have an edge that does not exist the other way");
    if (!p.first.empty()) evidence.push_back(p.first);
    return finding(0.98, std::move(evidence),
                   "The exchange itself is at fault: no spec can mend that. Report it with this "
                   "file.");
}

Found atoms_permuted(const ModelCard&, const AttemptEvidence& e) {
    if (!e.errors || !e.errors->same_multiset) return {};
    return finding(0.85,
                   {"energies or forces are those of the reference, but of other atoms: " +
                    std::to_string(e.errors->atoms_wrong) + " atoms differ"},
                   "Rows are matched to the wrong atoms: a comparison of sorted numbers would not "
                   "have seen it. Report it with this file.");
}

Found missing_scatter_outputs(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || !d->per_row || !is_sound(e) || !is_foreign(e, d->call.op)) return {};
    const int output = static_cast<int>(d->output);
    const auto* adapter = adapter_of(e.attempt.spec, d->call.op);
    if (adapter != nullptr && adapter->output_transforms.count(output) > 0) return {};
    const bool at_faces = d->wrong_near_face == d->atoms_wrong;
    std::vector<MLIPSpec> edits{edited(e.attempt.spec, [&](MLIPSpec& s) {
        require_adapter(s, d->call.op).output_transforms[output] = {Kind::ScatterOutputs, false};
    })};
    if (adapter != nullptr)
        for (const auto& [position, transform] : adapter->arg_transforms)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, d->call.op).arg_transforms.erase(position);
            }));
    return finding(at_faces ? 0.95 : 0.8, {divergence_text(*d)},
                   "Declare scatter_outputs on output " + std::to_string(output) + " of " +
                       d->call.op +
                       ": its halo rows hold parts of sums that belong to other "
                       "ranks' atoms.",
                   std::move(edits));
}

bool has_scatter_outputs(const OpAdapter* adapter) {
    return adapter != nullptr &&
           std::any_of(adapter->output_transforms.begin(), adapter->output_transforms.end(),
                       [](const auto& entry) { return entry.second.kind == Kind::ScatterOutputs; });
}

/// The operator with scatter_outputs that a halo_correct follows, "" if it follows none; it may be
/// one of torch.
std::string scattered_before(const AttemptEvidence& e, const LayerDivergence& d) {
    for (std::size_t at = std::min(d.position, e.calls.size()); at-- > 0;)
        if (e.calls[at].source == d.call.source &&
            has_scatter_outputs(adapter_of(e.attempt.spec, e.calls[at].op)))
            return e.calls[at].op;
    return "";
}

void drop_if_empty(MLIPSpec& spec, const std::string& op) {
    std::erase_if(spec.distribution.custom_ops, [&](const auto& adapter) {
        return adapter.op == op && adapter.arg_transforms.empty() &&
               adapter.output_transforms.empty();
    });
}

Found superfluous_scatter_outputs(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || !is_sound(e) || d->call.op != "nvalchemi_lmp::halo_correct") return {};
    const auto op = scattered_before(e, *d);
    const auto* adapter = adapter_of(e.attempt.spec, op);
    if (adapter == nullptr) return {};
    std::vector<MLIPSpec> edits;
    for (const auto& [position, transform] : adapter->output_transforms)
        if (transform.kind == Kind::ScatterOutputs)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, op).output_transforms.erase(position);
                // what torch's own operators do is known, unless an adapter hides it
                if (!is_foreign(e, op)) drop_if_empty(s, op);
            }));
    if (edits.empty()) return {};
    return finding(0.92, {divergence_text(*d)},
                   "Remove scatter_outputs from " + op +
                       ": its halo rows hold whole values, which are added to their owners' a "
                       "second time.",
                   std::move(edits));
}

/// Edits that let each atom count once in the sums of an operator.
std::vector<MLIPSpec> count_atoms_once(const AttemptEvidence& e, const std::string& op,
                                       int output) {
    std::vector<MLIPSpec> edits;
    for (const int position : operator_positions(op).tensor_arguments) {
        const auto* adapter = adapter_of(e.attempt.spec, op);
        if (adapter != nullptr && adapter->arg_transforms.count(position) > 0) continue;
        edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
            auto& found = require_adapter(s, op);
            found.arg_transforms[position] = ArgTransform::SliceOwned;
            found.output_transforms.try_emplace(output, OutputTransform{Kind::AllReduceSum, false});
        }));
    }
    return edits;
}

Found atoms_counted_twice(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || d->per_row || !is_sound(e)) return {};
    const auto op = is_foreign(e, d->call.op) ? d->call.op : foreign_at(e, d->call.source);
    if (op.empty()) return {};
    auto edits = count_atoms_once(e, op, static_cast<int>(d->output));
    if (edits.empty()) return {};
    return finding(is_foreign(e, d->call.op) ? 0.93 : 0.6, {divergence_text(*d)},
                   "Declare slice_owned on the rows that " + op +
                       " sums, and all_reduce_sum on its result, so that each atom counts once.",
                   std::move(edits));
}

Found double_reduction(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || d->per_row || !is_sound(e) || e.ranks < 2) return {};
    const bool is_multiple =
        d->same_on_all_ranks && std::fabs(d->mean_over_reference / e.ranks - 1) < kRatioTolerance;
    if (!is_multiple) return {};
    std::vector<MLIPSpec> edits;
    const auto op = foreign_at(e, d->call.source);
    if (const auto* adapter = adapter_of(e.attempt.spec, op))
        for (const auto& [position, transform] : adapter->output_transforms)
            if (transform.kind == Kind::AllReduceSum)
                edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                    require_adapter(s, op).output_transforms.erase(position);
                }));
    for (const auto& key : e.attempt.spec.all_reduce_outputs)
        edits.push_back(
            edited(e.attempt.spec, [&](MLIPSpec& s) { s.all_reduce_outputs.erase(key); }));
    return finding(0.97, {divergence_text(*d)},
                   "The value is summed over ranks twice: remove all_reduce_sum" +
                       (op.empty() ? std::string() : " from " + op) + ".",
                   std::move(edits));
}

/// A helper adapter that applies where the divergence starts.
Found wrong_helper_replacement(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || !is_sound(e)) return {};
    const auto& helpers = e.attempt.spec.distribution.third_party_helpers;
    std::vector<MLIPSpec> edits;
    std::string target;
    for (std::size_t k = 0; k < helpers.size(); ++k) {
        const auto pointer = "/core/third_party_helpers/" + std::to_string(k);
        for (const auto& use : e.adapter_uses) {
            const bool here =
                use.pointer == pointer &&
                std::find(use.places.begin(), use.places.end(), d->call.source) != use.places.end();
            if (!here) continue;
            target = target_of(helpers[k]);
            edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                auto& list = s.distribution.third_party_helpers;
                list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
            }));
        }
    }
    if (edits.empty()) return {};
    return finding(0.85, {divergence_text(*d), target + " is replaced at this place"},
                   "The replacement of " + target +
                       " computes something else than the function: "
                       "remove or correct it.",
                   std::move(edits));
}

Found replicated_output_diverges(const ModelCard& card, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d != nullptr && !d->per_row && d->same_on_all_ranks && is_sound(e))
        return finding(0.7, {divergence_text(*d)},
                       "All ranks agree on a value of the whole system that is not the "
                       "reference's: something other than a sum was taken over each rank's rows.");
    std::vector<std::string> evidence;
    std::vector<MLIPSpec> edits;
    for (const auto& output : card.outputs)
        for (const auto& quantity : e.attempt.quantities) {
            if (quantity.quantity != "output " + output.key || quantity.passed() ||
                output.kind == OutputKind::PerNode)
                continue;
            evidence.push_back(quantity.quantity + " differs by " + text_of(quantity.difference));
            edits.push_back(edited(e.attempt.spec, [&](MLIPSpec& s) {
                if (s.all_reduce_outputs.erase(output.key) == 0)
                    s.all_reduce_outputs.insert(output.key);
            }));
        }
    if (evidence.empty()) return {};
    return finding(0.6, std::move(evidence),
                   "An output of the whole system is not the reference's on every rank: see "
                   "all_reduce_outputs.",
                   std::move(edits));
}

/// The last exchange of the forward pass before a call.
std::string exchange_before(const AttemptEvidence& e, std::size_t position) {
    for (std::size_t at = std::min(position + 1, e.calls.size()); at-- > 0;) {
        const auto& op = e.calls[at].op;
        if (op == "nvalchemi_lmp::halo_forward" || op == "nvalchemi_lmp::halo_correct" ||
            op == "nvalchemi_lmp::system_sum")
            return op.substr(op.rfind(':') + 1) + " after " + e.calls[at].source;
    }
    return "";
}

/// Something differs by as much as rounding to float32 makes, and nothing by more.
bool is_single_precision(const AttemptEvidence& e) {
    const auto small = [](const Deviation& quantity) {
        return quantity.passed() ||
               quantity.difference <= kSinglePrecision * std::max(quantity.largest, 1e-12);
    };
    const auto rounded = [](const Deviation& quantity) {
        return !quantity.passed() && quantity.difference >= kDoublePrecision * quantity.largest;
    };
    const auto& all = e.attempt.quantities;
    return std::all_of(all.begin(), all.end(), small) &&
           std::any_of(all.begin(), all.end(), rounded);
}

Found reduced_precision(const ModelCard& card, const AttemptEvidence& e) {
    if (e.plan.rounded > 0)
        return finding(0.97,
                       {std::to_string(e.plan.rounded) +
                        " numbers in float64 arrive as float32 would hold them"},
                       "The transport rounds rows to float32: report it with this file.");
    if (!is_sound(e) || card.dtype != "float64" || !is_single_precision(e)) return {};
    const auto* d = divergence_of(e);
    if (d != nullptr && d->difference > kSinglePrecision) return {};
    std::vector<std::string> evidence{
        "every difference is below " + text_of(kSinglePrecision) +
        " of the largest value, as large as rounding to float32 makes it"};
    if (d != nullptr) evidence.push_back(divergence_text(*d));
    return finding(0.93, std::move(evidence),
                   "Something in float64 passes through float32: look for a conversion in an "
                   "operator or a transport.");
}

Found lost_exchange(const ModelCard&, const AttemptEvidence& e) {
    const auto* d = divergence_of(e);
    if (d == nullptr || !is_sound(e) || is_foreign(e, d->call.op)) return {};
    std::vector<std::string> evidence{divergence_text(*d)};
    const auto exchange = exchange_before(e, d->position);
    if (!exchange.empty()) evidence.push_back("the last exchange before it is " + exchange);
    return finding(0.65, std::move(evidence),
                   exchange.empty()
                       ? "An operation reads rows that no exchange has refreshed: report it with "
                         "this file."
                       : "The exchange before this operation did not do its work, or rows are read "
                         "that none has refreshed: report it with this file.");
}

Found backward_only(const ModelCard&, const AttemptEvidence& e) {
    if (!e.divergence || e.divergence->found || !is_sound(e)) return {};
    bool energies_right = true, forces_wrong = false;
    for (std::size_t k = 0; k < e.attempt.quantities.size() && k < 4; ++k)
        (k < 2 ? energies_right : forces_wrong) =
            k < 2 ? energies_right && e.attempt.quantities[k].passed()
                  : forces_wrong || !e.attempt.quantities[k].passed();
    if (!energies_right || !forces_wrong) return {};
    std::vector<MLIPSpec> none;
    return finding(
        0.9,
        {"no value of the forward pass differs (" + std::to_string(e.divergence->values) +
         " compared) and the energies are right, but forces or stress are not"},
        "The backward pass of an exchange or of an operator is wrong: an exchange was "
        "not reversed, or an operator's own gradient does not follow its transforms.",
        std::move(none));
}

Found other_exchange_count(const ModelCard& card, const AttemptEvidence& e) {
    if (e.attempt.message.find("the model card expects ") == std::string::npos) return {};
    std::vector<MLIPSpec> edits;
    for (const auto& adapter : e.attempt.spec.distribution.custom_ops)
        for (const auto& [position, transform] : adapter.output_transforms)
            edits.push_back(edited(e.attempt.spec, [&, position = position](MLIPSpec& s) {
                require_adapter(s, adapter.op).output_transforms.erase(position);
            }));
    return finding(0.9, {e.attempt.message},
                   "Correct expected_exchanges in the card of " + card.name +
                       ", or remove the transform that adds an exchange.",
                   std::move(edits));
}

Found assembled_wrongly(const ModelCard&, const AttemptEvidence& e) {
    if (!e.divergence || e.divergence->found || !is_sound(e) || e.attempt.quantities.size() < 2)
        return {};
    if (e.attempt.quantities[0].passed() && e.attempt.quantities[1].passed()) return {};
    return finding(0.5,
                   {"no value of the forward pass differs, but the energies do: the program on one "
                    "part differs from the archive as it is, or outputs are put together wrongly"},
                   "Compare with one rank: if that fails too, the distribution pass changes the "
                   "model; report it with this file.");
}

}  // namespace

const std::vector<DiagnosisRule>& divergence_rules() {
    static const std::vector<DiagnosisRule> rules{
        {kBelowRounding, tolerance_below_rounding},
        {"incomplete_edges", incomplete_edges},
        {"exchange_plan", exchange_plan},
        {"atoms_permuted", atoms_permuted},
        {"missing_scatter_outputs", missing_scatter_outputs},
        {"superfluous_scatter_outputs", superfluous_scatter_outputs},
        {"double_reduction", double_reduction},
        {"atoms_counted_twice", atoms_counted_twice},
        {"wrong_helper_replacement", wrong_helper_replacement},
        {"replicated_output_diverges", replicated_output_diverges},
        {"reduced_precision", reduced_precision},
        {"lost_exchange", lost_exchange},
        {"backward_only", backward_only},
        {"other_exchange_count", other_exchange_count},
        {"assembled_wrongly", assembled_wrongly},
    };
    return rules;
}

}  // namespace nvalchemi
