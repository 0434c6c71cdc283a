// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/register_ops.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/collective.hpp"
#include "kernels/collective_autograd.hpp"
#include "kernels/exchange_slot.hpp"
#include "kernels/intent_verbs.hpp"
#include "kernels/kernel_operators.hpp"
#include "kernels/library_version.hpp"

namespace nvalchemi {

namespace {

/// Operators whose result depends on the exchange that is current when they are called. Rows are
/// `(n_rows, *)`: the owned rows of this rank, then its halo rows; halo_forward, owned_system_sum
/// and most intent verbs also take the owned rows alone. Overloads `ordered` thread a scalar token
/// through the exchanges of a model (see collective_autograd.hpp).
constexpr const char* kExchangeOperators[] = {
    // halo rows := their owners' rows                                             (n_rows, *)
    "halo_forward(Tensor rows) -> Tensor",
    "halo_forward.ordered(Tensor rows, Tensor token) -> (Tensor rows, Tensor token)",
    // its two halves; `under_way` is for the second one alone
    "halo_forward_begin.ordered(Tensor rows, Tensor token) -> (Tensor under_way, Tensor token)",
    "halo_forward_end.ordered(Tensor(a) under_way, Tensor token) -> (Tensor(a) rows, Tensor token)",
    // owned rows += their halo rows, halo rows := 0                               (n_rows, *)
    "halo_reverse(Tensor rows) -> Tensor",
    "halo_reverse.ordered(Tensor rows, Tensor token) -> (Tensor rows, Tensor token)",
    // halo_reverse, then halo_forward                                             (n_rows, *)
    "halo_correct(Tensor rows) -> Tensor",
    "halo_correct.ordered(Tensor rows, Tensor token) -> (Tensor rows, Tensor token)",
    // sum over ranks, the same on every rank                                      any shape
    "system_sum(Tensor values) -> Tensor",
    "system_sum.ordered(Tensor values, Tensor token) -> (Tensor values, Tensor token)",
    // sum over the owned rows of all ranks, the same on every rank                (*)
    "owned_system_sum(Tensor rows) -> Tensor",
    "owned_system_sum.ordered(Tensor rows, Tensor token) -> (Tensor sum, Tensor token)",
    // --- intent verbs: what a model's author calls (see intent_verbs.hpp) ---
    // halo rows := their owners' rows; rows of no atom are kept             (n_rows + any, *)
    "refresh_neighbors(Tensor x) -> Tensor",
    "refresh_neighbors.ordered(Tensor x, Tensor token) -> (Tensor x, Tensor token)",
    // all copies of a row := their sum; rows of no atom are kept            (n_rows + any, *)
    "scatter_to_owners(Tensor x) -> Tensor",
    "scatter_to_owners.ordered(Tensor x, Tensor token) -> (Tensor x, Tensor token)",
    // sum of owned rows for each system, over all ranks or of this one alone   (n_systems, *)
    "system_sum.by_index(Tensor values, Tensor index, int n_systems, str scope=\"owned\")"
    " -> Tensor",
    "system_sum.by_index_ordered(Tensor values, Tensor index, int n_systems, Tensor token,"
    " str scope=\"owned\") -> (Tensor sum, Tensor token)",
    // values / number of ranks: this rank's part of what every rank has. Not collective  any shape
    "share(Tensor values) -> Tensor",
    // what the exchange looks like. Not collective
    "current_dd_context() -> (bool is_distributed, int rank, int world_size, int n_owned,"
    " int n_padded)",
};

/// Operators that are not collective.
constexpr const char* kLocalOperators[] = {
    // the same rows; their halo rows receive no gradient                          (n_rows, *)
    "drop_halo_gradient(Tensor(a) rows) -> Tensor(a)",
    // the same tensor (intent verbs)                                              any shape
    "to_local(Tensor(a) x) -> Tensor(a)",
    "autograd_target(Tensor(a) x) -> Tensor(a)",
    // "version|file" of the library that registered the operators
    "library_info() -> str",
    // address of the function that finds a thread's exchange, for a second copy of the library
    "exchange_slot() -> int",
};

template <Collective collective>
at::Tensor without_gradient(const at::Tensor& input) {
    return apply_collective(collective, input);
}

template <Collective collective>
TensorAndToken without_gradient_ordered(const at::Tensor& input, const at::Tensor& token) {
    check_token(token, operator_name(collective));
    return {apply_collective(collective, input), token.clone()};
}

template <Collective collective>
at::Tensor with_gradient(const at::Tensor& input) {
    return differentiable_collective(collective, input);
}

template <Collective collective>
TensorAndToken with_gradient_ordered(const at::Tensor& input, const at::Tensor& token) {
    return differentiable_collective(collective, input, token);
}

template <Collective collective>
void implement(torch::Library& library) {
    const std::string name = operator_name(collective);
    const std::string ordered = name + ".ordered";
    constexpr auto backends = c10::DispatchKey::CompositeExplicitAutograd;
    constexpr auto autograd = c10::DispatchKey::Autograd;
    library.impl(name.c_str(), torch::dispatch(backends, &without_gradient<collective>));
    library.impl(ordered.c_str(), torch::dispatch(backends, &without_gradient_ordered<collective>));
    library.impl(name.c_str(), torch::dispatch(autograd, &with_gradient<collective>));
    library.impl(ordered.c_str(), torch::dispatch(autograd, &with_gradient_ordered<collective>));
}

void implement_halves(torch::Library& library) {
    constexpr auto backends = c10::DispatchKey::CompositeExplicitAutograd;
    constexpr auto autograd = c10::DispatchKey::Autograd;
    const char* const begin = "halo_forward_begin.ordered";
    const char* const end = "halo_forward_end.ordered";
    library.impl(begin, torch::dispatch(backends, &halo_forward_begin));
    library.impl(begin, torch::dispatch(autograd, &differentiable_halo_forward_begin));
    library.impl(end, torch::dispatch(backends, &halo_forward_end));
    library.impl(end, torch::dispatch(autograd, &differentiable_halo_forward_end));
}

void implement_intent_verbs(torch::Library& library) {
    const auto implement = [&library](const char* name, auto* function) {
        library.impl(name, torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, function));
    };
    implement("to_local", &to_local);
    implement("autograd_target", &autograd_target);
    implement("refresh_neighbors", &refresh_neighbors);
    implement("refresh_neighbors.ordered", &refresh_neighbors_ordered);
    implement("scatter_to_owners", &scatter_to_owners);
    implement("scatter_to_owners.ordered", &scatter_to_owners_ordered);
    implement("system_sum.by_index", &system_sum_by_index);
    implement("system_sum.by_index_ordered", &system_sum_by_index_ordered);
    implement("current_dd_context", &current_dd_context);
}

std::string library_info() { return library_version() + "|" + library_path(); }

std::int64_t exchange_slot_address() {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(exchange_slot()));
}

void define_operators(torch::Library& library) {
    // "Conservative" makes an operator one that TorchScript calls each time, in the order of the
    // program. Where its arguments are constants, freezing a model would otherwise call it, outside
    // of any exchange, and keep the result: the sum of ones over ranks would always be 1.
    for (const char* schema : kExchangeOperators) {
        library.def(torch::schema(schema, c10::AliasAnalysisKind::CONSERVATIVE));
    }
    for (const char* schema : kLocalOperators) library.def(schema);
    implement<Collective::HaloForward>(library);
    implement<Collective::HaloReverse>(library);
    implement<Collective::HaloCorrect>(library);
    implement<Collective::SystemSum>(library);
    implement_halves(library);
    constexpr auto composite = c10::DispatchKey::CompositeImplicitAutograd;
    library.impl("owned_system_sum", torch::dispatch(composite, &owned_system_sum));
    library.impl("owned_system_sum.ordered", torch::dispatch(composite, &owned_system_sum_ordered));
    library.impl("drop_halo_gradient",
                 torch::dispatch(c10::DispatchKey::Autograd, &drop_halo_gradient));
    library.impl("drop_halo_gradient",
                 torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &drop_halo_gradient));
    library.impl("share", torch::dispatch(composite, &share));
    library.impl("library_info", torch::dispatch(composite, &library_info));
    library.impl("exchange_slot", torch::dispatch(composite, &exchange_slot_address));
    implement_intent_verbs(library);
    define_kernel_operators(library);
}

/// Result of an operator without arguments that another copy of this library may have registered.
std::optional<c10::IValue> ask_registered_library(const char* operator_name) {
    const auto handle = c10::Dispatcher::singleton().findSchema({operator_name, ""});
    if (!handle) return std::nullopt;
    torch::jit::Stack stack;
    handle->callBoxed(stack);
    return stack.at(0);
}

/// Use the operators of a library that came first; false if there is none.
bool reuse_registered_operators() {
    const auto info = ask_registered_library("nvalchemi_lmp::library_info");
    if (!info) return false;
    const std::string& text = info->toStringRef();
    const std::string version = text.substr(0, text.find('|'));
    const std::string path = text.substr(version.size() + 1);
    if (version != library_version()) {
        throw std::runtime_error(
            "nvalchemi_lmp operators: got version " + library_version() + " in " + library_path() +
            ", expected version " + version + " as in " + path +
            ", which this process loaded first (load one of the two packages only)");
    }
    const auto address = ask_registered_library("nvalchemi_lmp::exchange_slot");
    // A schema has no type for a function's address, so it travels as a number.
    const auto number = static_cast<std::intptr_t>(address.value().toInt());
    adopt_exchange_slot(
        reinterpret_cast<ExchangeSlot>(number));  // NOLINT(performance-no-int-to-ptr)
    return true;
}

void register_own_operators() {
    try {
        torch::Library library(torch::Library::DEF, "nvalchemi_lmp", std::nullopt,
                               "kernels/register_ops.cpp", __LINE__);
        define_operators(library);
        // Never destroyed: the operators live as long as the process, as this library does, which
        // is linked with -z nodelete. Destruction at exit would race with torch's own.
        static const auto* const kept = new torch::Library(std::move(library));
        static_cast<void>(kept);
    } catch (const c10::Error& error) {
        throw std::runtime_error(
            "nvalchemi_lmp operators: got a namespace that something other "
            "than this package has registered, expected none before " +
            library_path() +
            " (do not load it together with this package): " + error.what_without_backtrace());
    }
}

/// For programs that only open the library, such as Python's torch.ops.load_library. An exception
/// out of an initialiser would end the process, so it is reported, and register_operators() throws
/// it again where somebody can catch it.
const bool registered_on_load = [] {
    try {
        register_operators();
        return true;
    } catch (const std::exception& error) {
        TORCH_WARN(error.what());
        return false;
    }
}();

}  // namespace

void register_operators() {
    static std::mutex mutex;
    static bool done = false;
    const std::lock_guard<std::mutex> lock(mutex);
    if (done) return;
    if (!reuse_registered_operators()) register_own_operators();
    done = true;
}

}  // namespace nvalchemi
