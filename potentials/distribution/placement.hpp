// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_DISTRIBUTION_PLACEMENT_HPP
#define NVALCHEMI_POTENTIALS_DISTRIBUTION_PLACEMENT_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "potentials/adapter_use.hpp"
#include "potentials/distribution/flat_program.hpp"

namespace nvalchemi {

/// What a dimension enumerates. Values from FIRST_DERIVED on are subsets or concatenations of
/// edges that the model makes (a mask, a permutation); values below zero are subsets of the rows.
using Space = int;
constexpr Space SPACE_NONE = 0;   ///< features, systems: the same extent on every rank
constexpr Space SPACE_NODE = 1;   ///< rows [owned | halo]
constexpr Space SPACE_EDGE = 2;   ///< edges, each on its receiver's rank
constexpr Space SPACE_OWNED = 3;  ///< owned rows alone
constexpr Space FIRST_DERIVED = 4;

inline bool is_row_subset(Space space) { return space < SPACE_NONE; }
inline bool is_edge_like(Space space) { return space == SPACE_EDGE || space >= FIRST_DERIVED; }

/// One dimension of a tensor: `factor` consecutive entries for each element of `space`.
struct Dim {
    Space space = SPACE_NONE;
    std::int64_t factor = 1;
    bool operator==(const Dim& other) const = default;
};

/// What an integer tensor's values mean, if they are used to address rows.
enum class Content {
    Data,           ///< numbers like any other
    EdgeIndex,      ///< such as the input edge_index: receivers and senders along `index_dim`
    Receiver,       ///< rows that own an edge, always owned
    Sender,         ///< any rows
    AnyRow,         ///< mixture of receivers and senders
    RowNumbers,     ///< arange over all rows
    OwnedNumbers,   ///< arange over owned rows
    System,         ///< system number of a row or edge
    EdgeSelection,  ///< positions in an edge dimension
    RowSelection,   ///< positions of a subset of the rows
};

/// What is known about a tensor, whatever the number of atoms.
struct TensorFacts {
    std::vector<Dim> dims;
    Content content = Content::Data;
    int index_dim = -1;    ///< of Content::EdgeIndex
    int receiver_at = -1;  ///< of Content::EdgeIndex: where receivers are along index_dim
    Space selects_from = SPACE_NONE;  ///< of a selection: whose positions they are
    bool starts_stale = false;        ///< an input whose halo rows differ from their owners' rows
    bool is_position = false;         ///< input positions: a halo row carries its image's shift
    Dim count;                        ///< a number of rows or edges: not data
    bool differentiable = false;      ///< depends on what is differentiated
    bool floating = false;
    bool exchangeable = false;  ///< of a type that the exchange moves
    torch::ScalarType dtype = torch::kFloat64;
    std::int64_t width = 1;  ///< elements per row, or elements if not placed on rows

    /// The dimension over rows or edges, -1 if none.
    int placed_dim() const {
        for (std::size_t dim = 0; dim < dims.size(); ++dim)
            if (dims[dim].space != SPACE_NONE) return static_cast<int>(dim);
        return -1;
    }
    Space space() const {
        const int dim = placed_dim();
        return dim < 0 ? SPACE_NONE : dims[dim].space;
    }
    /// Over rows that have a state: all of them, or a subset.
    bool on_rows() const { return space() == SPACE_NODE || is_row_subset(space()); }
    bool on_all_rows() const { return space() == SPACE_NODE; }
};

/// How values of kind P (partial: the truth is the sum over ranks) may enter an operator.
enum class PartialUse {
    Refused,         ///< not linear: the sum over ranks must be taken before
    Passthrough,     ///< linear in this one operand (reshape, negate)
    Additive,        ///< all tensor operands must be partial
    Multiplicative,  ///< exactly one operand may be partial
    FirstOnly,       ///< linear in the first operand alone (division)
};

/// What an instruction means for halo rows and system values.
struct Effect {
    enum class Rows {
        Join,      ///< a halo row of the result is as good as the worst operand's
        Stale,     ///< sums over receivers: halo rows of the result mean nothing
        Complete,  ///< the result is right on every row it has
    };
    Rows rows = Rows::Join;
    std::vector<Slot> reads_any_row;  ///< operands addressed by sender: must be fresh
    bool makes_partial = false;       ///< a system value summed over this rank's rows or edges
    bool makes_replicated = false;    ///< a collective sum
    bool ignores_values = false;      ///< its result depends on shapes and dtypes alone
    PartialUse partial_use = PartialUse::Refused;
    bool differentiates = false;  ///< aten::grad: `inputs[0]` lists the scalars
    bool is_exchange = false;     ///< takes and returns the order token last
    bool corrects = false;        ///< folds sums over senders into their owners
    bool must_run = false;        ///< not for its result
    Slot mutates = NO_SLOT;
    bool target_differentiable = false;  ///< what is mutated carries a gradient before that
};

/// A program with what the analysis knows about it.
struct TracedProgram {
    FlatProgram program;
    std::vector<Effect> effects;     ///< one for each instruction
    std::vector<TensorFacts> facts;  ///< one for each slot
    std::vector<int> alias_set;      ///< slots that share storage have the same number
    bool folded_rows = true;
    bool varies_composition = false;  ///< the self-test must try systems of one element
    std::string rounds_at;  ///< the first call whose differentiated result is float32; empty: none
    std::vector<AdapterUse> adapter_uses;  ///< what the spec's adapters apply to
};

}  // namespace nvalchemi

#endif
