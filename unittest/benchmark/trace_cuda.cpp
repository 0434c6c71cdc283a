// SPDX-License-Identifier: GPL-2.0-only
// A library that CUDA loads into a program (CUDA_INJECTION64_PATH) and that writes one line for
// each call to the CUDA runtime or driver and for each kernel to the file
// $NVALCHEMI_TRACE.<process>:
//     R|D|K  start  end  correlation  name        (nanoseconds; K: kernel, on the GPU)
// A kernel and the call that launched it have the same correlation.
#include <cupti.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr std::size_t kBufferBytes = 8 << 20;
std::FILE* output = nullptr;

void write_call(char kind, const CUpti_ActivityAPI& call) {
    const char* name = nullptr;
    cuptiGetCallbackName(kind == 'R' ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                         call.cbid, &name);
    std::fprintf(output, "%c %llu %llu %u %s\n", kind, (unsigned long long)call.start,
                 (unsigned long long)call.end, call.correlationId, name ? name : "?");
}

void write(const CUpti_Activity& record) {
    if (record.kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        write_call('R', reinterpret_cast<const CUpti_ActivityAPI&>(record));
    if (record.kind == CUPTI_ACTIVITY_KIND_DRIVER)
        write_call('D', reinterpret_cast<const CUpti_ActivityAPI&>(record));
    if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
        std::fprintf(output, "K %llu %llu %u %s\n", (unsigned long long)kernel.start,
                     (unsigned long long)kernel.end, kernel.correlationId, kernel.name);
    }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *buffer = static_cast<std::uint8_t*>(std::malloc(kBufferBytes));
    *size = kBufferBytes;
    *records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t filled) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) write(*record);
    std::free(buffer);
}

void finish() {
    cuptiActivityFlushAll(1);
    std::fflush(output);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    const char* path = std::getenv("NVALCHEMI_TRACE");
    if (path == nullptr) return 0;
    output = std::fopen((std::string(path) + "." + std::to_string(getpid())).c_str(), "w");
    if (output == nullptr) return 0;
    cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    std::atexit(finish);
    return 1;
}
