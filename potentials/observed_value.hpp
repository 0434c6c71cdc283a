// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_OBSERVED_VALUE_HPP
#define NVALCHEMI_POTENTIALS_OBSERVED_VALUE_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace nvalchemi {

/// An operator call of a distributed program, as a person knows it.
struct OperatorCall {
    std::string op;      ///< "aten::index_add"
    std::string source;  ///< "file.py:line" of the model
    std::string module;  ///< dotted path of the module that was executing
};

/// What one rank's run of a distributed program holds after one of its calls, reduced to two
/// numbers a row: a fixed linear function of the row's elements, which tells different rows apart,
/// and the sum of their absolute values, which says what rounding to expect.
struct ObservedValue {
    std::size_t call = 0;            ///< position in Session::operator_calls()
    std::size_t output = 0;          ///< of the call
    bool per_row = false;            ///< else of the whole system: one "row"
    std::vector<double> projection;  ///< (n_owned,) or (1,)
    std::vector<double> magnitude;   ///< the same shape
};

using ValueObserver = std::function<void(const ObservedValue&)>;

/// A call of an operator of neither torch nor this package that saw rows of atoms.
struct ForeignCall {
    std::string op, source;
    bool covered = false;  ///< an adapter of the spec says what it does
};

}  // namespace nvalchemi

#endif
