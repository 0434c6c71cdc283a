// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/library_version.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace nvalchemi {

namespace {

/// Found in the file by who must know before the library is opened: under another torch its
/// initialisers could end the process.
[[gnu::used]] constexpr char kBuiltFor[] =
    "nvalchemi-kernels-built-for-torch=" NVALCHEMI_TORCH_VERSION;

}  // namespace

std::string library_version() { return NVALCHEMI_VERSION; }

std::string library_path() {
    // The address of a hidden object: an exported one could be that of another copy.
    static const char anchor = 0;
    Dl_info info{};
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return "(unknown file)";
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(info.dli_fname, error);
    return error ? std::string(info.dli_fname) : path.string();
}

}  // namespace nvalchemi
