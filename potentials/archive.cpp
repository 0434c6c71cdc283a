// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/archive.hpp"

#include <caffe2/serialize/inline_container.h>
#include <dlfcn.h>

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "potentials/session.hpp"
#include "potentials/torch_release.hpp"
#include "potentials/zip_directory.hpp"

namespace nvalchemi {

namespace {

constexpr const char* kCardRecord = "extra/nvalchemi.json";

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

/// The torch that wrote an archive, as its embedded card says; empty where none says so. For
/// archives that cannot be loaded.
std::string writer_of(const std::string& archive) {
    const std::string ending = std::string("/") + kCardRecord;
    try {
        for (const auto& entry : read_zip_directory(archive)) {
            if (entry.compressed || !entry.name.ends_with(ending)) continue;
            return nlohmann::json::parse(entry.content).value("torch_version", "");
        }
    } catch (const std::exception&) {
        return "";  // what is wrong is said already
    }
    return "";
}

/// A sentence on an archive of a torch that is later than what runs; else empty.
std::string version_sentence(const std::string& archive, const std::string& what) {
    const auto note = note_on_later_torch(writer_of(archive));
    if (!note.empty()) return ". The archive was " + note;
    if (what.find("maximum supported version") == what.npos) return "";
    return ". The archive was written by a later torch than the LibTorch " +
           running_torch_version() +
           " that runs; export it again with a torch of this version or older";
}

[[noreturn]] void throw_unreadable(const std::string& archive, const std::string& path,
                                   const std::string& what) {
    const auto versions = version_sentence(archive, what);
    const auto at = what.find("Unknown builtin op: ");
    if (at != std::string::npos) {
        const auto begin = at + std::string("Unknown builtin op: ").size();
        const auto end = what.find_first_of(".\n ", begin);
        const std::string op = what.substr(begin, end - begin);
        throw ModelError(path + ": the model calls the torch operator '" + op +
                         "', which is not registered; name the library that provides it in the "
                         "card's \"ops\" list, as a path or a library name" +
                         versions);
    }
    throw ModelError(path +
                     ": got a file that LibTorch cannot load, expected a TorchScript archive "
                     "made by torch.jit.save: " +
                     brief(what) + versions);
}

/// Operators by which a network could read or write files. Apart from the libraries that a card
/// names, a model has no other way to act on the machine that runs it.
constexpr const char* kFileOperators[] = {"from_file", "save"};

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
    for (auto at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
        const auto end = at + word.size();
        const bool begins = at == 0 || !is_of_word(text[at - 1]);
        if (begins && (end == text.size() || !is_of_word(text[end]))) return at;
    }
    return text.npos;
}

/// Whether a getattr(x, "name") spells its name in another way than LibTorch writes it, in which it
/// could be one of those above.
bool hides_a_name(std::string_view code) {
    const std::string_view getattr = "getattr";
    for (auto at = find_word(code, getattr); at != code.npos;
         at = find_word(code, getattr, at + 1)) {
        const auto quote = code.find_first_of("\"'#", at);
        if (quote == code.npos || code[quote] != '"') return true;
        // a name without an escape is what it looks like, such as "NN-0"
        const auto end = code.find_first_of("\"\\\n", quote + 1);
        if (end == code.npos || code.substr(end, 2) != "\")") return true;
    }
    return false;
}

bool is_code(const std::string& name) {
    return name.find("/code/") != name.npos && name.size() > 3 &&
           name.compare(name.size() - 3, 3, ".py") == 0;
}

void check_code(const std::string& path, const std::string& name, std::string_view code) {
    std::string found = hides_a_name(code) ? "getattr" : "";
    for (const char* const word : kFileOperators)
        if (find_word(code, word) != code.npos) found = word;
    if (!found.empty())
        throw ModelError(path + ": got '" + found + "' in the model's code (" + name +
                         "), expected none: it serves to read or write files, which a potential "
                         "has no need to. Give what is named so another name, and do not use "
                         "archives from sources that you do not trust");
}

/// Code, unpacked and compared with its checksum.
void check_packed_files(const std::string& archive, const std::string& path,
                        const std::vector<ZipEntry>& entries) {
    std::istringstream stream(archive);
    caffe2::serialize::PyTorchStreamReader reader(&stream);
    for (const auto& entry : entries) {
        if (!entry.compressed) {
            if (is_code(entry.name)) check_code(path, entry.name, entry.content);
            continue;
        }
        const auto [data, size] = reader.getRecord(entry.name.substr(entry.name.find('/') + 1));
        const std::string_view content(static_cast<const char*>(data.get()), size);
        if (zip_checksum(content) != entry.checksum)
            throw std::runtime_error("damaged zip archive: " + entry.name +
                                     ": its content does not have its checksum. Copy or export "
                                     "it again");
        if (is_code(entry.name)) check_code(path, entry.name, content);
    }
}

/// Before LibTorch sees the archive: loading one may run a part of its code.
void check_archive(const std::string& archive, const std::string& path) {
    if (archive.compare(0, 4, "PK\x03\x04") != 0)
        throw ModelError(path + ": got a file of " + std::to_string(archive.size()) +
                         " bytes that is no zip archive, expected a TorchScript archive made by "
                         "torch.jit.save");
    try {
        check_packed_files(archive, path, read_zip_directory(archive));
    } catch (const ModelError&) {
        throw;
    } catch (const std::exception& error) {
        throw_unreadable(archive, path, error.what());
    }
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
    check_archive(archive, path);
    std::istringstream stream(archive);
    try {
        auto module = torch::jit::load(stream, device);
        module.eval();
        // forces are derivatives with respect to atoms: nothing is kept for those of weights
        for (auto parameter : module.parameters()) parameter.set_requires_grad(false);
        return module;
    } catch (const std::exception& error) {
        throw_unreadable(archive, path, error.what());
    }
}

std::optional<std::string> read_embedded_card(const std::string& archive, const std::string& path) {
    check_archive(archive, path);
    std::istringstream stream(archive);
    try {
        // Not by torch::jit::load: the card names operator libraries that must be loaded before.
        caffe2::serialize::PyTorchStreamReader reader(&stream);
        if (!reader.hasRecord(kCardRecord)) return std::nullopt;
        const auto [data, size] = reader.getRecord(kCardRecord);
        return std::string(static_cast<const char*>(data.get()), size);
    } catch (const std::exception& error) {
        throw_unreadable(archive, path, error.what());
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
