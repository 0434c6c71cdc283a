// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/trace_builder.hpp"

#include "potentials/distribution/containers.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

std::vector<c10::IValue> run_once(const Call& call, int probe) {
    torch::jit::Stack stack;
    for (const auto& argument : call.args) stack.push_back(concrete(*argument, probe));
    try {
        call.run(stack);
    } catch (const c10::Error& error) {
        TraceBuilder::refuse(
            call, std::string("failed on a sample structure: ") + error.what_without_backtrace() +
                      "; check what the model card says of the model: species_index, roles and "
                      "shapes of inputs, receiver_row");
    } catch (const std::exception& error) {
        TraceBuilder::refuse(call, std::string("failed on a sample structure: ") + error.what());
    }
    return stack;
}

using Run = std::function<void(torch::jit::Stack&)>;

/// Inside `with torch.no_grad()` an instruction is not recorded for differentiation either.
Run in_present_grad_mode(Run run) {
    if (torch::GradMode::is_enabled()) return run;
    return [run = std::move(run)](torch::jit::Stack& stack) {
        const torch::NoGradGuard not_recorded;
        run(stack);
    };
}

/// A collective with its token. Without gradient, its operand is cut off but the token is not: all
/// collectives keep one order on the way back.
Run ordered_operator(const std::string& name) {
    auto run = registered_operator(name, "ordered");
    if (torch::GradMode::is_enabled()) return run;
    return [run = std::move(run)](torch::jit::Stack& stack) {
        stack[0] = stack[0].toTensor().detach();
        run(stack);
    };
}

}  // namespace

AbstractPtr Call::arg(const std::string& wanted) const {
    if (schema == nullptr) return nullptr;
    const auto index = schema->argumentIndexWithName(wanted);
    return index && *index < static_cast<int>(args.size()) ? args[*index] : nullptr;
}

void Call::set_arg(const std::string& wanted, AbstractPtr value) {
    args[schema->argumentIndexWithName(wanted).value()] = std::move(value);
}

bool Call::has_schema_arg(const std::string& wanted) const {
    return schema != nullptr && schema->argumentIndexWithName(wanted).has_value();
}

std::int64_t Call::integer(const std::string& wanted, std::int64_t fallback) const {
    const auto value = arg(wanted);
    if (!value || value->is_none()) return fallback;
    if (!value->fixed || !value->probe[0].isInt())
        TraceBuilder::refuse(*this, "got an argument '" + wanted +
                                        "' that depends on the number of atoms or on data, "
                                        "expected a constant");
    return value->probe[0].toInt();
}

bool Call::flag(const std::string& wanted, bool fallback) const {
    const auto value = arg(wanted);
    return value && value->fixed && value->probe[0].isBool() ? value->probe[0].toBool() : fallback;
}

void TraceBuilder::refuse(const Call& call, const std::string& problem) {
    std::string where = "operator " + call.name;
    if (!call.source.empty()) where += " at " + call.source;
    if (!call.module.empty()) where += " in module '" + call.module + "'";
    throw ModelError("cannot distribute the model: " + where + ": " + problem);
}

TraceBuilder::TraceBuilder(TracedProgram& traced,
                           const std::array<std::array<std::int64_t, 2>, 4>& extents,
                           const MLIPSpec& spec)
    : traced_(traced), spec_(spec), operator_adapters_(spec_) {
    for (std::size_t space = 0; space < extents.size(); ++space)
        extents_[static_cast<Space>(space)] = extents[space];
    owned_count_ = new_value(extents[SPACE_OWNED][0], extents[SPACE_OWNED][1]);
    owned_count_->count = {SPACE_OWNED, 1};
    traced_.program.owned_count = owned_count_->slot;
    traced_.program.token_in = new_slot(torch::zeros({}));
}

Slot TraceBuilder::new_slot(const c10::IValue& first) {
    samples_.push_back(first);
    traced_.facts.emplace_back();
    if (first.isTensor()) traced_.facts.back().dims.resize(first.toTensor().dim());
    return traced_.program.slot_count++;
}

AbstractPtr TraceBuilder::new_value(c10::IValue first, c10::IValue second) {
    auto value = std::make_shared<AbstractValue>();
    value->slot = new_slot(first);
    value->probe = {std::move(first), std::move(second)};
    return value;
}

bool TraceBuilder::is_selected_by_species(Space space) const {
    const auto mask = std::find_if(selected_.begin(), selected_.end(),
                                   [&](const auto& entry) { return entry.second == space; });
    if (mask == selected_.end() || !is_row_subset(space)) return false;
    std::vector<Slot> needed{mask->first};
    for (std::size_t at = traced_.program.code.size(); at-- > 0;) {
        const auto& instruction = traced_.program.code[at];
        const bool used =
            std::any_of(instruction.outputs.begin(), instruction.outputs.end(), [&](Slot slot) {
                return std::find(needed.begin(), needed.end(), slot) != needed.end();
            });
        if (!used) continue;
        for (const auto& input : instruction.inputs) input.append_slots(needed);
    }
    return std::all_of(needed.begin(), needed.end(), [&](Slot slot) {
        const auto& inputs = traced_.program.inputs;
        return std::find(inputs.begin(), inputs.end(), slot) == inputs.end() ||
               species_inputs_.count(slot) > 0;
    });
}

bool TraceBuilder::is_state(const torch::Tensor& tensor) const {
    return tensor.defined() && tensor.has_storage() &&
           state_.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

void TraceBuilder::note_state(const torch::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage())
        state_.insert(tensor.storage().unsafeGetStorageImpl());
}

AbstractPtr TraceBuilder::add_input(c10::IValue first, c10::IValue second, TensorFacts facts,
                                    bool is_species) {
    auto value = new_value(std::move(first), std::move(second));
    if (is_species) species_inputs_.insert(value->slot);
    traced_.program.inputs.push_back(value->slot);
    if (facts.space() == SPACE_NODE && !rows_) rows_ = value;
    if (facts.space() == SPACE_EDGE && !edges_) edges_ = value;
    traced_.facts[value->slot] = std::move(facts);
    return value;
}

std::vector<AbstractPtr> TraceBuilder::fold(Call& call) {
    std::vector<AbstractPtr> results;
    for (const auto& value : run_once(call, 0)) results.push_back(lift(value));
    return results;
}

std::vector<AbstractPtr> TraceBuilder::emit(Call& call) {
    if (call.in_place)
        call.effect.target_differentiable = call.args[0]->probe[0].toTensor().requires_grad();
    const auto first = run_once(call, 0);
    const auto second = run_once(call, 1);
    Instruction instruction;
    instruction.name = call.name;
    instruction.source = call.source;
    instruction.module = call.module;
    instruction.run = in_present_grad_mode(call.run);
    for (const auto& argument : call.args) instruction.inputs.push_back(operand_of(*argument));
    std::vector<AbstractPtr> results;
    if (first.size() == 1 && first[0].isList()) {
        const auto left = first[0].toListRef(), right = second[0].toListRef();
        if (left.size() != right.size())
            refuse(call, "the number of tensors it returns depends on the number of atoms");
        instruction.unpacks_list = true;
        std::vector<AbstractPtr> items;
        for (std::size_t k = 0; k < left.size(); ++k) {
            items.push_back(new_value(left[k], right[k]));
            instruction.outputs.push_back(items.back()->slot);
        }
        results.push_back(list_value(std::move(items), c10::TensorType::get()));
    } else {
        for (std::size_t k = 0; k < first.size(); ++k) {
            results.push_back(new_value(first[k], second[k]));
            instruction.outputs.push_back(results.back()->slot);
        }
    }
    traced_.program.code.push_back(std::move(instruction));
    traced_.effects.push_back(call.effect);
    return results;
}

AbstractPtr TraceBuilder::slice_owned(const AbstractPtr& tensor, int dim, const Call& caller) {
    Call call;
    call.name = "aten::slice";
    call.source = caller.source;
    call.module = caller.module;
    call.run = registered_operator("aten::slice", "Tensor");
    call.args = {tensor, fixed_value(std::int64_t(dim)), fixed_value(std::int64_t(0)), owned_count_,
                 fixed_value(std::int64_t(1))};
    call.effect.rows = Effect::Rows::Complete;
    auto result = emit(call)[0];
    auto known = facts(tensor);
    known.dims[dim] = {SPACE_OWNED, 1};
    if (known.content == Content::RowNumbers) known.content = Content::OwnedNumbers;
    set_facts(result, known);
    return result;
}

AbstractPtr TraceBuilder::extent_of(const AbstractPtr& placed, const Call& caller) {
    const int dim = facts(placed).placed_dim();
    Call call = caller;
    call.name = "aten::size";
    call.in_place = false;
    call.run = registered_operator("aten::size", "int");
    call.args = {placed, fixed_value(static_cast<std::int64_t>(dim))};
    call.effect = {};
    auto result = emit(call)[0];
    result->count = facts(placed).dims[dim];
    return result;
}

AbstractPtr TraceBuilder::row_count(const Call& caller) {
    if (!rows_) refuse(caller, "the number of rows is used, but no input tells it");
    return extent_of(rows_, caller);
}

void TraceBuilder::leave_fold_to_verb(const AbstractPtr& rows) {
    for (std::size_t at = traced_.program.code.size(); at-- > 0;) {
        const auto& outputs = traced_.program.code[at].outputs;
        auto& effect = traced_.effects[at];
        if (effect.mutates != rows->slot &&
            std::find(outputs.begin(), outputs.end(), rows->slot) == outputs.end())
            continue;
        if (effect.corrects) effect.rows = Effect::Rows::Stale;
        effect.corrects = false;
        return;
    }
}

AbstractPtr TraceBuilder::exchange(const std::string& name, const AbstractPtr& value,
                                   const Call& caller) {
    Call call;
    call.name = name;
    call.source = caller.source;
    call.module = caller.module;
    call.run = registered_operator(name, "");
    call.args = {value};
    const bool of_rows = facts(value).on_rows();
    if (of_rows) call.effect.rows = Effect::Rows::Complete;
    call.effect.makes_replicated = !of_rows;
    call.effect.is_exchange = true;
    auto result = emit(call)[0];
    auto known = facts(result);
    known.dims = facts(value).dims;
    set_facts(result, known);
    // the token is threaded through it once the program is complete
    traced_.program.code.back().run = ordered_operator(name);
    return result;
}

AbstractPtr TraceBuilder::widen_owned(const AbstractPtr& tensor, const Call& caller) {
    Call call;
    call.name = "nvalchemi_lmp::halo_forward";
    call.source = caller.source;
    call.module = caller.module;
    // In the probes the halo rows are filled by any owned rows: only shapes matter there.
    std::array<c10::IValue, 2> widened;
    for (int probe = 0; probe < 2; ++probe) {
        const auto rows = torch::arange(extent(SPACE_NODE, probe)) % extent(SPACE_OWNED, probe);
        const auto& source = tensor->probe[probe].toTensor();
        widened[probe] = source.index_select(0, rows.to(source.device()));
    }
    int next = 0;
    call.run = [widened, next](torch::jit::Stack& stack) mutable { stack = {widened[next++ % 2]}; };
    call.args = {tensor};
    call.effect.rows = Effect::Rows::Complete;
    call.effect.is_exchange = true;
    auto result = emit(call)[0];
    auto known = facts(tensor);
    known.dims[0] = {SPACE_NODE, 1};
    set_facts(result, known);
    auto& instruction = traced_.program.code.back();
    instruction.run = ordered_operator("nvalchemi_lmp::halo_forward");
    return result;
}

AbstractPtr TraceBuilder::count_as_tensor(const Dim& count, torch::ScalarType dtype,
                                          const Call& caller) {
    auto number = owned_count_;
    if (count.space == SPACE_EDGE) {
        if (!edges_) refuse(caller, "the number of edges is used, but no input tells it");
        number = extent_of(edges_, caller);
    } else if (count.space != SPACE_NODE && count.space != SPACE_OWNED) {
        refuse(caller,
               "the number of selected rows or edges is used as data, but it differs "
               "between ranks");
    }
    Call call = caller;
    call.name = "aten::scalar_tensor";
    call.in_place = false;
    call.run = registered_operator("aten::scalar_tensor", "");
    const auto none = fixed_value(c10::IValue());
    call.args = {number, fixed_value(static_cast<std::int64_t>(dtype)), none, none, none};
    call.effect = {};
    call.effect.makes_partial = true;
    auto tensor = emit(call)[0];
    if (count.factor == 1) return tensor;
    call.name = "aten::mul";
    call.run = registered_operator("aten::mul", "Scalar");
    call.args = {tensor, fixed_value(count.factor)};
    call.effect = {};
    call.effect.partial_use = PartialUse::Multiplicative;
    return emit(call)[0];
}

void TraceBuilder::require_edges(const Call& caller) {
    if (edges_required_) return;
    edges_required_ = true;
    Call call = caller;
    call.name = "nvalchemi::require_edges";
    call.args = {count_as_tensor({SPACE_EDGE, 1}, torch::kFloat64, caller)};
    call.effect = {};
    call.effect.must_run = true;
    call.run = [](torch::jit::Stack& stack) {
        if (stack.back().toTensor().item<double>() == 0.0)
            throw ModelError(
                "no two atoms of the whole system are within the cutoff. The model treats that as "
                "a special case, which a decomposed run cannot follow; expected at least one pair");
    };
    emit(call);
}

bool TraceBuilder::holds_zeros(const AbstractPtr& tensor) const {
    for (const auto& sample : tensor->probe)
        if (sample.toTensor().count_nonzero().item<std::int64_t>() != 0) return false;
    if (tensor->fixed) return true;
    const auto* storage = tensor->probe[0].toTensor().storage().unsafeGetStorageImpl();
    std::vector<Slot> wanted{tensor->slot};
    for (std::size_t at = traced_.program.code.size(); at-- > 0;) {
        const auto written = traced_.effects[at].mutates;
        if (written != NO_SLOT &&
            samples_[written].toTensor().storage().unsafeGetStorageImpl() == storage)
            return false;
        const auto& instruction = traced_.program.code[at];
        const bool makes =
            std::any_of(instruction.outputs.begin(), instruction.outputs.end(), [&](Slot slot) {
                return std::find(wanted.begin(), wanted.end(), slot) != wanted.end();
            });
        if (!makes || traced_.effects[at].ignores_values) continue;
        for (const auto& input : instruction.inputs) input.append_slots(wanted);
    }
    const auto& inputs = traced_.program.inputs;
    return std::none_of(wanted.begin(), wanted.end(), [&](Slot slot) {
        return std::find(inputs.begin(), inputs.end(), slot) != inputs.end();
    });
}

void TraceBuilder::materialise(const AbstractPtr& tensor, const Call& caller) {
    Call call;
    call.name = "aten::clone";
    call.source = caller.source;
    call.module = caller.module;
    call.run = registered_operator("aten::clone", "");
    call.args = {fixed_value(tensor->probe[0]), fixed_value(c10::IValue())};
    call.effect.partial_use = PartialUse::Passthrough;
    *tensor = *emit(call)[0];
}

TensorFacts TraceBuilder::facts(const AbstractPtr& tensor) const {
    if (!tensor->fixed) return traced_.facts[tensor->slot];
    TensorFacts fixed;
    if (tensor->probe[0].isTensor()) fixed.dims.resize(tensor->probe[0].toTensor().dim());
    return fixed;
}

void TraceBuilder::set_facts(const AbstractPtr& tensor, TensorFacts facts) {
    traced_.facts[tensor->slot] = std::move(facts);
}

void TraceBuilder::settle_inferred_extents(const AbstractPtr& result) {
    const auto dims = facts(result).dims;
    const auto& sample = result->probe[0].toTensor();
    for (auto& input : traced_.program.code.back().inputs) {
        if (!input.is_list || input.items.size() != dims.size()) continue;
        for (std::size_t dim = 0; dim < dims.size(); ++dim) {
            auto& extent = input.items[dim];
            const bool inferred = extent.slot == NO_SLOT && !extent.is_list &&
                                  extent.constant.isInt() && extent.constant.toInt() == -1;
            if (inferred && dims[dim].space == SPACE_NONE)
                extent.constant = sample.size(static_cast<std::int64_t>(dim));
        }
    }
}

Space TraceBuilder::new_edge_space(std::int64_t first, std::int64_t second) {
    const Space space = std::max(FIRST_DERIVED, extents_.rbegin()->first + 1);
    extents_[space] = {first, second};
    return space;
}

Space TraceBuilder::selected_space(const AbstractPtr& mask) {
    const auto known = selected_.find(mask->slot);
    if (known != selected_.end()) return known->second;
    const auto count = [&](int probe) {
        return mask->probe[probe].toTensor().count_nonzero().item<std::int64_t>();
    };
    if (facts(mask).space() != SPACE_NODE)
        return selected_[mask->slot] = new_edge_space(count(0), count(1));
    const Space subset = std::min(SPACE_NONE, extents_.begin()->first) - 1;
    extents_[subset] = {count(0), count(1)};
    return selected_[mask->slot] = subset;
}

Space TraceBuilder::merged_edge_space(Space base, std::int64_t first, std::int64_t second) {
    for (const auto& [space, own_base] : merged_)
        if (own_base == base && extents_.at(space)[0] == first) return space;
    const auto space = new_edge_space(first, second);
    merged_[space] = base;
    return space;
}

Space TraceBuilder::merged_from(Space space) const {
    const auto found = merged_.find(space);
    return found == merged_.end() ? SPACE_NONE : found->second;
}

void TraceBuilder::finish() {
    std::unordered_map<const void*, int> storages;
    traced_.alias_set.assign(samples_.size(), -1);
    for (std::size_t slot = 0; slot < samples_.size(); ++slot) {
        if (!samples_[slot].isTensor()) continue;
        const auto& tensor = samples_[slot].toTensor();
        if (!tensor.defined()) continue;
        const void* storage = tensor.storage().unsafeGetStorageImpl();
        traced_.alias_set[slot] =
            storages.emplace(storage, static_cast<int>(storages.size())).first->second;
        auto& known = traced_.facts[slot];
        known.differentiable = tensor.requires_grad();
        known.floating = tensor.is_floating_point();
        const auto type = tensor.scalar_type();
        known.dtype = type;
        known.exchangeable = type == torch::kFloat32 || type == torch::kFloat64 ||
                             type == torch::kInt32 || type == torch::kInt64;
        const auto extent = known.on_rows() ? extents_.at(known.space())[0] : 1;
        known.width = tensor.numel() / std::max<std::int64_t>(extent, 1);
    }
    note_rounding();
}

/// Ranks sum in another order than one process: results agree as far as the narrowest type on the
/// way from the differentiated input goes.
void TraceBuilder::note_rounding() {
    for (const auto& instruction : traced_.program.code) {
        for (const auto slot : instruction.outputs) {
            const auto& known = traced_.facts[slot];
            if (!known.floating || !known.differentiable) continue;
            if (known.dtype == torch::kBFloat16 || known.dtype == torch::kHalf)
                throw ModelError("cannot distribute the model: " + describe(instruction) +
                                 ": it computes in " +
                                 std::string(known.dtype == torch::kHalf ? "float16" : "bfloat16") +
                                 ", whose rounding makes energies and forces depend on the number "
                                 "of ranks by parts in a thousand; expected float32 or float64");
            if (known.dtype == torch::kFloat32 && traced_.rounds_at.empty())
                traced_.rounds_at = describe(instruction);
        }
    }
}

}  // namespace nvalchemi
