// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/faulty_exchange.hpp"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

namespace nvalchemi {

namespace {

using Kind = ExchangeFault::Kind;

at::ScalarType scalar_type(ElementType type) {
    switch (type) {
        case ElementType::Float32: return at::kFloat;
        case ElementType::Float64: return at::kDouble;
        case ElementType::Int32: return at::kInt;
        case ElementType::Int64: break;
    }
    return at::kLong;
}

/// The block's own memory, (rows, width).
at::Tensor view_of(const RowBlock& block) {
    auto options = at::TensorOptions(scalar_type(block.type));
    if (block.cuda_device >= 0)
        options = options.device(at::kCUDA, static_cast<at::DeviceIndex>(block.cuda_device));
    return at::from_blob(block.data, {block.rows, block.width}, options);
}

void round_to_single(const at::Tensor& rows) {
    if (rows.is_floating_point()) rows.copy_(rows.to(at::kFloat));
}

using Delivered = std::map<std::pair<std::int64_t, std::int64_t>, at::Tensor>;

/// What was kept under `key`, put back where it is as large as `halo`.
void put_back(const Delivered& kept, const Delivered::key_type& key, const at::Tensor& halo) {
    const auto found = kept.find(key);
    if (found != kept.end() && found->second.sizes() == halo.sizes() &&
        found->second.scalar_type() == halo.scalar_type())
        halo.copy_(found->second);
}

}  // namespace

struct FaultyExchange::State {
    int forwards = 0, reverses = 0, sums = 0;
    at::Tensor came_home;    ///< by the call before, if that was a reverse
    Delivered by_width;      ///< (width, 0): halo rows of the forward before
    Delivered of_last_step;  ///< (width, call): those of the evaluation before
};

FaultyExchange::FaultyExchange(HaloExchange& inner, std::vector<ExchangeFault> faults)
    : inner_(inner), faults_(std::move(faults)), state_(std::make_unique<State>()) {}

FaultyExchange::~FaultyExchange() = default;

void FaultyExchange::begin_evaluation() {
    state_->forwards = state_->reverses = state_->sums = 0;
    state_->came_home = at::Tensor();
    state_->by_width.clear();
}

bool FaultyExchange::strikes(Kind kind, int call) const {
    return std::any_of(faults_.begin(), faults_.end(), [&](const ExchangeFault& fault) {
        const bool now =
            fault.nth == ExchangeFault::kLater ? call > 0 : fault.nth < 0 || fault.nth == call;
        return fault.kind == kind && now && (fault.rank < 0 || fault.rank == rank());
    });
}

void FaultyExchange::forward(const RowBlock& rows) {
    const int call = state_->forwards++;
    if (strikes(Kind::Die, call)) std::raise(SIGKILL);
    const auto all = view_of(rows);
    const auto halo = all.slice(0, owned_rows());
    const auto before = halo.clone();
    const auto half = (rows.width + 1) / 2;
    if (strikes(Kind::FoldTwice, call) && state_->came_home.defined() &&
        state_->came_home.size(1) == rows.width)
        all.slice(0, 0, owned_rows()).add_(state_->came_home);
    state_->came_home = at::Tensor();

    inner_.forward(rows);

    const auto arrived = halo.clone();
    const auto count = halo.size(0);
    if (strikes(Kind::DropForward, call)) halo.copy_(before);
    if (strikes(Kind::ForgetLastRow, call) && count > 0) halo[-1].copy_(before[-1]);
    if (strikes(Kind::SwapRows, call) && count > 1)
        halo.slice(0, 0, 2).copy_(arrived.slice(0, 0, 2).flip(0));
    if (strikes(Kind::HalfOfColumns, call)) halo.slice(1, half).copy_(before.slice(1, half));
    if (strikes(Kind::AddInForward, call)) halo.add_(before);
    if (strikes(Kind::StaleForward, call)) put_back(state_->by_width, {rows.width, 0}, halo);
    if (strikes(Kind::StaleStep, call)) put_back(state_->of_last_step, {rows.width, call}, halo);
    if (strikes(Kind::RoundForward, call)) round_to_single(halo);
    if (strikes(Kind::RepeatForward, call)) halo.copy_(arrived);
    state_->by_width[{rows.width, 0}] = arrived;
    state_->of_last_step[{rows.width, call}] = arrived;
}

void FaultyExchange::reverse(const RowBlock& rows) {
    const int call = state_->reverses++;
    const auto all = view_of(rows);
    const auto owned = all.slice(0, 0, owned_rows()), halo = all.slice(0, owned_rows());
    const auto before = all.clone();
    if (strikes(Kind::DoubleReverse, call)) halo.mul_(2);
    if (strikes(Kind::NegateReverse, call)) halo.neg_();

    inner_.reverse(rows);

    if (strikes(Kind::DropReverse, call)) all.copy_(before);
    if (strikes(Kind::KeepHaloRows, call)) halo.copy_(before.slice(0, owned_rows()));
    if (strikes(Kind::RoundReverse, call)) round_to_single(owned);
    if (strikes(Kind::RepeatReverse, call)) halo.zero_();
    state_->came_home = owned.sub(before.slice(0, 0, owned_rows()));
}

void FaultyExchange::system_sum(const RowBlock& block) {
    const int call = state_->sums++;
    const auto values = view_of(block);
    const auto before = values.clone();

    inner_.system_sum(block);

    if (strikes(Kind::DropSum, call)) values.copy_(before);
    if (strikes(Kind::DoubleSum, call)) values.mul_(2);
}

}  // namespace nvalchemi
