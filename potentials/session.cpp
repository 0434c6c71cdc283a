// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/session.hpp"

#include <dlfcn.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "kernels/register_ops.hpp"
#include "potentials/archive.hpp"
#include "potentials/consolidation.hpp"
#include "potentials/model_inputs.hpp"

namespace nvalchemi {

namespace {

/// TorchScript code that calls torch.zeros without a dtype means the model's dtype.
class DefaultDtypeScope {
  public:
    explicit DefaultDtypeScope(torch::ScalarType dtype)
        : previous_(torch::get_default_dtype()) {
        torch::set_default_dtype(torch::scalarTypeToTypeMeta(dtype));
    }
    ~DefaultDtypeScope() { torch::set_default_dtype(previous_); }
    DefaultDtypeScope(const DefaultDtypeScope&) = delete;
    DefaultDtypeScope& operator=(const DefaultDtypeScope&) = delete;

  private:
    caffe2::TypeMeta previous_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ModelCard read_card(const std::string& archive, const SessionOptions& options) {
    if (options.card_text) return parse_model_card(*options.card_text, options.card_path);
    if (const auto text = read_embedded_card(archive, options.path))
        return parse_model_card(*text, options.path + ":nvalchemi.json");
    throw ModelError(options.path +
                     ": got an archive without a model card, expected the extra file "
                     "'nvalchemi.json' inside it or a file NAME.card.json beside it; "
                     "see the model card page of the documentation");
}

/// The version beside the mapped library: LibTorch has no call that tells it.
std::string running_torch_version() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) == 0) return "unknown";
    const auto root = std::filesystem::path(info.dli_fname).parent_path().parent_path();
    std::string line;
    for (std::ifstream file(root / "version.py"); std::getline(file, line);)
        if (line.rfind("__version__ = '", 0) == 0)
            return line.substr(15, line.find('\'', 15) - 15);
    std::ifstream zip_layout(root / "build-version");
    return std::getline(zip_layout, line) ? line : "unknown";
}

}  // namespace

struct Session::Impl {
    ModelCard card;
    torch::Device device = torch::kCPU;
    torch::jit::Module module;
    std::vector<ExchangeEvent> schedule;
};

Session::Session(const std::string& archive, const SessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
    register_operators();
    impl_->card = read_card(archive, options);
    if (options.spec) impl_->card.spec = options.spec;
    if (options.threads > 0) at::set_num_threads(options.threads);
    // The optimising executor recompiles for every shape and gains nothing on these models.
    torch::jit::setGraphExecutorOptimize(false);
    load_operator_libraries(impl_->card.operator_libraries);
    impl_->device = select_device(options.device);
    impl_->module = load_module(archive, options.path, impl_->device);
}

Session::~Session() = default;

const ModelCard& Session::card() const { return impl_->card; }

Evaluation Session::evaluate(const AtomGraph& graph, HaloExchange& exchange) {
    ExchangeScope scope(exchange);
    return evaluate_undecomposed(graph);
}

Evaluation Session::evaluate_undecomposed(const AtomGraph& graph) {
    const auto start = std::chrono::steady_clock::now();
    const DefaultDtypeScope dtype(model_dtype(impl_->card));
    try {
        const auto inputs = make_model_inputs(impl_->card, graph, impl_->device);
        const auto returned = impl_->module.forward(pack_arguments(impl_->card, inputs));
        auto result =
            consolidate(impl_->card, graph, inputs, pick_outputs(impl_->card, returned), {});
        result.seconds_model = seconds_since(start);
        return result;
    } catch (const c10::Error& error) {
        throw ModelError("model '" + impl_->card.name + "': " + error.what_without_backtrace());
    }
}

const std::vector<ExchangeEvent>& Session::schedule() const { return impl_->schedule; }
std::string Session::listing() const { return "no exchanges\n"; }
std::string Session::device_name() const { return impl_->device.str(); }
std::string Session::torch_version_built() { return TORCH_VERSION; }
std::string Session::torch_version_running() { return running_torch_version(); }

}  // namespace nvalchemi
