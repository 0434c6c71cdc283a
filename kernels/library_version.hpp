// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_LIBRARY_VERSION_HPP
#define NVALCHEMI_KERNELS_LIBRARY_VERSION_HPP

#include <string>

namespace nvalchemi {

/// Version of the package that this copy of the library belongs to.
std::string library_version();

/// Absolute path of the file that holds this copy of the library.
std::string library_path();

}  // namespace nvalchemi

#endif
