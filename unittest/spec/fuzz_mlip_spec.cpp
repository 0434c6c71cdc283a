// SPDX-License-Identifier: GPL-2.0-only
// Reads random changes of valid specs and checks what must hold for every text.
//
//   fuzz_mlip_spec MUTATIONS [SEED [ACCEPTED]]
//
// Writes the texts that a strict reading accepts into the file ACCEPTED, a NUL byte after each.
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>

#include "spec/presets.hpp"
#include "spec/write_mlip_spec.hpp"
#include "unittest/spec/mutate_json.hpp"
#include "unittest/spec/spec_files.hpp"
#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

namespace {

constexpr double kSecondsPerText = 2;  // a text of some thousand bytes takes well under 1 ms

/// The outcome of one reading: a spec, or the text of the refusal.
struct Reading {
    std::optional<MLIPSpec> spec;
    std::string refusal;
    std::vector<std::string> warnings;
};

Reading read(const std::string& text, bool lenient) {
    Reading result;
    try {
        result.spec = parse_mlip_spec(text, "mutant", "", {lenient, &result.warnings});
    } catch (const SpecError& error) {
        result.refusal = error.what();
    } catch (const std::exception& error) {
        result.refusal = std::string("not a SpecError: ") + error.what();
    }
    return result;
}

bool says_where_what_and_why(const std::string& message) {
    return message.starts_with("mutant /") && message.find(": got ") != std::string::npos;
}

/// What is wrong with the canonical text of a spec; empty if nothing is.
std::string problem_of_rewriting(const MLIPSpec& spec, bool lenient) {
    const std::string text = write_mlip_spec(spec);
    const Reading again = read(text, lenient);
    if (!again.spec) return "the canonical text is refused: " + again.refusal;
    if (*again.spec != spec) return "the canonical text has another meaning: " + text;
    if (write_mlip_spec(*again.spec) != text) return "the second rewrite differs: " + text;
    return "";
}

/// What is wrong with the reading of a text; empty if nothing is.
std::string problem_of(const std::string& text, bool& is_accepted) {
    const Reading strict = read(text, false);
    const Reading lenient = read(text, true);
    is_accepted = strict.spec.has_value();
    for (const Reading& reading : {strict, lenient}) {
        if (!reading.spec && !says_where_what_and_why(reading.refusal)) return reading.refusal;
        for (const std::string& warning : reading.warnings) {
            if (!says_where_what_and_why(warning)) return warning;
        }
    }
    if (strict.spec) {
        if (lenient.spec != strict.spec) return "strict and lenient readings differ";
        if (lenient.warnings != strict.warnings) return "lenient warns of what strict accepts";
        return problem_of_rewriting(*strict.spec, false);
    }
    if (!lenient.spec) return "";
    if (lenient.warnings.empty()) return "lenient accepts without a warning: " + strict.refusal;
    return problem_of_rewriting(*lenient.spec, true);
}

std::vector<std::string> valid_texts() {
    std::vector<std::string> texts = {
        testing::op_with(
            R"("arg_transforms": {"10": {"type": "slice_owned"}, "2": {"type": "gather_inputs"}},
               "output_transforms": {"0": {"type": "scatter_outputs"},
                                     "1": {"type": "all_reduce_sum", "replicated_consumer": true}})"),
        testing::op_with(R"("arg_transforms": {"0": {"type": "gather_inputs_full"}},
                            "output_transforms": {"0": {"type": "slice_outputs_owned"}})",
                         "graph_parallel"),
        testing::helper_with(R"("kind": "jit", "module_path": "m", "attr_name": "f",
                                "replacement": "r:g", "mode": "marshal")"),
        testing::helper_with(R"("kind": "module_forward", "target": "t", "label": "l")"),
        testing::policy_of(R"("kind": "local")")};
    for (const std::string& name : preset_names()) {
        texts.push_back(write_mlip_spec(*find_preset(name)));
    }
    for (const char* folder : {"released", "early"}) {
        for (const std::string& file : testing::spec_files_in(folder)) {
            texts.push_back(testing::read_spec_file(file));
        }
    }
    return texts;
}

int fuzz(std::size_t mutations, std::uint64_t seed, std::ostream& accepted_texts) {
    testing::SpecMutator mutator(valid_texts(), seed);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < mutations; ++i) {
        const std::string text = mutator.next();
        const auto start = std::chrono::steady_clock::now();
        bool is_accepted = false;
        const std::string problem = problem_of(text, is_accepted);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        if (!problem.empty() || elapsed.count() > kSecondsPerText) {
            std::cout << "mutation " << i << " of seed " << seed << " (" << elapsed.count()
                      << " s): " << problem << "\n"
                      << text << "\n";
            return 1;
        }
        if (is_accepted) accepted_texts << text << '\0';
        accepted += is_accepted;
    }
    std::cout << mutations << " mutations of seed " << seed << ", " << accepted << " accepted\n";
    // A mutator that breaks every text would check the refusals only.
    return accepted * 20 < mutations ? 1 : 0;
}

}  // namespace

}  // namespace nvalchemi

int main(int count, char** arguments) {
    if (count < 2 || count > 4) {
        std::cout << "usage: fuzz_mlip_spec MUTATIONS [SEED [ACCEPTED]]\n";
        return 2;
    }
    std::ofstream accepted_texts;
    if (count > 3) accepted_texts.open(arguments[3], std::ios::binary);
    return nvalchemi::fuzz(std::stoul(arguments[1]), count > 2 ? std::stoul(arguments[2]) : 1,
                           accepted_texts);
}
