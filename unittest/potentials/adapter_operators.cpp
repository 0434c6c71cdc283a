// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/potentials/adapter_operators.hpp"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace {

using at::Tensor;

Tensor push(const Tensor& rows, const Tensor& receiver, const Tensor& sender, const Tensor& m) {
    return at::zeros_like(rows).index_add(0, sender, rows.index_select(0, receiver) * m);
}

Tensor pull(const Tensor& rows, const Tensor& receiver, const Tensor& sender, const Tensor& m) {
    return at::zeros_like(rows).index_add(0, receiver, rows.index_select(0, sender) * m);
}

Tensor total(const Tensor& rows) { return rows.sum(0); }

Tensor gate(const Tensor& rows) { return rows * at::sigmoid(rows.sum(1, true)); }

}  // namespace

void nvalchemi::register_adapter_operators() {
    static const auto* const library = [] {
        auto* own = new torch::Library(torch::Library::DEF, "adaptertest", std::nullopt, __FILE__,
                                       __LINE__);
        own->def("push(Tensor rows, Tensor receiver, Tensor sender, Tensor m) -> Tensor", &push);
        own->def("pull(Tensor rows, Tensor receiver, Tensor sender, Tensor m) -> Tensor", &pull);
        own->def("total(Tensor rows) -> Tensor", &total);
        own->def("gate(Tensor rows) -> Tensor", &gate);
        return own;
    }();
    static_cast<void>(library);
}
