// SPDX-License-Identifier: GPL-2.0-only
// nvalchemi_write_gpu_source float|double: prints the CUDA C++ of the plan whose two lists, numbers
// of paths and coefficients, are two lines of the input. With the word edge_sums behind, that of
// the sums over edges.
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/edge_sums_source.hpp"
#include "kernels/pair_potentials_source.hpp"
#include "kernels/tensor_product_source.hpp"

namespace {

template <typename Number>
std::vector<Number> read_line(std::istream& input) {
    std::string line;
    std::getline(input, line);
    std::istringstream words(line);
    std::vector<Number> numbers;
    for (Number number; words >> number;) numbers.push_back(number);
    return numbers;
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 2) {
        using enum nvalchemi::PairForm;
        const std::string what = arguments[2];
        if (what == "edge_sums") {
            std::cout << nvalchemi::edge_sums_source(arguments[1]);
            return 0;
        }
        const auto form = what == "lj" ? LennardJones : what == "morse" ? Morse : Buckingham;
        std::cout << nvalchemi::pair_sums_source(form, arguments[1]);
        return 0;
    }
    const auto paths = read_line<std::int64_t>(std::cin);
    const auto coefficients = read_line<double>(std::cin);
    const auto plan = nvalchemi::make_tensor_product_plan(paths, coefficients);
    std::cout << nvalchemi::tensor_product_source(plan, arguments[1]);
}
