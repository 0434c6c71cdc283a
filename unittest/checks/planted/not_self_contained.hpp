// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_NOT_SELF_CONTAINED_HPP
#define NVALCHEMI_UNITTEST_NOT_SELF_CONTAINED_HPP

namespace nvalchemi {

/// Uses std::string without including <string>: the header check must refuse it.
std::string never_defined();

}  // namespace nvalchemi

#endif
