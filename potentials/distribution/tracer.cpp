// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/tracer.hpp"

#include <set>

#include "potentials/distribution/containers.hpp"
#include "potentials/distribution/helper_adapters.hpp"
#include "potentials/distribution/operator_rules.hpp"
#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using Frame = std::unordered_map<const Value*, AbstractPtr>;

constexpr std::int64_t MAX_UNROLLED = 10000;

std::string own_source(const Node* node) {
    auto range = node->sourceRange();
    if (const auto original = range.findSourceRangeThatGenerated()) range = *original;
    const auto position = range.file_line_col();
    if (!position) return "";
    return std::get<0>(*position) + ":" + std::to_string(std::get<1>(*position));
}

/// Whether a place is in a file: builtins of torch and generated code have none.
bool is_in_a_file(const std::string& place) {
    return !place.empty() && place[0] != ':' && place[0] != '<';
}

bool raises(const Block* block) {
    for (const auto* node : block->nodes())
        if (node->kind() == c10::prim::RaiseException) return true;
    return false;
}

/// str.format with plain {} fields: dictionary keys and texts of messages.
std::string formatted(const std::vector<AbstractPtr>& inputs) {
    auto text = inputs[0]->probe[0].toStringRef();
    std::size_t at = 0;
    for (std::size_t k = 1; k < inputs.size(); ++k) {
        at = text.find("{}", at);
        if (at == std::string::npos) break;
        const auto value = concrete(*inputs[k], 0);
        const auto field = value.isString() ? value.toStringRef()
                           : value.isInt()  ? std::to_string(value.toInt())
                                            : value.tagKind();
        text.replace(at, 2, field);
        at += field.size();
    }
    return text;
}

class Tracer {
  public:
    Tracer(TracedProgram& traced, const std::array<std::array<std::int64_t, 2>, 4>& extents,
           const MLIPSpec& spec, const torch::jit::Module& module)
        : builder_(traced, extents, spec), helpers_(spec, module) {}

    TraceBuilder& builder() { return builder_; }
    const HelperAdapters& helpers() const { return helpers_; }

    /// Where a node stands; for code without a file, where it was called from.
    std::string source_of(const Node* node) const {
        const auto own = own_source(node);
        if (is_in_a_file(own)) return own;
        for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
            if (is_in_a_file(*call)) return *call;
        return own;
    }

    AbstractPtr call_function(torch::jit::Function& function, std::vector<AbstractPtr> arguments) {
        const auto graph = torch::jit::toGraphFunction(function).graph();
        Frame frame;
        for (std::size_t k = 0; k < graph->inputs().size(); ++k)
            frame[graph->inputs()[k]] = arguments.at(k);
        return run_block(graph->block(), frame).at(0);
    }

  private:
    std::vector<AbstractPtr> run_block(const Block* block, Frame& frame) {
        for (const auto* node : block->nodes()) run_node(node, frame);
        std::vector<AbstractPtr> results;
        for (const auto* value : block->outputs()) results.push_back(frame.at(value));
        return results;
    }

    void run_node(const Node* node, Frame& frame) {
        std::vector<AbstractPtr> inputs;
        for (const auto* value : node->inputs()) inputs.push_back(frame.at(value));
        const auto outputs = results_of(node, inputs, frame);
        for (std::size_t k = 0; k < node->outputs().size() && k < outputs.size(); ++k)
            frame[node->outputs()[k]] = outputs[k];
    }

    std::vector<AbstractPtr> results_of(const Node* node, std::vector<AbstractPtr>& inputs,
                                        Frame& frame) {
        switch (node->kind()) {
            // no value: a function, which prim::CallFunction takes from its type
            case c10::prim::Constant:
                return {lift(torch::jit::toIValue(node->output()).value_or(c10::IValue()))};
            case c10::prim::GetAttr: return {attribute(node, *inputs[0])};
            case c10::prim::SetAttr: return set_attribute(node, *inputs[0], *inputs[1]);
            case c10::prim::CreateObject: return {create_object(node)};
            case c10::prim::Enter: return {call_method(node, inputs, "__enter__")};
            case c10::prim::Exit: return {call_method(node, inputs, "__exit__")};
            case c10::prim::CallMethod:
                return {call_method(node, inputs, node->s(c10::attr::name))};
            case c10::prim::CallFunction: return {call_free(node, inputs)};
            case c10::prim::If: return run_if(node, *inputs[0], frame);
            case c10::prim::Loop: return run_loop(node, inputs, frame);
            case c10::prim::RaiseException:
                refuse(node, "the model raises an exception for every structure: " +
                                 concrete(*inputs[0], 0).toStringRef());
            case c10::aten::format: return {fixed_value(formatted(inputs))};
            case c10::prim::Print: return {};
            case c10::aten::warn: return {};
            case c10::prim::Uninitialized: return {fixed_value(c10::IValue())};
            case c10::prim::unchecked_cast:
            case c10::prim::unchecked_unwrap_optional:
            case c10::aten::_unwrap_optional: return {inputs[0]};
            case c10::aten::__is__:
            case c10::aten::__isnot__: return {identity(node, *inputs[0], *inputs[1])};
            default: break;
        }
        if (auto results = apply_container(node, inputs)) return *results;
        return operate(node, inputs);
    }

    std::vector<AbstractPtr> operate(const Node* node, std::vector<AbstractPtr>& inputs) {
        const auto* op = node->maybeOperator();
        if (op == nullptr) refuse(node, "it is not an operator that this version knows");
        Call call;
        call.name = node->kind().toQualString();
        call.source = source_of(node);
        call.module = module_path_;
        call.schema = &op->schema();
        auto operation = op->getOperation(node);
        call.run = [operation](torch::jit::Stack& stack) mutable { operation(stack); };
        call.args = inputs;
        return apply_operator(builder_, call);
    }

    static AbstractPtr identity(const Node* node, const AbstractValue& a, const AbstractValue& b) {
        // Only comparisons with None decide anything in a model that runs on tensors.
        const bool same = a.is_none() && b.is_none();
        return fixed_value((node->kind() == c10::aten::__is__) == same);
    }

    AbstractPtr attribute(const Node* node, const AbstractValue& object) {
        const auto& name = node->s(c10::attr::name);
        if (!object.probe[0].isObject())
            refuse(node, "attribute '" + name + "' of something that is no module");
        auto value = lift(object.probe[0].toObjectRef().getAttr(name));
        value->module_path = object.module_path.empty() ? name : object.module_path + "." + name;
        return value;
    }

    /// Objects that forward makes for itself: torch.no_grad() and other context managers.
    AbstractPtr create_object(const Node* node) {
        const auto type = node->output()->type()->expect<c10::ClassType>();
        auto object = c10::ivalue::Object::create(
            c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes());
        own_objects_.insert(object.get());
        return fixed_value(std::move(object));
    }

    std::vector<AbstractPtr> set_attribute(const Node* node, const AbstractValue& object,
                                           const AbstractValue& value) {
        const auto& name = node->s(c10::attr::name);
        auto& target = object.probe[0].toObjectRef();
        if (own_objects_.count(&target) == 0)
            refuse(node, "the model changes its own attribute '" + name + "'");
        if (!is_deeply_fixed(value))
            refuse(node, "attribute '" + name +
                             "' of an object that the model makes depends on the number of atoms "
                             "or on data; pass the value on as a variable");
        target.setAttr(name, concrete(value, 0));
        return {};
    }

    AbstractPtr call_method(const Node* node, std::vector<AbstractPtr>& inputs,
                            const std::string& name) {
        if (!inputs[0]->probe[0].isObject()) refuse(node, "method '" + name + "' of no module");
        const auto type = inputs[0]->probe[0].toObjectRef().type();
        auto& function = type->getMethod(name);
        // __exit__ also takes an exception, of which there is none
        while (inputs.size() < function.getSchema().arguments().size())
            inputs.push_back(fixed_value(c10::IValue()));
        const auto outer = module_path_;
        module_path_ = inputs[0]->module_path;
        const auto* replacement =
            type->name() ? helpers_.of_method(type->name()->qualifiedName(), name, source_of(node))
                         : nullptr;
        auto result = call_or_replace(node, function, inputs, replacement, 1);
        module_path_ = outer;
        return result;
    }

    /// The call, or what a helper adapter of the spec puts in its place. `skipped` arguments (self)
    /// are not passed on to the replacement.
    AbstractPtr call_or_replace(const Node* node, torch::jit::Function& function,
                                const std::vector<AbstractPtr>& arguments,
                                const Replacement* replacement, std::size_t skipped) {
        using Action = BuiltinReplacement::Action;
        if (replacement == nullptr || replacing_.count(replacement->adapter) > 0)
            return call_from(node, function, arguments);
        const std::vector<AbstractPtr> own(arguments.begin() + skipped, arguments.end());
        if (replacement->function == nullptr)
            return replacement->action == Action::SystemSum ? system_sum(node, own)
                                                            : call_from(node, function, arguments);
        replacing_.insert(replacement->adapter);
        std::vector<AbstractPtr> passed;
        if (replacement->self) passed.push_back(fixed_value(*replacement->self));
        if (replacement->wraps) passed.push_back(call_from(node, function, arguments));
        passed.insert(passed.end(), own.begin(), own.end());
        const auto expected = replacement->function->getSchema().arguments().size();
        if (passed.size() != expected)
            refuse(node, "its replacement " + replacement->function->name() + " takes " +
                             std::to_string(expected) + " arguments, expected " +
                             std::to_string(passed.size()) +
                             (replacement->wraps ? " (the original's result, then its arguments)"
                                                 : " (those of the original)"));
        auto result = call_from(node, *replacement->function, passed);
        replacing_.erase(replacement->adapter);
        return result;
    }

    AbstractPtr call_from(const Node* node, torch::jit::Function& function,
                          const std::vector<AbstractPtr>& arguments) {
        calls_.push_back(own_source(node));
        auto result = call_function(function, arguments);
        calls_.pop_back();
        return result;
    }

    /// Owned rows of the first argument, summed over the whole system: (1, *).
    AbstractPtr system_sum(const Node* node, const std::vector<AbstractPtr>& arguments) {
        if (arguments.empty() || !arguments[0]->is_tensor())
            refuse(node, "a sum over the system needs a tensor as its first argument");
        Call call;
        call.source = source_of(node);
        call.module = module_path_;
        return rules::sum_over(builder_, call, arguments[0], {0}, /*keepdim=*/true, nullptr);
    }

    AbstractPtr call_free(const Node* node, std::vector<AbstractPtr>& inputs) {
        const auto type = node->input(0)->type()->cast<c10::FunctionType>();
        if (!type) refuse(node, "a call of an unknown function");
        auto& function = *type->function();
        const auto* replacement =
            helpers_.of_function(function.qualname().qualifiedName(), source_of(node));
        return call_or_replace(node, function, {inputs.begin() + 1, inputs.end()}, replacement, 0);
    }

    std::vector<AbstractPtr> run_if(const Node* node, const AbstractValue& condition,
                                    Frame& frame) {
        const auto* on_true = node->blocks()[0];
        const auto* on_false = node->blocks()[1];
        if (condition.fixed)
            return run_block(condition.probe[0].toBool() ? on_true : on_false, frame);
        // A check that raises decides nothing about the result.
        if (raises(on_true)) return run_block(on_false, frame);
        if (raises(on_false)) return run_block(on_true, frame);
        refuse(node,
               "the condition depends on the number of atoms or on data, so that ranks could take "
               "different branches; expected a condition on constants, on which inputs are given, "
               "or on ranks and dtypes of tensors. Rewrite the model without the branch (operators "
               "accept empty tensors)");
    }

    std::vector<AbstractPtr> run_loop(const Node* node, const std::vector<AbstractPtr>& inputs,
                                      Frame& frame) {
        const auto& trips = *inputs[0];
        if (!trips.fixed) refuse_loop(node);
        const auto* body = node->blocks()[0];
        std::vector<AbstractPtr> state(inputs.begin() + 1, inputs.end());  // condition, carried
        for (std::int64_t trip = 0; trip < trips.probe[0].toInt(); ++trip) {
            if (!state[0]->fixed) refuse_loop(node);
            if (!state[0]->probe[0].toBool()) break;
            if (trip >= MAX_UNROLLED) refuse(node, "the loop runs more than 10000 times");
            frame[body->inputs()[0]] = fixed_value(trip);
            for (std::size_t k = 1; k < state.size(); ++k) frame[body->inputs()[k]] = state[k];
            state = run_block(body, frame);
        }
        return {state.begin() + 1, state.end()};
    }

    [[noreturn]] void refuse_loop(const Node* node) const {
        refuse(node,
               "the number of iterations depends on the number of atoms or on data, so that ranks "
               "could differ; expected a constant number of iterations");
    }

    [[noreturn]] void refuse(const Node* node, const std::string& problem) const {
        Call call;
        call.name = node->kind().toQualString();
        call.source = source_of(node);
        TraceBuilder::refuse(call, problem);
    }

    TraceBuilder builder_;
    HelperAdapters helpers_;
    std::set<std::size_t> replacing_;  ///< adapters whose replacement is running
    std::string module_path_;
    std::vector<std::string> calls_;  ///< source lines of the calls that are being followed
    std::set<const c10::ivalue::Object*> own_objects_;
};

TensorFacts facts_of_input(InputRole role, const torch::Tensor& tensor, const Probe& probe,
                           int receiver_row) {
    TensorFacts facts;
    facts.dims.resize(tensor.dim());
    const auto set_space = [&](std::int64_t extent, Space space) {
        for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
            if (tensor.size(dim) == extent) facts.dims[dim] = {space, 1};
    };
    switch (role) {
        case InputRole::SpeciesIndex:
        case InputRole::SpeciesOneHot:
        case InputRole::Charges: set_space(probe.n_rows, SPACE_NODE); break;
        case InputRole::AtomInput:
            // of two extents that are alike, the first is that of the rows
            for (std::int64_t dim = 0; dim < tensor.dim() && facts.placed_dim() < 0; ++dim)
                if (tensor.size(dim) == probe.n_rows) facts.dims[dim] = {SPACE_NODE, 1};
            break;
        case InputRole::OwnedMask:
            set_space(probe.n_rows, SPACE_NODE);
            facts.starts_stale = true;  // 0 on halo rows, 1 on their owners'
            break;
        case InputRole::Batch:
            set_space(probe.n_rows, SPACE_NODE);
            facts.content = Content::System;
            break;
        case InputRole::Positions:
            set_space(probe.n_rows, SPACE_NODE);
            facts.is_position = true;
            break;
        case InputRole::EdgeIndex:
            set_space(probe.n_edges, SPACE_EDGE);
            facts.content = Content::EdgeIndex;
            facts.index_dim = tensor.size(0) == 2 ? 0 : 1;
            facts.receiver_at = receiver_row;
            break;
        case InputRole::NeighborMatrix: facts.content = Content::Sender; [[fallthrough]];
        case InputRole::NeighborMask:
            set_space(probe.n_rows, SPACE_NODE);
            facts.starts_stale = true;  // a halo row's line is empty
            break;
        case InputRole::EdgeVectors:
        case InputRole::EdgeShifts:
        case InputRole::EdgeCellShifts:
            set_space(probe.n_edges, SPACE_EDGE);
            if (facts.placed_dim() >= 0) break;
            set_space(probe.n_rows, SPACE_NODE);  // a table
            facts.starts_stale = true;
            break;
        case InputRole::NRows: facts.count = {SPACE_NODE, 1}; break;
        case InputRole::NOwned: facts.count = {SPACE_OWNED, 1}; break;
        case InputRole::BatchPointer: facts.count = {SPACE_NODE, 1}; break;
        default: break;
    }
    return facts;
}

/// The arguments of forward in the card's calling convention, as abstract values.
std::vector<AbstractPtr> abstract_arguments(const ModelCard& card, TraceBuilder& builder,
                                            const Probe& first, const Probe& second) {
    std::vector<AbstractPtr> values;
    for (std::size_t k = 0; k < first.inputs.bound.size(); ++k) {
        const auto& left = first.inputs.bound[k];
        const auto& right = second.inputs.bound[k];
        if (left.value.isTensor())
            values.push_back(builder.add_input(
                left.value, right.value,
                facts_of_input(left.spec->role, left.value.toTensor(), first, card.receiver_row),
                left.spec->role == InputRole::SpeciesIndex ||
                    left.spec->role == InputRole::SpeciesOneHot));
        else
            values.push_back(fixed_value(left.value));
    }
    auto dict = std::make_shared<AbstractValue>();
    dict->form = AbstractValue::Form::Dict;
    for (std::size_t k = 0; k < card.inputs.size(); ++k)
        dict->entries.emplace_back(card.inputs[k].key, values[k]);
    if (card.forward_takes_dict) return {dict};
    std::vector<AbstractPtr> arguments;
    std::size_t next = card.inputs.size();
    for (const auto& spec : card.arguments)
        arguments.push_back(spec.role == InputRole::Dict ? dict : values[next++]);
    return arguments;
}

AbstractPtr pick_output(const ModelCard& card, const std::string& key,
                        const AbstractPtr& returned) {
    if (returned->is_tensor() && card.outputs.size() == 1) return returned;
    if (returned->form == AbstractValue::Form::Dict)
        if (auto* entry = find_entry(*returned, key)) return *entry;
    if (returned->form == AbstractValue::Form::Tuple && !key.empty() &&
        key.find_first_not_of("0123456789") == key.npos && std::stoul(key) < returned->items.size())
        return returned->items[std::stoul(key)];
    throw ModelError("model '" + card.name + "': the declared output '" + key +
                     "' is not among what forward returns; correct the card's \"outputs\"");
}

}  // namespace

TracedProgram trace_model(const ModelCard& card, const torch::jit::Module& module,
                          const Probe& first, const Probe& second) {
    const torch::AutoGradMode as_the_model_leaves_it(true);
    TracedProgram traced;
    // with replicated geometry a folded row shows its owner's own position
    traced.folded_rows = card.rows == RowMode::Folded && !card.distribution().gp_replicate_geometry;
    Tracer tracer(traced,
                  {{{1, 1},
                    {first.n_rows, second.n_rows},
                    {first.n_edges, second.n_edges},
                    {first.n_owned, second.n_owned}}},
                  card.distribution(), module);
    for (const auto& parameter : module.parameters()) tracer.builder().note_state(parameter);
    for (const auto& buffer : module.buffers()) tracer.builder().note_state(buffer);
    auto arguments = abstract_arguments(card, tracer.builder(), first, second);
    arguments.insert(arguments.begin(), fixed_value(module._ivalue()));
    const auto method = module.get_method("forward");
    const auto& schema = method.function().getSchema();
    if (arguments.size() > schema.arguments().size())
        throw ModelError("model '" + card.name + "': forward takes " +
                         std::to_string(schema.arguments().size() - 1) +
                         " arguments, but the card's \"forward\" gives " +
                         std::to_string(arguments.size() - 1));
    for (auto k = arguments.size(); k < schema.arguments().size(); ++k) {
        const auto& fallback = schema.arguments()[k].default_value();
        if (!fallback)
            throw ModelError("model '" + card.name + "': argument '" +
                             schema.arguments()[k].name() +
                             "' of forward has no default and the card's \"forward\" gives none");
        arguments.push_back(lift(*fallback));
    }
    const auto returned = tracer.call_function(method.function(), arguments);
    tracer.helpers().require_matches();
    traced.adapter_uses = tracer.builder().operator_adapters().uses();
    for (const auto& use : tracer.helpers().uses()) traced.adapter_uses.push_back(use);
    for (const auto& spec : card.outputs) {
        const auto output = pick_output(card, spec.key, returned);
        if (!output->is_tensor())
            throw ModelError("model '" + card.name + "': the output '" + spec.key +
                             "' is no tensor");
        traced.program.outputs.push_back(operand_of(*output));
    }
    tracer.builder().finish();
    return traced;
}

}  // namespace nvalchemi
