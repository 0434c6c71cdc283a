// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/gpu_program.hpp"

#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

namespace nvalchemi {

namespace {

// The little of CUDA's two C interfaces that is needed here, as their documentation declares it.
// Their headers are not, as a machine that builds this library need not have them.
using Status = int;  // 0: success
using Program = struct OpaqueProgram*;

struct CompilerInterface {
    Status (*create)(Program*, const char* source, const char* name, int headers,
                     const char* const* texts, const char* const* names);
    Status (*compile)(Program, int options, const char* const* texts);
    Status (*destroy)(Program*);
    Status (*log_size)(Program, std::size_t*);
    Status (*log)(Program, char*);
    Status (*binary_size)(Program, std::size_t*);
    Status (*binary)(Program, char*);
    Status (*ptx_size)(Program, std::size_t*);
    Status (*ptx)(Program, char*);
    Status (*count_architectures)(int*);
    Status (*architectures)(int*);
    const char* (*error_text)(Status);
};

struct DriverInterface {
    Status (*load_module)(void** module, const void* code);
    Status (*find_function)(void** function, void* module, const char* name);
    Status (*launch)(void* function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                     unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream,
                     void** arguments, void** extra);
    Status (*device_attribute)(int* value, int attribute, int device);
    Status (*error_text)(Status, const char**);
};

// enumerators of CUdevice_attribute
constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;

template <typename Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    TORCH_CHECK(function, "kernels for a GPU: ", name, " is not in LibTorch's compiler library");
}

/// LibTorch's door to the compiler and the driver that it was made for; dlsym sees what it needs.
void* cuda_library() {
    static void* const library = [] {
        Dl_info info;
        TORCH_CHECK(dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) != 0,
                    "kernels for a GPU: LibTorch was not found");
        const auto path =
            std::filesystem::path(info.dli_fname).parent_path() / "libcaffe2_nvrtc.so";
        void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        TORCH_CHECK(opened, "kernels for a GPU: ", dlerror(),
                    " (LibTorch's library for compiling CUDA; expected one beside ", info.dli_fname,
                    ". Install a LibTorch for CUDA that is complete)");
        return opened;
    }();
    return library;
}

const CompilerInterface& compiler() {
    static const CompilerInterface interface = [] {
        void* const library = cuda_library();
        CompilerInterface found{};
        find(library, "nvrtcCreateProgram", found.create);
        find(library, "nvrtcCompileProgram", found.compile);
        find(library, "nvrtcDestroyProgram", found.destroy);
        find(library, "nvrtcGetProgramLogSize", found.log_size);
        find(library, "nvrtcGetProgramLog", found.log);
        find(library, "nvrtcGetCUBINSize", found.binary_size);
        find(library, "nvrtcGetCUBIN", found.binary);
        find(library, "nvrtcGetPTXSize", found.ptx_size);
        find(library, "nvrtcGetPTX", found.ptx);
        find(library, "nvrtcGetNumSupportedArchs", found.count_architectures);
        find(library, "nvrtcGetSupportedArchs", found.architectures);
        find(library, "nvrtcGetErrorString", found.error_text);
        return found;
    }();
    return interface;
}

const DriverInterface& driver() {
    static const DriverInterface interface = [] {
        void* const library = cuda_library();
        DriverInterface found{};
        find(library, "cuModuleLoadData", found.load_module);
        find(library, "cuModuleGetFunction", found.find_function);
        find(library, "cuLaunchKernel", found.launch);
        find(library, "cuDeviceGetAttribute", found.device_attribute);
        find(library, "cuGetErrorString", found.error_text);
        return found;
    }();
    return interface;
}

void check_driver(Status status, const std::string& what) {
    if (status == 0) return;
    const char* text = nullptr;
    driver().error_text(status, &text);
    TORCH_CHECK(false, "kernels for a GPU: ", what, ": ", text ? text : "unknown error", " (",
                status, ")");
}

/// The newest architecture that both the compiler and the GPU know.
int architecture_for(int major, int minor) {
    int count = 0;
    compiler().count_architectures(&count);
    std::vector<int> known(std::max(count, 1), 0);
    compiler().architectures(known.data());
    int best = 0;
    for (const int one : known)
        if (one <= 10 * major + minor) best = std::max(best, one);
    TORCH_CHECK(best > 0, "kernels for a GPU: got a GPU of compute capability ", major, ".", minor,
                ", which LibTorch's compiler no longer knows (the oldest is ",
                *std::min_element(known.begin(), known.end()), ")");
    return best;
}

}  // namespace

std::string compile_for_gpu(const std::string& source, int major, int minor) {
    const auto& nvrtc = compiler();
    Program program = nullptr;
    auto status = nvrtc.create(&program, source.c_str(), "nvalchemi.cu", 0, nullptr, nullptr);
    TORCH_CHECK(status == 0, "kernels for a GPU: ", nvrtc.error_text(status));
    const int architecture = architecture_for(major, minor);
    // a binary runs on later minor versions too; for another major one the driver translates PTX
    const bool binary = architecture / 10 == major;
    const auto option = (binary ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") +
                        std::to_string(architecture);
    const char* options[] = {option.c_str(), "--std=c++17"};
    status = nvrtc.compile(program, 2, options);
    std::size_t size = 0;
    if (status != 0) {
        nvrtc.log_size(program, &size);
        std::string log(size, ' ');
        nvrtc.log(program, log.data());
        const std::string text = nvrtc.error_text(status);
        nvrtc.destroy(&program);
        TORCH_CHECK(false, "kernels for a GPU: ", text, "\n", log);
    }
    (binary ? nvrtc.binary_size : nvrtc.ptx_size)(program, &size);
    std::string code(size, '\0');
    (binary ? nvrtc.binary : nvrtc.ptx)(program, code.data());
    nvrtc.destroy(&program);
    return code;
}

GpuProgram::GpuProgram(const std::string& source, c10::Device device) : device_(device) {
    int major = 0, minor = 0;
    check_driver(driver().device_attribute(&major, kComputeCapabilityMajor, device.index()),
                 "asking for the compute capability");
    check_driver(driver().device_attribute(&minor, kComputeCapabilityMinor, device.index()),
                 "asking for the compute capability");
    const auto code = compile_for_gpu(source, major, minor);
    check_driver(driver().load_module(&module_, code.c_str()), "loading compiled code");
}

void GpuProgram::launch(const std::string& name, std::int64_t blocks, int threads,
                        std::vector<void*> arguments) const {
    if (blocks == 0) return;
    TORCH_CHECK(blocks < (std::int64_t{1} << 31), "kernels for a GPU: ", name, ": got ", blocks,
                " blocks, expected fewer than 2^31; use more GPUs");
    void* function = nullptr;
    check_driver(driver().find_function(&function, module_, name.c_str()), name);
    const auto stream = c10::impl::getDeviceGuardImpl(device_.type())->getStream(device_);
    check_driver(driver().launch(function, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0,
                                 stream.native_handle(), arguments.data(), nullptr),
                 name);
}

}  // namespace nvalchemi
