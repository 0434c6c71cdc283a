// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/graph_recorder.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

using MakeRecorder = GraphRecorder* (*)(int);

MakeRecorder find_factory() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&open_graph_recorder), &info) == 0) return nullptr;
    const auto path =
        std::filesystem::path(info.dli_fname).parent_path() / "libnvalchemi_graphs.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    return reinterpret_cast<MakeRecorder>(dlsym(library, "nvalchemi_make_graph_recorder"));
}

}  // namespace

std::unique_ptr<GraphRecorder> open_graph_recorder(int cuda_device) {
    static const MakeRecorder make = find_factory();
    if (make == nullptr)
        throw ModelError(
            "this package was built without CUDA, or for another LibTorch or CUDA "
            "(libnvalchemi_graphs.so)");
    return std::unique_ptr<GraphRecorder>(make(cuda_device));
}

}  // namespace nvalchemi
