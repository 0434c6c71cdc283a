// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_TORCH_RELEASE_HPP
#define NVALCHEMI_POTENTIALS_TORCH_RELEASE_HPP

#include <string>

namespace nvalchemi {

/// The version of the LibTorch in this process, such as "2.11.0+cpu"; "unknown" where it is not
/// told.
std::string running_torch_version();

/// Whether torch `written` is of a later release than `running`, by the first two numbers of the
/// versions: archives of a release are read by all that follow. False where one of them is none.
bool is_later_torch(const std::string& written, const std::string& running);

/// What to say of an archive that torch `written` has written: both versions and what to do where
/// that is later than the LibTorch of this process, else empty. Begins "written by torch".
std::string note_on_later_torch(const std::string& written);

}  // namespace nvalchemi

#endif
