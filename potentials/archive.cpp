// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/archive.hpp"

#include <caffe2/serialize/inline_container.h>
#include <dlfcn.h>

#include <filesystem>

#include <sstream>

#include "potentials/session.hpp"

namespace nvalchemi {

namespace {

/// First lines of a torch error: the rest is a stack trace of torch itself.
std::string brief(const std::string& what) {
    std::istringstream lines(what);
    std::string line, text;
    for (int count = 0; count < 6 && std::getline(lines, line); ++count) {
        if (line.rfind("Exception raised from", 0) == 0) break;
        if (!line.empty()) text += (text.empty() ? "" : " ") + line;
    }
    return text;
}

void require_zip(const std::string& archive, const std::string& path) {
    if (archive.compare(0, 4, "PK\x03\x04") == 0) return;
    throw ModelError(path + ": got a file of " + std::to_string(archive.size()) +
                     " bytes that is no zip archive, expected a TorchScript archive made by "
                     "torch.jit.save");
}

[[noreturn]] void throw_unreadable(const std::string& path, const std::string& what) {
    const auto at = what.find("Unknown builtin op: ");
    if (at != std::string::npos) {
        const auto begin = at + std::string("Unknown builtin op: ").size();
        const auto end = what.find_first_of(".\n ", begin);
        const std::string op = what.substr(begin, end - begin);
        throw ModelError(path + ": the model calls the torch operator '" + op +
                         "', which is not registered; name the library that provides it in the "
                         "card's \"ops\" list, as a path or a library name");
    }
    throw ModelError(path +
                     ": got a file that LibTorch cannot load, expected a TorchScript archive "
                     "made by torch.jit.save: " +
                     brief(what));
}

int gpu_count() { return static_cast<int>(at::detail::getCUDAHooks().deviceCount()); }

}  // namespace

void load_operator_libraries(const std::vector<std::string>& libraries, const std::string& folder) {
    for (const auto& library : libraries) {
        std::error_code none;
        const auto beside = std::filesystem::path(folder) / library;
        const bool is_beside = !folder.empty() && std::filesystem::exists(beside, none);
        const auto path = is_beside ? std::filesystem::absolute(beside).string() : library;
        if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
            const char* reason = dlerror();
            throw ModelError(
                "operator library '" + library + "' cannot be loaded (" +
                (reason ? reason : "no reason given") +
                "); put it beside the archive, give its full path in the card's \"ops\" "
                "list or with the keyword ops of pair_style, or put its folder on "
                "LD_LIBRARY_PATH");
        }
    }
}

torch::jit::Module load_module(const std::string& archive, const std::string& path,
                               const torch::Device& device) {
    require_zip(archive, path);
    std::istringstream stream(archive);
    try {
        auto module = torch::jit::load(stream, device);
        module.eval();
        // forces are derivatives with respect to atoms: nothing is kept for those of weights
        for (auto parameter : module.parameters()) parameter.set_requires_grad(false);
        return module;
    } catch (const std::exception& error) {
        throw_unreadable(path, error.what());
    }
}

std::optional<std::string> read_embedded_card(const std::string& archive, const std::string& path) {
    require_zip(archive, path);
    std::istringstream stream(archive);
    try {
        // Not by torch::jit::load: the card names operator libraries that must be loaded before.
        caffe2::serialize::PyTorchStreamReader reader(&stream);
        const std::string record = "extra/nvalchemi.json";
        if (!reader.hasRecord(record)) return std::nullopt;
        const auto [data, size] = reader.getRecord(record);
        return std::string(static_cast<const char*>(data.get()), size);
    } catch (const std::exception& error) {
        throw_unreadable(path, error.what());
    }
}

torch::Device select_device(const std::string& name) {
    if (name == "cpu") return torch::kCPU;
    // libtorch_cuda registers the CUDA backend when it is mapped; a CPU-only machine lacks it.
    const bool has_library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr;
    const bool has_gpu = has_library && at::globalContext().hasCUDA() && gpu_count() > 0;
    if (name == "auto")
        return has_gpu ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
    if (!has_gpu)
        throw ModelError("device: got '" + name + "', but " +
                         (has_library ? "no usable NVIDIA GPU was found"
                                      : "LibTorch's CUDA library cannot be loaded") +
                         "; use 'device cpu' or 'device auto'");
    const torch::Device device =
        name == "cuda" ? torch::Device(torch::kCUDA, 0) : torch::Device(name);
    if (device.index() >= gpu_count())
        throw ModelError("device: got '" + name + "', but this process sees " +
                         std::to_string(gpu_count()) + " GPU(s), numbered from 0");
    return device;
}

}  // namespace nvalchemi
