// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/tensor_product_source.hpp"

#include <cstdio>
#include <set>
#include <vector>

namespace nvalchemi {

namespace {

std::int64_t warps_of(const TensorProductGroup& group) {
    return (group.multiplicity + kChannelsOfAWarp - 1) / kChannelsOfAWarp;
}

std::string text(std::int64_t number) { return std::to_string(number); }

std::string literal(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "T(%.17g)", value);
    return buffer;
}

/// Text of the kernels of a plan.
class Writer {
  public:
    explicit Writer(const TensorProductPlan& plan) : plan_(plan) {}

    std::string write(const std::string& scalar) {
        out_ = "typedef " + scalar + " T;\ntypedef long long I;\n";
        for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
            write_convolve(g);
            write_edge_gradients(g);
            write_row_gradient(g);
        }
        write_kernel("convolve",
                     "const I* others, const T* x, const T* filter, const T* weights, T* out",
                     "others, x, filter, weights, out");
        write_kernel("edge_gradients",
                     "const I* others, const T* x, const T* filter, const T* weights, "
                     "const T* grad, T* of_filter, T* of_weights, I edges",
                     "others, x, filter, weights, grad, of_filter, of_weights, edges");
        write_kernel("row_gradient",
                     "const I* others, const T* filter, const T* weights, const T* grad, T* of_x",
                     "others, filter, weights, grad, of_x");
        return std::move(out_);
    }

  private:
    void line(const std::string& words) { out_ += words + "\n"; }

    /// Which group a warp belongs to is the same for all of its lanes.
    void write_kernel(const std::string& name, const std::string& parameters,
                      const std::string& arguments) {
        line("extern \"C\" __global__ void " + name +
             "(I rows, I x_columns, I filter_columns, I weight_columns, const I* order, "
             "const I* begin, " +
             parameters + ") {");
        line("const I warp = (I(blockIdx.x) * blockDim.x + threadIdx.x) / 32;");
        line("const I row = warp / " + text(warps_of_a_row(plan_)) + ";");
        line("const I chunk = warp % " + text(warps_of_a_row(plan_)) + ";");
        line("if (row >= rows) return;");
        std::int64_t first = 0;
        for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
            const auto last = first + warps_of(plan_.groups[g]);
            line("if (chunk >= " + text(first) + " && chunk < " + text(last) + ") " + name +
                 text(g) + "(row, chunk, (chunk - " + text(first) +
                 ") * 32 + threadIdx.x % 32, x_columns, filter_columns, weight_columns, order, "
                 "begin, " +
                 arguments + ");");
            first = last;
        }
        line("}");
    }

    void open_function(const std::string& name, std::size_t g, const std::string& parameters) {
        line("static __device__ __forceinline__ void " + name + text(g) +
             "(I row, I chunk, I u, I x_columns, I filter_columns, I weight_columns, "
             "const I* __restrict__ order, const I* __restrict__ begin, " +
             parameters + ") {");
        line("const bool in = u < " + text(plan_.groups[g].multiplicity) + ";");
    }

    void open_edges() {
        line("const I last = begin[row + 1];");
        line("for (I n = begin[row]; n < last; ++n) {");
        line("const I e = order[n];");
        line("const T* fe = filter + e * filter_columns;");
        line("const T* we = weights + e * weight_columns + u;");
    }

    static std::set<std::int64_t> filter_columns(const TensorProductGroup& group) {
        std::set<std::int64_t> used;
        for (const auto& path : group.paths)
            for (std::int64_t j = 0; j < path.filter_size; ++j) used.insert(path.filter_begin + j);
        return used;
    }

    void load_filter(const TensorProductGroup& group) {
        for (const auto j : filter_columns(group))
            line("const T f" + text(j) + " = fe[" + text(j) + "];");
    }

    void load_x(const TensorProductGroup& group) {
        const auto size = text(group.x_size);
        line("const T* xe = x + others[e] * x_columns + " + text(group.x_begin) + " + u * " + size +
             ";");
        for (std::int64_t i = 0; i < group.x_size; ++i)
            line("const T x" + text(i) + " = in ? xe[" + text(i) + "] : T(0);");
    }

    void load_grad(const TensorProductGroup& group, const std::string& row) {
        line("const T* ge = grad + " + row + " * " + text(plan_.out_columns) + ";");
        for (std::size_t p = 0; p < group.paths.size(); ++p) {
            const auto& path = group.paths[p];
            for (std::int64_t k = 0; k < path.out_size; ++k)
                line("const T " + output(p, k) + " = in ? ge[" + text(path.out_begin + k) +
                     " + u * " + text(path.out_size) + "] : T(0);");
        }
    }

    static std::string output(std::size_t path, std::int64_t k) {
        return "o" + text(static_cast<std::int64_t>(path)) + "_" + text(k);
    }

    /// sum_j C[i, j, k] f[j]; empty where all coefficients are zero
    static std::string filter_sum(const TensorProductPath& path, std::int64_t i, std::int64_t k) {
        std::string sum;
        for (std::int64_t j = 0; j < path.filter_size; ++j)
            if (const double c = path.coefficient(i, j, k); c != 0.0)
                sum +=
                    (sum.empty() ? "" : " + ") + literal(c) + " * f" + text(path.filter_begin + j);
        return sum;
    }

    void write_convolve(std::size_t g) {
        const auto& group = plan_.groups[g];
        open_function(
            "convolve", g,
            "const I* __restrict__ others, const T* __restrict__ x, const T* __restrict__ filter, "
            "const T* __restrict__ weights, T* __restrict__ out");
        for_outputs(group, [&](std::size_t p, const TensorProductPath&, std::int64_t k) {
            line("T " + output(p, k) + " = 0;");
        });
        open_edges();
        load_filter(group);
        load_x(group);
        for (std::size_t p = 0; p < group.paths.size(); ++p) {
            const auto& path = group.paths[p];
            line("{ const T w = in ? we[" + text(path.weight_begin) + "] : T(0);");
            for (std::int64_t k = 0; k < path.out_size; ++k) {
                std::string sum;
                for (std::int64_t i = 0; i < path.x_size; ++i)
                    if (const auto m = filter_sum(path, i, k); !m.empty())
                        sum += (sum.empty() ? "" : " + ") + ("x" + text(i)) + " * (" + m + ")";
                if (!sum.empty()) line(output(p, k) + " += w * (" + sum + ");");
            }
            line("}");
        }
        line("}");
        line("if (!in) return;");
        line("T* to = out + row * " + text(plan_.out_columns) + ";");
        for_outputs(group, [&](std::size_t p, const TensorProductPath& path, std::int64_t k) {
            line("to[" + text(path.out_begin + k) + " + u * " + text(path.out_size) +
                 "] = " + output(p, k) + ";");
        });
        line("}");
    }

    void write_edge_gradients(std::size_t g) {
        const auto& group = plan_.groups[g];
        open_function(
            "edge_gradients", g,
            "const I* __restrict__ others, const T* __restrict__ x, const T* __restrict__ filter, "
            "const T* __restrict__ weights, const T* __restrict__ grad, "
            "T* __restrict__ of_filter, T* __restrict__ of_weights, I edges");
        load_grad(group, "row");
        open_edges();
        load_filter(group);
        load_x(group);
        const auto columns = filter_columns(group);
        for (const auto j : columns) line("T d" + text(j) + " = 0;");
        for (std::size_t p = 0; p < group.paths.size(); ++p) {
            const auto& path = group.paths[p];
            line("{ const T w = in ? we[" + text(path.weight_begin) + "] : T(0); T s = 0, t;");
            for (std::int64_t i = 0; i < path.x_size; ++i)
                for (std::int64_t k = 0; k < path.out_size; ++k) {
                    const auto m = filter_sum(path, i, k);
                    if (m.empty()) continue;
                    line("t = x" + text(i) + " * " + output(p, k) + "; s += t * (" + m +
                         "); t *= w;");
                    for (std::int64_t j = 0; j < path.filter_size; ++j)
                        if (const double c = path.coefficient(i, j, k); c != 0.0)
                            line("d" + text(path.filter_begin + j) + " += " + literal(c) + " * t;");
                }
            line("if (in) of_weights[e * weight_columns + " + text(path.weight_begin) +
                 " + u] = s; }");
        }
        // each warp its own part, which are added afterwards
        line("T* to = of_filter + (chunk * edges + e) * filter_columns;");
        for (const auto j : columns) {
            const auto d = "d" + text(j);
            line("for (int m = 16; m > 0; m /= 2) " + d + " += __shfl_xor_sync(0xffffffffu, " + d +
                 ", m);");
            line("if (threadIdx.x % 32 == " + text(j % 32) + ") to[" + text(j) + "] = " + d + ";");
        }
        line("}");
        line("}");
    }

    void write_row_gradient(std::size_t g) {
        const auto& group = plan_.groups[g];
        open_function(
            "row_gradient", g,
            "const I* __restrict__ others, const T* __restrict__ filter, "
            "const T* __restrict__ weights, const T* __restrict__ grad, T* __restrict__ of_x");
        for (std::int64_t i = 0; i < group.x_size; ++i) line("T x" + text(i) + " = 0;");
        open_edges();
        load_filter(group);
        load_grad(group, "others[e]");
        for (std::size_t p = 0; p < group.paths.size(); ++p) {
            const auto& path = group.paths[p];
            line("{ const T w = in ? we[" + text(path.weight_begin) + "] : T(0);");
            for (std::int64_t i = 0; i < path.x_size; ++i) {
                std::string sum;
                for (std::int64_t k = 0; k < path.out_size; ++k)
                    if (const auto m = filter_sum(path, i, k); !m.empty())
                        sum += (sum.empty() ? "" : " + ") + output(p, k) + " * (" + m + ")";
                if (!sum.empty()) line("x" + text(i) + " += w * (" + sum + ");");
            }
            line("}");
        }
        line("}");
        line("if (!in) return;");
        line("T* to = of_x + row * x_columns + " + text(group.x_begin) + " + u * " +
             text(group.x_size) + ";");
        for (std::int64_t i = 0; i < group.x_size; ++i)
            line("to[" + text(i) + "] = x" + text(i) + ";");
        line("}");
    }

    template <typename Work>
    static void for_outputs(const TensorProductGroup& group, const Work& work) {
        for (std::size_t p = 0; p < group.paths.size(); ++p)
            for (std::int64_t k = 0; k < group.paths[p].out_size; ++k) work(p, group.paths[p], k);
    }

    const TensorProductPlan& plan_;
    std::string out_;
};

}  // namespace

std::int64_t warps_of_a_row(const TensorProductPlan& plan) {
    std::int64_t warps = 0;
    for (const auto& group : plan.groups) warps += warps_of(group);
    return warps;
}

std::string tensor_product_source(const TensorProductPlan& plan, const std::string& scalar) {
    return Writer(plan).write(scalar);
}

}  // namespace nvalchemi
