// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_HALO_EXCHANGE_HPP
#define NVALCHEMI_KERNELS_HALO_EXCHANGE_HPP

#include <cstddef>
#include <cstdint>

#include "kernels/export.hpp"

namespace nvalchemi {

/// Element type of a block of rows.
enum class ElementType { Float32, Float64, Int32, Int64 };

constexpr std::size_t element_size(ElementType type) {
    return type == ElementType::Float32 || type == ElementType::Int32 ? 4 : 8;
}

/// A contiguous `(rows, width)` block in row-major order, owned by the caller.
struct RowBlock {
    void* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t width = 0;  ///< elements in a row
    ElementType type = ElementType::Float64;
    /// -1: host memory. Otherwise `data` is on this device, and torch's current stream there
    /// orders what was written before the call and what reads afterwards.
    int cuda_device = -1;

    std::size_t row_bytes() const { return static_cast<std::size_t>(width) * element_size(type); }
};

/// The two ways in which rows move between ranks.
enum class HaloMove { Forward, Reverse };

/// The port through which operators move rows between ranks. `kernels/` declares it, the LAMMPS
/// glue implements it over MPI, tests implement it in memory.
///
/// Rows `[0, owned_rows())` belong to this rank, rows `[owned_rows(), total_rows())` are halo
/// rows: copies of rows of an owner (which can be this rank).
///
///     rank 0:  a0 a1 | b0'      forward: b0' := b0, a1' := a1
///     rank 1:  b0 b1 | a1'      reverse: a1 += a1', a1' := 0;  b0 += b0', b0' := 0
///
/// Every call is collective over all ranks, also for a rank with no rows, and all ranks issue the
/// same sequence of calls. Implementations throw std::exception when a peer reports a failure.
class NVALCHEMI_KERNELS_EXPORT HaloExchange {
  public:
    virtual ~HaloExchange() = default;

    virtual std::int64_t owned_rows() const = 0;
    virtual std::int64_t total_rows() const = 0;
    /// Number of ranks (at least 1).
    virtual int ranks() const = 0;
    /// Number of this rank, from 0. No operator depends on it; a model may ask for it.
    virtual int rank() const { return 0; }

    /// Overwrite the halo rows of `rows` (total_rows() rows) with their owners' rows.
    virtual void forward(const RowBlock& rows) = 0;
    /// Add the halo rows of `rows` (total_rows() rows, floating point) to their owners' rows, in an
    /// order that depends on the decomposition alone, then zero them. The transpose of forward().
    virtual void reverse(const RowBlock& rows) = 0;
    /// Replace `values` (any number of rows, floating point) by their sum over all ranks.
    virtual void system_sum(const RowBlock& values) = 0;

    /// The two halves of forward() or reverse(). Between them the caller does other work, which
    /// neither writes `rows` nor reads its halo rows (after a forward) or anything of it (after a
    /// reverse), and makes no other call that is collective. Both get the same memory. An exchange
    /// that cannot go on by itself does everything in finish(), as here.
    virtual void start(HaloMove /*move*/, const RowBlock& /*rows*/) {}
    virtual void finish(HaloMove move, const RowBlock& rows) {
        move == HaloMove::Forward ? forward(rows) : reverse(rows);
    }
};

/// One process with no halo: every call is the identity.
class NVALCHEMI_KERNELS_EXPORT SerialExchange final : public HaloExchange {
  public:
    explicit SerialExchange(std::int64_t rows) : rows_(rows) {}
    std::int64_t owned_rows() const override { return rows_; }
    std::int64_t total_rows() const override { return rows_; }
    int ranks() const override { return 1; }
    void forward(const RowBlock&) override {}
    void reverse(const RowBlock&) override {}
    void system_sum(const RowBlock&) override {}

  private:
    std::int64_t rows_;
};

/// The exchange that operators use on the calling thread; nullptr outside of an ExchangeScope.
///
/// Autograd runs the backward pass of a CPU graph on the thread that asked for it, that of a CUDA
/// graph on threads of its own: whoever differentiates a CUDA graph turns torch's autograd
/// multithreading off around it. Operators refuse a backward pass that does not meet the exchange
/// of its forward pass.
NVALCHEMI_KERNELS_EXPORT HaloExchange* current_exchange();

/// Makes `exchange` the calling thread's current exchange for the lifetime of the scope, and the
/// previous one again afterwards. Operators must be registered before a scope is opened.
class NVALCHEMI_KERNELS_EXPORT ExchangeScope {
  public:
    explicit ExchangeScope(HaloExchange& exchange);
    ~ExchangeScope();
    ExchangeScope(const ExchangeScope&) = delete;
    ExchangeScope& operator=(const ExchangeScope&) = delete;

  private:
    HaloExchange* previous_;
};

}  // namespace nvalchemi

#endif
