// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <map>
#include <unordered_set>

#include "potentials/distribution/operator_rules.hpp"

namespace nvalchemi::rules {

namespace {

void require_unplaced(const Call& call, const Dim& dim) {
    if (dim.space == SPACE_NONE) return;
    const std::string what = is_edge_like(dim.space) ? "edges" : "rows";
    TraceBuilder::refuse(call, "it contracts over all " + what +
                                   " (an adjacency or incidence "
                                   "matrix product, a product with one_hot(receivers)), but a rank "
                                   "sees its own part only; expected a gather by sender "
                                   "(h[sender]) and a sum over receivers (index_add)");
}

Dim merge(TraceBuilder&, const Call& call, const Dim& a, const Dim& b) {
    if (a.space == SPACE_NONE) return b;
    if (b.space != SPACE_NONE && !(a == b))
        TraceBuilder::refuse(call, "it combines two different sets of rows or edges");
    return a;
}

std::vector<Dim> matmul_dims(TraceBuilder& builder, const Call& call, std::vector<Dim> a,
                             std::vector<Dim> b) {
    const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
    if (vector_a) a.insert(a.begin(), Dim{});
    if (vector_b) b.push_back(Dim{});
    require_unplaced(call, a.back());
    require_unplaced(call, b[b.size() - 2]);
    const auto batch = std::max(a.size(), b.size()) - 2;
    std::vector<Dim> result(batch);
    for (std::size_t k = 0; k < batch; ++k) {
        const auto of = [&](const std::vector<Dim>& dims) {
            const auto own = dims.size() - 2;
            return k + own >= batch ? dims[k + own - batch] : Dim{};
        };
        result[k] = merge(builder, call, of(a), of(b));
    }
    if (!vector_a) result.push_back(a[a.size() - 2]);
    if (!vector_b) result.push_back(b.back());
    return result;
}

std::vector<Dim> einsum_dims(TraceBuilder& builder, const Call& call) {
    std::string equation = concrete(*call.arg("equation"), 0).toStringRef();
    std::erase(equation, ' ');
    const auto& tensors = call.arg("tensors")->items;
    const auto arrow = equation.find("->");
    std::map<char, Dim> letters;
    std::map<char, int> uses;
    std::size_t at = 0;
    for (const auto& tensor : tensors) {
        const auto dims = builder.facts(tensor).dims;
        std::size_t dim = 0;
        for (; at < equation.size() && std::isalpha(static_cast<unsigned char>(equation[at]));
             ++at, ++dim) {
            if (dim >= dims.size()) TraceBuilder::refuse(call, "its equation has too many letters");
            auto& known = letters[equation[at]];
            known = merge(builder, call, known, dims[dim]);
            ++uses[equation[at]];
        }
        if (dim != dims.size())
            TraceBuilder::refuse(call,
                                 "an ellipsis in its equation is not followed; name every "
                                 "dimension by a letter");
        ++at;  // comma or arrow
    }
    std::string output;
    if (arrow != std::string::npos) {
        output = equation.substr(arrow + 2);
    } else {
        for (const auto& [letter, count] : uses)
            if (count == 1) output += letter;
    }
    std::vector<Dim> result;
    for (const char letter : output) result.push_back(letters.at(letter));
    for (const auto& [letter, dim] : letters)
        if (output.find(letter) == std::string::npos) require_unplaced(call, dim);
    return result;
}

std::vector<Dim> tensordot_dims(TraceBuilder& builder, const Call& call) {
    std::vector<Dim> result;
    const auto keep = [&](const AbstractPtr& tensor, const AbstractPtr& contracted) {
        const auto dims = builder.facts(tensor).dims;
        std::vector<bool> gone(dims.size(), false);
        for (const auto& item : contracted->items) {
            const int dim = normalised(call, item->probe[0].toInt(), dims.size());
            gone[dim] = true;
            require_unplaced(call, dims[dim]);
        }
        for (std::size_t dim = 0; dim < dims.size(); ++dim)
            if (!gone[dim]) result.push_back(dims[dim]);
    };
    keep(call.args[0], call.args[2]);
    keep(call.args[1], call.args[3]);
    return result;
}

std::vector<Dim> linear_dims(TraceBuilder& builder, const Call& call) {
    auto dims = builder.facts(call.arg("input")).dims;
    const auto weight = builder.facts(call.arg("weight")).dims;
    require_unplaced(call, dims.back());
    require_unplaced(call, weight.back());
    dims.pop_back();
    if (weight.size() == 2) dims.push_back(weight[0]);
    return dims;
}

/// Operators that work along trailing dimensions and keep the shape of their first argument.
std::vector<Dim> trailing_dims(TraceBuilder& builder, const Call& call) {
    auto dims = builder.facts(call.args[0]).dims;
    std::size_t trailing = 2;
    if (call.base == "layer_norm") trailing = call.arg("normalized_shape")->items.size();
    if (call.base == "one_hot") trailing = 0;
    if (call.base == "batch_norm" || call.base == "instance_norm" || call.base == "group_norm") {
        if (call.flag("training", false) || call.flag("use_input_stats", false))
            require_unplaced(call, {SPACE_NODE, 1});
        trailing = dims.size() - 1;
    }
    for (std::size_t k = dims.size() - std::min(trailing, dims.size()); k < dims.size(); ++k)
        require_unplaced(call, dims[k]);
    if (call.base == "one_hot") {
        if (call.integer("num_classes", -1) < 0)
            TraceBuilder::refuse(call,
                                 "the number of classes is taken from data, which differ "
                                 "between ranks; give num_classes");
        dims.push_back({});
    }
    if (call.base == "linalg_det" || call.base == "det") dims.resize(dims.size() - 2);
    return dims;
}

bool is_trailing(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "layer_norm", "batch_norm", "instance_norm", "group_norm", "one_hot",
        "linalg_det", "det",        "linalg_inv",    "inverse",    "matrix_exp"};
    return known.count(base) > 0;
}

std::vector<Dim> result_dims(TraceBuilder& builder, const Call& call) {
    const auto dims = [&](std::size_t k) { return builder.facts(call.args[k]).dims; };
    if (is_trailing(call.base)) return trailing_dims(builder, call);
    if (call.base == "einsum") return einsum_dims(builder, call);
    if (call.base == "tensordot") return tensordot_dims(builder, call);
    if (call.base == "linear") return linear_dims(builder, call);
    if (call.base == "outer" || call.base == "ger") return {dims(0)[0], dims(1)[0]};
    if (call.base == "addmm" || call.base == "baddbmm" || call.base == "addbmm" ||
        call.base == "addmv")
        return matmul_dims(builder, call, dims(1), dims(2));
    return matmul_dims(builder, call, dims(0), dims(1));
}

bool has_ellipsis(const Call& call) {
    return call.base == "einsum" &&
           concrete(*call.arg("equation"), 0).toStringRef().find("...") != std::string::npos;
}

}  // namespace

bool is_contraction(const std::string& base) {
    static const std::unordered_set<std::string> known{
        "matmul", "mm",     "bmm",       "mv",     "dot",   "vdot", "addmm", "baddbmm",
        "addmv",  "einsum", "tensordot", "linear", "outer", "ger",  "inner"};
    return known.count(base) > 0 || is_trailing(base);
}

std::vector<AbstractPtr> apply_contraction(TraceBuilder& builder, Call& call) {
    require_data(builder, call);
    if (has_ellipsis(call))
        if (auto results = try_row_wise(builder, call)) return *results;
    const auto dims = result_dims(builder, call);
    call.effect.partial_use = is_trailing(call.base) || call.base == "linear"
                                  ? PartialUse::Refused
                                  : PartialUse::Multiplicative;
    auto results = builder.emit(call);
    place(builder, call, results[0], dims);
    follow_positions(builder, call, results[0]);
    return results;
}

}  // namespace nvalchemi::rules
