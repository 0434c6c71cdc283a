// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/torch_release.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "potentials/internal_torch.hpp"

namespace nvalchemi {

namespace {

std::optional<std::pair<int, int>> release_of(const std::string& version) {
    std::pair<int, int> release;
    if (std::sscanf(version.c_str(), "%d.%d", &release.first, &release.second) != 2) return {};
    return release;
}

}  // namespace

/// The version beside the mapped library: LibTorch has no call that tells it.
std::string running_torch_version() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) == 0) return "unknown";
    const auto root = std::filesystem::path(info.dli_fname).parent_path().parent_path();
    std::string line;
    for (std::ifstream file(root / "version.py"); std::getline(file, line);)
        if (line.rfind("__version__ = '", 0) == 0) return line.substr(15, line.find('\'', 15) - 15);
    std::ifstream zip_layout(root / "build-version");
    return std::getline(zip_layout, line) ? line : "unknown";
}

bool is_later_torch(const std::string& written, const std::string& running) {
    const auto writer = release_of(written), reader = release_of(running);
    return writer && reader && *writer > *reader;
}

std::string note_on_later_torch(const std::string& written) {
    const auto running = running_torch_version();
    if (!is_later_torch(written, running)) return "";
    const auto [major, minor] = *release_of(running);
    return "written by torch " + written + ", later than the LibTorch " + running +
           " that runs; export it again with torch " + std::to_string(major) + "." +
           std::to_string(minor) + " or older, or build and run the plugin with LibTorch " +
           written;
}

}  // namespace nvalchemi
