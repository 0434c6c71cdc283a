// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/collective.hpp"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

namespace {

bool moves_integers(Collective collective) { return collective == Collective::HaloForward; }

ElementType element_type(const at::Tensor& tensor, Collective collective, const char* name) {
    const bool integers = moves_integers(collective);
    switch (tensor.scalar_type()) {
        case at::kFloat: return ElementType::Float32;
        case at::kDouble: return ElementType::Float64;
        case at::kInt:
            if (integers) return ElementType::Int32;
            break;
        case at::kLong:
            if (integers) return ElementType::Int64;
            break;
        default: break;
    }
    TORCH_CHECK(false, "nvalchemi_lmp::", name, ": got elements of type ", tensor.scalar_type(),
                ", expected float32", integers ? ", float64, int32 or int64" : " or float64",
                " (convert the tensor before the call and its result afterwards)");
}

void check_device(const at::Tensor& tensor, const char* name) {
    TORCH_CHECK(tensor.is_cpu() || tensor.is_cuda(), "nvalchemi_lmp::", name,
                ": got a tensor on device ", tensor.device(),
                ", expected cpu or cuda (move the tensor there)");
}

RowBlock row_block(const at::Tensor& tensor, std::int64_t rows, ElementType type) {
    RowBlock block;
    block.data = tensor.mutable_data_ptr();
    block.rows = rows;
    block.width = 1;
    for (std::int64_t dim = tensor.dim() - 1; dim > 0; --dim) block.width *= tensor.size(dim);
    block.type = type;
    block.cuda_device = tensor.is_cuda() ? static_cast<int>(tensor.get_device()) : -1;
    return block;
}

at::Tensor contiguous_copy(const at::Tensor& tensor) {
    return tensor.clone(at::MemoryFormat::Contiguous);
}

/// A copy with `counts.total` rows whose halo rows are zero: an exchange that left one out would
/// otherwise show what the allocator kept there, often the right values of the step before.
at::Tensor copy_of_owned_rows(const at::Tensor& rows, const RowCounts& counts) {
    if (counts.owned == counts.total) return contiguous_copy(rows);
    at::DimVector shape(rows.sizes());
    shape[0] = counts.total;
    at::Tensor copy = at::empty(shape, rows.options().memory_format(at::MemoryFormat::Contiguous));
    copy.narrow(0, 0, counts.owned).copy_(rows.narrow(0, 0, counts.owned));
    copy.narrow(0, counts.owned, counts.total - counts.owned).zero_();
    return copy;
}

/// What an exchange is to change in place, with `total` rows.
at::Tensor rows_to_change(Collective collective, const at::Tensor& rows) {
    const bool overwrites_halo = collective == Collective::HaloForward;
    const RowCounts counts = check_rows(rows, overwrites_halo, operator_name(collective));
    return overwrites_halo ? copy_of_owned_rows(rows, counts) : contiguous_copy(rows);
}

at::Tensor apply_to_rows(Collective collective, const at::Tensor& rows, ElementType type) {
    at::Tensor result = rows_to_change(collective, rows);
    HaloExchange* exchange = current_exchange();
    if (exchange == nullptr) return result;

    const RowBlock block = row_block(result, result.size(0), type);
    if (collective != Collective::HaloForward) exchange->reverse(block);
    if (collective != Collective::HaloReverse) exchange->forward(block);
    return result;
}

at::Tensor apply_to_values(const at::Tensor& values, ElementType type) {
    at::Tensor result = contiguous_copy(values);
    HaloExchange* exchange = current_exchange();
    if (exchange == nullptr) return result;

    RowBlock block = row_block(result, 1, type);
    block.width = result.numel();
    exchange->system_sum(block);
    return result;
}

HaloMove halo_move(Collective collective) {
    TORCH_INTERNAL_ASSERT(
        collective == Collective::HaloForward || collective == Collective::HaloReverse,
        operator_name(collective), " has no halves");
    return collective == Collective::HaloForward ? HaloMove::Forward : HaloMove::Reverse;
}

}  // namespace

Collective transpose(Collective collective) {
    switch (collective) {
        case Collective::HaloForward: return Collective::HaloReverse;
        case Collective::HaloReverse: return Collective::HaloForward;
        default: return collective;
    }
}

const char* operator_name(Collective collective) {
    switch (collective) {
        case Collective::HaloForward: return "halo_forward";
        case Collective::HaloReverse: return "halo_reverse";
        case Collective::HaloCorrect: return "halo_correct";
        case Collective::SystemSum: return "system_sum";
    }
    TORCH_INTERNAL_ASSERT(false, "unknown collective");
}

RowCounts check_rows(const at::Tensor& rows, bool accepts_owned_only, const char* operator_name) {
    TORCH_CHECK(rows.dim() > 0, "nvalchemi_lmp::", operator_name,
                ": got a scalar, expected one row for each atom, (rows, *) (use system_sum for "
                "values of the whole system)");
    const std::int64_t got = rows.size(0);
    const HaloExchange* exchange = current_exchange();
    if (exchange == nullptr) return {got, got};

    const RowCounts counts{exchange->owned_rows(), exchange->total_rows()};
    if (got == counts.total || (accepts_owned_only && got == counts.owned)) return counts;
    TORCH_CHECK(!accepts_owned_only, "nvalchemi_lmp::", operator_name, ": got ", got,
                " rows (shape ", rows.sizes(), "), expected ", counts.total,
                " (owned and halo) or ", counts.owned,
                " (owned only) (the first dimension must run over the atoms of this rank)");
    TORCH_CHECK(false, "nvalchemi_lmp::", operator_name, ": got ", got, " rows (shape ",
                rows.sizes(), "), expected ", counts.total,
                " (owned and halo) (the first dimension must run over the atoms of this rank; "
                "only halo_forward and owned_system_sum take owned rows alone)");
}

void check_movable(const at::Tensor& tensor, Collective collective, const char* operator_name) {
    check_device(tensor, operator_name);
    element_type(tensor, collective, operator_name);
}

at::Tensor apply_collective(Collective collective, const at::Tensor& input) {
    check_device(input, operator_name(collective));
    const ElementType type = element_type(input, collective, operator_name(collective));
    if (collective == Collective::SystemSum) return apply_to_values(input, type);
    return apply_to_rows(collective, input, type);
}

at::Tensor start_collective(Collective collective, const at::Tensor& input) {
    const HaloMove move = halo_move(collective);
    check_device(input, operator_name(collective));
    const ElementType type = element_type(input, collective, operator_name(collective));
    at::Tensor under_way = rows_to_change(collective, input);
    HaloExchange* exchange = current_exchange();
    if (exchange != nullptr) exchange->start(move, row_block(under_way, under_way.size(0), type));
    return under_way;
}

void finish_collective(Collective collective, const at::Tensor& under_way) {
    const HaloMove move = halo_move(collective);
    const ElementType type = element_type(under_way, collective, operator_name(collective));
    HaloExchange* exchange = current_exchange();
    if (exchange != nullptr) exchange->finish(move, row_block(under_way, under_way.size(0), type));
}

}  // namespace nvalchemi
