// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_REGISTER_OPS_HPP
#define NVALCHEMI_KERNELS_REGISTER_OPS_HPP

#include "kernels/export.hpp"

namespace nvalchemi {

/// Register the operators of namespace `nvalchemi_lmp` once per process. A second call, or a second
/// copy of this library with the same version, reuses them; another version throws
/// std::runtime_error naming both files. Must run before an archive that uses them is loaded, and
/// before an ExchangeScope is opened. Loading the library does the same, but reports a failure only
/// as a torch warning.
NVALCHEMI_KERNELS_EXPORT void register_operators();

}  // namespace nvalchemi

#endif
