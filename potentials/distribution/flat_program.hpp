// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_FLAT_PROGRAM_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_FLAT_PROGRAM_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "potentials/internal_torch.hpp"

namespace nvalchemi {

/// Index of a value during one run of a program.
using Slot = std::int32_t;
constexpr Slot NO_SLOT = -1;

/// What an instruction reads: a constant, a slot, or a list of both.
struct Operand {
    Slot slot = NO_SLOT;
    c10::IValue constant;  ///< used if slot is NO_SLOT and is_list is false
    bool is_list = false;
    std::vector<Operand> items;  ///< of a list
    c10::TypePtr item_type;      ///< of a list

    static Operand of_slot(Slot slot);
    static Operand of_constant(c10::IValue value);
    /// Call `visit(Slot&)` for every slot that this operand reads.
    void for_each_slot(const std::function<void(Slot&)>& visit);
    /// The slots that this operand reads, appended to `slots`.
    void append_slots(std::vector<Slot>& slots) const;
};

/// One operator call. `outputs` has one slot for each result; an operator that returns one list
/// (`unpacks_list`) fills one slot for each element instead.
struct Instruction {
    std::string name;    ///< qualified, e.g. "aten::index_add"
    std::string source;  ///< "file.py:line" of the model, or who inserted it
    std::string module;  ///< dotted path of the module that was executing, empty at top level
    std::function<void(torch::jit::Stack&)> run;
    std::vector<Operand> inputs;
    std::vector<Slot> outputs;
    bool unpacks_list = false;
    std::vector<Slot> releases;  ///< slots that nothing reads afterwards
};

/// A straight line of operator calls: what is left of a model once its control flow, containers
/// and constants are resolved. Immutable when running; run() may be called from several threads.
struct FlatProgram {
    std::vector<Instruction> code;
    Slot slot_count = 0;
    std::vector<Slot> inputs;        ///< in the order of input_specs(card)
    Slot owned_count = NO_SLOT;      ///< number of owned rows, an int
    Slot token_in = NO_SLOT;         ///< order token of the exchanges, a 0-dim tensor
    Slot gradient_factor = NO_SLOT;  ///< of scale_gradient (moment_form.hpp), where inserted
    std::vector<Operand> outputs;    ///< in the order of ModelCard::outputs
    std::vector<bool> whole;         ///< of an output: its owned rows need nothing of halo rows
    Operand token_out;

    /// Fill `releases` and drop instructions whose results nothing reads.
    void compute_releases();

    struct Result {
        std::vector<torch::Tensor> outputs;
        torch::Tensor token;
    };
    /// Called after each instruction with its place in `code` and the values of all slots.
    using Observer = std::function<void(std::size_t, const std::vector<c10::IValue>&)>;
    /// Throws ModelError naming the operator and its source line.
    Result run(const std::vector<c10::IValue>& values, std::int64_t n_owned,
               const torch::Tensor& token, const torch::Tensor& gradient_factor = {},
               const Observer& observer = {}) const;

    /// The two halves of an exchange.
    static constexpr const char* BEGIN = "nvalchemi_lmp::halo_forward_begin";
    static constexpr const char* END = "nvalchemi_lmp::halo_forward_end";

    /// How many instructions, from the first, output `which` needs; whole exchanges.
    std::size_t length_of(std::size_t which) const;
    /// Output `which` alone: runs its length_of() instructions and no others. Throws ModelError.
    torch::Tensor run_for(std::size_t which, const std::vector<c10::IValue>& values,
                          std::int64_t n_owned, const torch::Tensor& token) const;

  private:
    std::vector<c10::IValue> start(const std::vector<c10::IValue>& values, std::int64_t n_owned,
                                   const torch::Tensor& token) const;
};

/// "name (source)" for messages and listings.
std::string describe(const Instruction& instruction);

/// The callable of a registered operator, by qualified name and overload.
std::function<void(torch::jit::Stack&)> registered_operator(const std::string& name,
                                                            const std::string& overload);

}  // namespace nvalchemi

#endif
