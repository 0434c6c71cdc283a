// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_FORMAT_DOUBTS_HPP
#define NVALCHEMI_SPEC_FORMAT_DOUBTS_HPP

#include <string>
#include <vector>

#include "spec/read_options.hpp"

namespace nvalchemi {

class JsonCursor;

/// Decides what becomes of a doubtful declaration, one that the Python package accepts: in strict
/// mode it is an error, in lenient mode a warning.
class Doubts {
  public:
    explicit Doubts(const ReadOptions& options) : options_(options) {}

    /// Strict: throw SpecError with `problem`. Lenient: append a warning with `problem` and what is
    /// done instead, and return.
    void raise(const JsonCursor& place, const std::string& problem,
               const std::string& consequence) const;
    void raise(const std::string& document, const std::string& pointer, const std::string& problem,
               const std::string& consequence) const;

    /// Append a warning in either mode: the declaration is valid and kept, but has no effect.
    void note(const JsonCursor& place, const std::string& text) const;

    /// Raise a doubt for each key of `object` that is not in `known`.
    void raise_unknown_keys(const JsonCursor& object, const std::vector<std::string>& known) const;

  private:
    void warn(const std::string& text) const;

    ReadOptions options_;
};

}  // namespace nvalchemi

#endif
