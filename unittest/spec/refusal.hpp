// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_REFUSAL_HPP
#define NVALCHEMI_UNITTEST_SPEC_REFUSAL_HPP

#include <string>

#include "spec/spec_error.hpp"

namespace nvalchemi::testing {

/// The text of the SpecError that `act` throws; "(accepted)" if it throws none. Any other
/// exception passes on and fails the test.
template <typename Act>
std::string refusal_of(const Act& act) {
    try {
        act();
    } catch (const SpecError& error) {
        return error.what();
    }
    return "(accepted)";
}

}  // namespace nvalchemi::testing

#endif
