// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/distribution/flat_program.hpp"

#include <algorithm>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using SlotValues = std::vector<c10::IValue>;

c10::IValue read(const Operand& operand, const SlotValues& values) {
    if (operand.is_list) {
        c10::impl::GenericList list(operand.item_type);
        list.reserve(operand.items.size());
        for (const auto& item : operand.items) list.push_back(read(item, values));
        return list;
    }
    return operand.slot == NO_SLOT ? operand.constant : values[operand.slot];
}

void store(const Instruction& instruction, torch::jit::Stack& stack, SlotValues& values) {
    if (instruction.unpacks_list) {
        const auto list = torch::jit::pop(stack).toList();
        if (list.size() != instruction.outputs.size())
            throw ModelError(describe(instruction) + ": got " + std::to_string(list.size()) +
                             " tensors, expected " + std::to_string(instruction.outputs.size()) +
                             " as when the model was analysed");
        for (std::size_t k = 0; k < list.size(); ++k) values[instruction.outputs[k]] = list.get(k);
        return;
    }
    for (std::size_t k = instruction.outputs.size(); k-- > 0;)
        values[instruction.outputs[k]] = torch::jit::pop(stack);
}

void execute(const Instruction& instruction, torch::jit::Stack& stack, SlotValues& values) {
    stack.clear();
    for (const auto& input : instruction.inputs) stack.push_back(read(input, values));
    try {
        instruction.run(stack);
    } catch (const c10::OutOfMemoryError&) {
        throw;  // says nothing of the operator that happened to be the one
    } catch (const c10::Error& error) {
        throw ModelError(describe(instruction) + ": " + error.what_without_backtrace());
    } catch (const std::exception& error) {
        throw ModelError(describe(instruction) + ": " + error.what());
    }
    store(instruction, stack, values);
}

void release(const Instruction& instruction, SlotValues& values) {
    for (const auto slot : instruction.releases) values[slot] = c10::IValue();
}

}  // namespace

Operand Operand::of_slot(Slot slot) {
    Operand operand;
    operand.slot = slot;
    return operand;
}

Operand Operand::of_constant(c10::IValue value) {
    Operand operand;
    operand.constant = std::move(value);
    return operand;
}

void Operand::for_each_slot(const std::function<void(Slot&)>& visit) {
    if (slot != NO_SLOT) visit(slot);
    for (auto& item : items) item.for_each_slot(visit);
}

void Operand::append_slots(std::vector<Slot>& slots) const {
    if (slot != NO_SLOT) slots.push_back(slot);
    for (const auto& item : items) item.append_slots(slots);
}

void FlatProgram::compute_releases() {
    std::vector<bool> needed_later(static_cast<std::size_t>(slot_count), false);
    const auto keep = [&](Slot& slot) { needed_later[slot] = true; };
    for (auto& output : outputs) output.for_each_slot(keep);
    token_out.for_each_slot(keep);
    for (auto instruction = code.rbegin(); instruction != code.rend(); ++instruction) {
        instruction->releases.clear();
        const auto release = [&](Slot& slot) {
            if (!needed_later[slot]) instruction->releases.push_back(slot);
            needed_later[slot] = true;
        };
        for (auto& slot : instruction->outputs) release(slot);
        for (auto& input : instruction->inputs) input.for_each_slot(release);
    }
}

std::vector<c10::IValue> FlatProgram::start(const std::vector<c10::IValue>& arguments,
                                            std::int64_t n_owned,
                                            const torch::Tensor& token) const {
    SlotValues values(static_cast<std::size_t>(slot_count));
    for (std::size_t k = 0; k < inputs.size(); ++k) values[inputs[k]] = arguments[k];
    values[owned_count] = n_owned;
    values[token_in] = token;
    return values;
}

FlatProgram::Result FlatProgram::run(const std::vector<c10::IValue>& arguments,
                                     std::int64_t n_owned, const torch::Tensor& token,
                                     const torch::Tensor& gradient_factor,
                                     const Observer& observer) const {
    auto values = start(arguments, n_owned, token);
    if (this->gradient_factor != NO_SLOT) values[this->gradient_factor] = gradient_factor;
    torch::jit::Stack stack;
    for (const auto& instruction : code) {
        execute(instruction, stack, values);
        if (observer) observer(static_cast<std::size_t>(&instruction - code.data()), values);
        release(instruction, values);
    }
    Result result;
    for (const auto& output : outputs) result.outputs.push_back(read(output, values).toTensor());
    result.token = read(token_out, values).toTensor();
    return result;
}

std::size_t FlatProgram::length_of(std::size_t which) const {
    std::vector<Slot> wanted;
    outputs[which].append_slots(wanted);
    std::size_t length = 0;
    for (std::size_t at = 0; at < code.size(); ++at)
        for (const auto slot : code[at].outputs)
            if (std::find(wanted.begin(), wanted.end(), slot) != wanted.end()) length = at + 1;
    bool under_way = false;
    for (std::size_t at = 0; at < length || under_way; ++at) {
        under_way = code[at].name == BEGIN || (under_way && code[at].name != END);
        length = std::max(length, at + 1);
    }
    return length;
}

torch::Tensor FlatProgram::run_for(std::size_t which, const std::vector<c10::IValue>& arguments,
                                   std::int64_t n_owned, const torch::Tensor& token) const {
    auto values = start(arguments, n_owned, token);
    if (gradient_factor != NO_SLOT) values[gradient_factor] = torch::ones({0}, token.options());
    torch::jit::Stack stack;
    const auto length = length_of(which);
    for (std::size_t at = 0; at < length; ++at) {
        execute(code[at], stack, values);
        release(code[at], values);
    }
    return read(outputs[which], values).toTensor();
}

std::string describe(const Instruction& instruction) {
    std::string text = "operator " + instruction.name;
    if (!instruction.source.empty()) text += " (" + instruction.source + ")";
    return text;
}

std::function<void(torch::jit::Stack&)> registered_operator(const std::string& name,
                                                            const std::string& overload) {
    const auto handle =
        c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
    return [handle](torch::jit::Stack& stack) { handle.callBoxed(&stack); };
}

}  // namespace nvalchemi
