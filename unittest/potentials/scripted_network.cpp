// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/potentials/scripted_network.hpp"

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/script.h>

#include <sstream>

namespace nvalchemi {

namespace {

torch::Tensor numbers(std::int64_t rows, std::int64_t columns, double phase) {
    const auto count = torch::arange(rows * columns, torch::kFloat64);
    return (count * 1.7 + phase).sin().mul(0.7).reshape({rows, columns});
}

/// `ops.namespace`, as torch.ops is not known to text that is compiled without Python.
struct OperatorNamespaces : torch::jit::SugaredValue {
    std::string kind() const override { return "ops"; }
    std::shared_ptr<SugaredValue> attr(const torch::jit::SourceRange&, torch::jit::GraphFunction&,
                                       const std::string& field) override {
        return std::make_shared<torch::jit::BuiltinModule>(field);
    }
};

struct NamesOfTests : torch::jit::NativeResolver {
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& function,
        const torch::jit::SourceRange& place) override {
        if (name == "ops") return std::make_shared<OperatorNamespaces>();
        const auto own = functions.find(name);
        if (own != functions.end()) return std::make_shared<torch::jit::FunctionValue>(own->second);
        return NativeResolver::resolveValue(name, function, place);
    }
    std::map<std::string, torch::jit::StrongFunctionPtr> functions;
};

}  // namespace

std::string scripted_archive(const std::string& methods) {
    return scripted_archive(ScriptedModel{methods, {}, {}});
}

std::string scripted_archive(const ScriptedModel& model) {
    torch::jit::Module module("ScriptedNetwork");
    module.register_parameter("w", numbers(4, 4, 0.3), false);
    module.register_parameter("u", numbers(3, 4, 1.1), false);
    module.register_parameter("e", numbers(3, 4, 2.9), false);
    module.register_buffer("rc", torch::full({}, 5.0, torch::kFloat64));
    module.register_attribute("training", c10::BoolType::get(), false);
    const auto unit = module._ivalue()->compilation_unit();
    const auto resolver = std::make_shared<NamesOfTests>();
    for (const auto& [package, text] : model.functions) {
        const auto defined =
            unit->define(c10::QualifiedName("__torch__." + package), text, resolver, nullptr);
        for (auto* function : defined)
            resolver->functions.emplace(function->name(),
                                        torch::jit::StrongFunctionPtr(unit, function));
    }
    for (const auto& part : model.parts) {
        torch::jit::Module submodule("__torch__." + part.class_name, unit);
        submodule.register_attribute("training", c10::BoolType::get(), false);
        submodule.define(part.methods, resolver);
        module.register_module(part.attribute, submodule);
    }
    module.define(model.methods, resolver);
    std::ostringstream stream;
    module.save(stream);
    return stream.str();
}

std::string scripted_card(const std::string& extra_inputs, const std::string& more) {
    return R"card({"format": "nvalchemi-model", "format_version": 1, "name": "scripted",
 "family": "test", "cutoff": 5.0, "units": {"length": "Angstrom", "energy": "eV"},
 "dtype": "float64", "species": ["O", "Na", "Cl"], "species_index": [0, 1, 2],
 "forward": {"style": "dict", "arguments": []},
 "inputs": {"types": {"role": "species_index"}, "edge_index": {"role": "edge_index"},
            "edge_vec": {"role": "edge_vectors"})card" +
           extra_inputs + R"card(},
 "edges": {"list": "full", "receiver_row": 0, "sender_row": 1}, "rows": "folded",
 "outputs": {"energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
 "forces": "edge_vectors", "ops": [])card" +
           more + "}";
}

std::string message_network(const std::string& body) {
    return R"(
def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    edge_index = data['edge_index']
    i = edge_index[0]
    j = edge_index[1]
    vec = data['edge_vec']
    r = torch.linalg_vector_norm(vec, dim=-1)
    x = (r / self.rc).clamp(max=1.0)
    fc = ((1.0 - x * x) ** 3).unsqueeze(-1)
    m = torch.tanh(vec @ self.u) * fc
    h = self.e[data['types']]
    n = h.size(0)
)" + body + R"(
    return {'energies': torch.tanh(h).sum(1) * 0.5}
)";
}

}  // namespace nvalchemi
