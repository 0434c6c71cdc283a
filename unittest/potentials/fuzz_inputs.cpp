// SPDX-License-Identifier: GPL-2.0-only
// Reads random changes of model cards, of archives, and of the words that follow pair_style,
// pair_coeff and fix, and checks what must hold for all of them.
//
//   fuzz_inputs (card | archive | words) MUTATIONS [SEED]
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "potentials/model_card.hpp"
#include "potentials/zip_directory.hpp"
#include "spec/spec_error.hpp"
#include "src/USER-NVALCHEMI/pair_options.h"
#include "src/USER-NVALCHEMI/validate_options.h"
#include "unittest/models/test_archives.hpp"
#include "unittest/potentials/card_text.hpp"
#include "unittest/potentials/zip_bytes.hpp"
#include "unittest/spec/mutate_json.hpp"

namespace nvalchemi {

namespace {

constexpr double kSecondsPerInput = 2;  // each takes well under 1 ms

/// One input after another, as text for messages, and what is wrong with its reading.
struct Trial {
    std::string input;
    std::string problem;  ///< nothing if nothing is wrong
    bool accepted = false;
};
using NextTrial = std::function<Trial()>;

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// Reads `input`; only an `Expected` error whose text `says_enough` is no problem.
template <typename Expected>
Trial try_reading(const std::string& input, const std::function<void()>& read,
                  const std::function<bool(const std::string&)>& says_enough) {
    Trial trial{input, "", false};
    try {
        read();
        trial.accepted = true;
    } catch (const Expected& error) {
        if (!says_enough(error.what())) trial.problem = error.what();
    } catch (const std::exception& error) {
        trial.problem = std::string("an error of another kind: ") + error.what();
    }
    return trial;
}

std::vector<std::string> card_texts() {
    std::vector<std::string> texts = {
        testing::kCard, testing::card_and("'expected_exchanges': 2, 'triplets': 'by_receiver'"),
        testing::card_with_inputs("'c': {'role': 'constant', 'value': [[1, 2], [3, 4.5]]}, "
                                  "'cell': {'role': 'cell', 'shape': '(1,3,3)'}"),
        testing::replaced(
            testing::card_with_inputs(
                "'m': {'role': 'atom_input', 'name': 'm', 'columns': 2, 'unit': 'e'}, "
                "'f': {'role': 'system_input', 'name': 'f', 'dtype': 'int64', 'default': 3}"),
            "'ops': []",
            "'ops': [], 'reference': {'symbols': ['O', 'Na'], 'positions': [[0,0,0],[1,1,1]], "
            "'cell': [[9,0,0],[0,9,0],[0,0,9]], 'pbc': [true,true,true], 'energy': 1, "
            "'forces': [[0,0,0],[0,0,0]], 'inputs': {'m': [[1,2],[3,4]], 'f': 2}}"),
        testing::card_with_outputs("'s': {'role': 'stress', 'kind': 'per_graph', 'shape': '(3,3)', "
                                   "'sign': 'dE_dstrain'}")};
    for (const auto& [name, path] : testing::test_archives())
        texts.push_back(testing::read_file(testing::card_beside(path)));
    return texts;
}

NextTrial cards(std::uint64_t seed) {
    const auto mutator = std::make_shared<testing::SpecMutator>(card_texts(), seed);
    return [mutator] {
        const std::string text = mutator->next();
        return try_reading<SpecError>(
            text, [&] { parse_model_card(text, "mutant"); },
            [](const std::string& message) {
                return message.starts_with("mutant /") && contains(message, ": got ");
            });
    };
}

/// All bytes of accepted files lie in the archive.
void read_archive(const std::string& archive) {
    for (const auto& entry : read_zip_directory(archive))
        if (entry.content.data() < archive.data() ||
            entry.content.data() + entry.content.size() > archive.data() + archive.size())
            throw std::logic_error(entry.name + " lies outside of the archive");
}

NextTrial archives(std::uint64_t seed) {
    const std::vector<testing::File> files = {{"net/data.pkl", std::string(300, 'w')},
                                              {"net/code/a.py", "deflated", 8},
                                              {"net/version", "3\n"}};
    const auto random = std::make_shared<std::mt19937_64>(seed);
    return [random, files] {
        std::string archive = testing::zip(files, (*random)() % 2 == 0);
        for (auto changes = (*random)() % 4; changes > 0; --changes) {
            const auto at = (*random)() % archive.size();
            const char byte = static_cast<char>((*random)() % 3 == 0 ? 255 : (*random)());
            switch ((*random)() % 4) {
                case 0: archive.erase(at, 1 + (*random)() % 40); break;
                case 1: archive.insert(at, 1, byte); break;
                case 2: archive.resize(at); break;
                default: archive[at] = byte;
            }
            if (archive.empty()) break;
        }
        return try_reading<std::runtime_error>(
            archive, [&] { read_archive(archive); },
            [](const std::string& message) {
                return message.starts_with("damaged zip archive: ");
            });
    };
}

/// Words of input lines, and words that are nearly right.
const std::vector<std::string> kWords = {"device",
                                         "cpu",
                                         "cuda",
                                         "cuda:0",
                                         "cuda:99999999999999999999",
                                         "auto",
                                         "halo_comm",
                                         "mpi",
                                         "mpi/device",
                                         "nccl",
                                         "card",
                                         "spec",
                                         "SPEC_MPNN_HALO",
                                         "lenient",
                                         "yes",
                                         "no",
                                         "ops",
                                         "threads",
                                         "4",
                                         "-1",
                                         "0",
                                         "1e3",
                                         "99999999999999999999",
                                         "selftest",
                                         "exclusions",
                                         "allow",
                                         "refuse",
                                         "centroid",
                                         "charge",
                                         "input",
                                         "total_charge",
                                         "v_a[2]",
                                         "c_b",
                                         "d2_m[1]",
                                         "i_k",
                                         "q",
                                         "verbose",
                                         "every",
                                         "10",
                                         "once",
                                         "rebalance",
                                         "tol",
                                         "relative",
                                         "absolute",
                                         "on_failure",
                                         "error",
                                         "warn",
                                         "instance",
                                         "limit",
                                         "mode",
                                         "gathered",
                                         "sampled",
                                         "sample",
                                         "report",
                                         "r.json",
                                         "r.*.json",
                                         "*",
                                         "world_size",
                                         "autofix",
                                         "propose",
                                         "apply",
                                         "seed",
                                         "nan",
                                         "inf",
                                         "1e-400",
                                         "0x10",
                                         "",
                                         " ",
                                         "Na",
                                         "Cl",
                                         "NULL",
                                         "Xx",
                                         "NA",
                                         "\xff",
                                         "%s%n",
                                         "../..",
                                         "="};

NextTrial words(std::uint64_t seed) {
    const auto random = std::make_shared<std::mt19937_64>(seed);
    return [random] {
        std::vector<std::string> line;
        std::string text;
        for (auto count = (*random)() % 7; count > 0; --count) {
            std::string word = kWords[(*random)() % kWords.size()];
            if ((*random)() % 8 == 0 && !word.empty())
                word[(*random)() % word.size()] = static_cast<char>(1 + (*random)() % 255);
            text += (line.empty() ? "" : " ") + word;
            line.push_back(word);
        }
        const auto kind = (*random)() % 3;
        return try_reading<std::runtime_error>(
            std::string(kind == 0   ? "pair_style "
                        : kind == 1 ? "fix "
                                    : "pair_coeff ") +
                text,
            [&] {
                if (kind == 0) parse_pair_options(line);
                if (kind == 1) parse_validate_options(line);
                if (kind == 2) map_types(line, 2, {"Na", "Cl"}, line.size() % 2 == 0);
            },
            [](const std::string& message) {
                return contains(message, "got ") || contains(message, "expected ");
            });
    };
}

int fuzz(const NextTrial& next, std::size_t mutations) {
    std::size_t accepted = 0;
    for (std::size_t k = 0; k < mutations; ++k) {
        const auto start = std::chrono::steady_clock::now();
        const Trial trial = next();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        if (!trial.problem.empty() || elapsed.count() > kSecondsPerInput) {
            std::cout << "input " << k << " (" << elapsed.count() << " s): " << trial.problem
                      << "\n"
                      << trial.input << "\n";
            return 1;
        }
        accepted += trial.accepted;
    }
    std::cout << mutations << " inputs, " << accepted << " accepted\n";
    // Changes that break every input would check the refusals only.
    return accepted * 200 < mutations ? 1 : 0;
}

}  // namespace

}  // namespace nvalchemi

int main(int count, char** arguments) {
    const std::map<std::string, std::function<nvalchemi::NextTrial(std::uint64_t)>> kinds = {
        {"card", nvalchemi::cards}, {"archive", nvalchemi::archives}, {"words", nvalchemi::words}};
    const auto kind = count < 3 ? kinds.end() : kinds.find(arguments[1]);
    if (kind == kinds.end() || count > 4) {
        std::cout << "usage: fuzz_inputs (card | archive | words) MUTATIONS [SEED]\n";
        return 2;
    }
    return nvalchemi::fuzz(kind->second(count > 3 ? std::stoul(arguments[3]) : 1),
                           std::stoul(arguments[2]));
}
