// SPDX-License-Identifier: GPL-2.0-only
// Copies and versions of the kernels library in one process. This program is not linked with it.
//
// What a process has registered stays, so each test runs its scenario in a fresh process that
// prints what it found.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <torch/library.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {
namespace {

namespace fs = std::filesystem;

const std::string kLibrary = NVALCHEMI_KERNELS_FILE;
const std::string kClient = NVALCHEMI_CLIENT_FILE;
const std::string kOtherVersion = NVALCHEMI_OTHER_VERSION_FILE;
const std::string kOtherClient = NVALCHEMI_OTHER_CLIENT_FILE;

void* open(const std::string& file, int scope = RTLD_LOCAL) {
    void* handle = dlopen(file.c_str(), RTLD_NOW | scope);
    if (handle == nullptr) {
        std::cerr << dlerror() << "\n";
        std::_Exit(1);
    }
    return handle;
}

template <typename Function>
Function* symbol(void* handle, const char* name) {
    return reinterpret_cast<Function*>(dlsym(handle, name));
}

/// Text of the error that client_register() of an open client meets.
std::string register_through(void* client) {
    return symbol<const char*()>(client, "client_register")();
}

/// A second copy of the library, of the same version.
std::string second_copy() {
    const fs::path copy = fs::path(NVALCHEMI_SCRATCH_DIR) / "libnvalchemi_kernels_copy.so";
    fs::copy_file(kLibrary, copy, fs::copy_options::update_existing);
    return copy;
}

std::string library_info() {
    torch::jit::Stack stack;
    c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::library_info", "")
        .callBoxed(stack);
    return stack.at(0).toStringRef();
}

std::string contents(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Counts the calls that reach it.
class CountingExchange final : public HaloExchange {
  public:
    std::int64_t owned_rows() const override { return 2; }
    std::int64_t total_rows() const override { return 2; }
    int ranks() const override { return 1; }
    void forward(const RowBlock&) override { ++calls; }
    void reverse(const RowBlock&) override { ++calls; }
    void system_sum(const RowBlock&) override { ++calls; }
    int calls = 0;
};

void call_halo_forward() {
    c10::Dispatcher::singleton()
        .findSchemaOrThrow("nvalchemi_lmp::halo_forward", "")
        .typed<at::Tensor(const at::Tensor&)>()
        .call(at::ones({2}));
}

/// Ends the process with what `scenario` returns on the error stream.
template <typename Scenario>
[[noreturn]] void report(const Scenario& scenario) {
    const std::string text = scenario();
    std::cerr << "[" << text << "]" << std::endl;
    std::_Exit(0);
}

#define EXPECT_REPORT(scenario, pattern)                    \
    ::testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_EXIT(report(scenario), ::testing::ExitedWithCode(0), pattern)

TEST(OperatorLibrary, RegistersWhenItIsOpened) {
    const auto scenario = [] {
        open(kLibrary);
        call_halo_forward();
        return library_info();
    };

    EXPECT_REPORT(scenario, "\\[[0-9.]+\\|/.*/libnvalchemi_kernels\\.so.*\\]");
}

TEST(OperatorLibrary, OpensAndRegistersAgainWithoutEffect) {
    const auto scenario = [] {
        open(kLibrary);
        open(kLibrary);
        void* client = open(kClient);
        return register_through(client) + register_through(client);
    };

    EXPECT_REPORT(scenario, "\\[\\]");
}

TEST(OperatorLibrary, ASecondCopyReusesTheFirst) {
    const std::string copy = second_copy();
    const auto scenario = [&] {
        open(kLibrary);
        void* second = open(copy);
        symbol<void()>(second, "_ZN9nvalchemi18register_operatorsEv")();
        return library_info();
    };

    EXPECT_REPORT(scenario, "/libnvalchemi_kernels\\.so");
}

TEST(OperatorLibrary, OperatorsSeeTheExchangeGivenToASecondCopy) {
    const std::string copy = second_copy();
    const auto scenario = [&] {
        open(kLibrary);
        void* second = open(copy);
        const auto current = symbol<HaloExchange*()>(second, "_ZN9nvalchemi16current_exchangeEv");
        CountingExchange exchange;
        void* scope[4] = {};
        // Constructor and destructor of the second copy's ExchangeScope.
        symbol<void(void*, HaloExchange&)>(
            second, "_ZN9nvalchemi13ExchangeScopeC1ERNS_12HaloExchangeE")(scope, exchange);
        const bool seen = current() == &exchange;
        call_halo_forward();
        symbol<void(void*)>(second, "_ZN9nvalchemi13ExchangeScopeD1Ev")(scope);
        call_halo_forward();
        return std::string(seen ? "seen " : "lost ") + std::to_string(exchange.calls);
    };

    EXPECT_REPORT(scenario, "\\[seen 1\\]");
}

TEST(OperatorLibrary, AnotherVersionIsRefusedNamingBothFiles) {
    const auto scenario = [](const std::string& first, const std::string& second) {
        return [=] {
            open(first);
            return register_through(open(second));
        };
    };

    EXPECT_REPORT(scenario(kLibrary, kOtherClient),
                  "\\[nvalchemi_lmp operators: got version 99\\.0\\.0 in "
                  "/.*other_version/libnvalchemi_kernels\\.so.*, expected version [0-9.]+ as in "
                  "/.*libnvalchemi_kernels\\.so.*, which this process loaded first \\(load one of "
                  "the two packages only\\)\\]");
    EXPECT_REPORT(scenario(kOtherVersion, kClient),
                  "got version [0-9.]+ in /.*libnvalchemi_kernels\\.so.*, expected version 99");
}

// Without versions in SONAME and symbols the client would quietly use the other version's code.
TEST(OperatorLibrary, AClientBindsToItsOwnVersionAlsoInTheGlobalScope) {
    const auto scenario = [] {
        open(kOtherVersion, RTLD_GLOBAL);
        return register_through(open(kClient, RTLD_GLOBAL));
    };

    EXPECT_REPORT(scenario, "expected version 99\\.0\\.0 as in");
}

TEST(OperatorLibrary, ANamespaceThatSomethingElseRegisteredIsRefused) {
    const auto scenario = [] {
        static torch::Library other(torch::Library::DEF, "nvalchemi_lmp", std::nullopt, "here", 1);
        other.def("halo_forward(Tensor rows) -> Tensor");
        return register_through(open(kClient));
    };

    EXPECT_REPORT(scenario,
                  "\\[nvalchemi_lmp operators: got a namespace that something other than this "
                  "package has registered, expected none before /.*libnvalchemi_kernels");
}

TEST(OperatorLibrary, SaysInItsFileForWhichTorchItWasBuilt) {
    const std::string mark =
        std::string("nvalchemi-kernels-built-for-torch=") + NVALCHEMI_TORCH_VERSION;

    EXPECT_NE(contents(kLibrary).find(mark + '\0'), std::string::npos) << mark;
}

TEST(OperatorLibrary, StaysWhenItIsClosed) {
    const auto scenario = [] {
        void* handle = open(kLibrary);
        // Torch's templates happen to keep such libraries too; ours must not depend on that.
        link_map* map = nullptr;
        dlinfo(handle, RTLD_DI_LINKMAP, &map);
        bool never_unloaded = false;
        for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_FLAGS_1) never_unloaded = entry->d_un.d_val & DF_1_NODELETE;
        }
        dlclose(handle);
        call_halo_forward();
        return std::string(never_unloaded ? "marked" : "unmarked");
    };

    EXPECT_REPORT(scenario, "\\[marked\\]");
}

}  // namespace
}  // namespace nvalchemi
