// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_READ_OPTIONS_HPP
#define NVALCHEMI_SPEC_READ_OPTIONS_HPP

#include <string>
#include <vector>

namespace nvalchemi {

/// How a spec is read.
struct ReadOptions {
    /// Accept what the Python package accepts although it is doubtful: one warning each. What that
    /// package refuses, and what is not JSON, is refused all the same.
    bool lenient = false;
    /// Where warnings are appended, in the order of reading; nowhere if null. In strict mode these
    /// are notes on declarations that are valid but have no effect.
    std::vector<std::string>* warnings = nullptr;
};

}  // namespace nvalchemi

#endif
