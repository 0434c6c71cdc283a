// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/tools/command_line.hpp"

#include <algorithm>
#include <iostream>

namespace nvalchemi {

namespace {

/// Former and second names of options, which are still understood.
const std::map<std::string, std::string> kOtherNames = {
    {"-o", "--output"}, {"--model", "--archive"}, {"--case", "--structure"}};

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_of_option(const std::string& word, const std::vector<std::string>& known) {
    const auto other = kOtherNames.find(word);
    const bool is_known = other != kOtherNames.end() && contains(known, other->second);
    return is_known ? other->second : word;
}

[[noreturn]] void refuse_option(const std::string& word, const std::vector<std::string>& known) {
    std::string list;
    for (const auto& name : known) list += (list.empty() ? "" : ", ") + name;
    throw Misuse("got unknown option '" + word + "', expected " +
                 (list.empty() ? "none" : "one of " + list));
}

}  // namespace

CommandLine::CommandLine(const std::vector<std::string>& words,
                         const std::vector<std::string>& valued,
                         const std::vector<std::string>& flags) {
    auto known = valued;
    known.insert(known.end(), flags.begin(), flags.end());
    for (std::size_t k = 0; k < words.size(); ++k) {
        const auto& word = words[k];
        if (word.size() < 2 || word[0] != '-') {
            others_.push_back(word);
            continue;
        }
        const auto option = name_of_option(word, known);
        if (!contains(known, option)) refuse_option(word, known);
        auto& values = values_[option];
        if (contains(flags, option)) continue;
        if (++k == words.size()) throw Misuse(word + ": got nothing, expected a value");
        values.push_back(words[k]);
    }
}

void CommandLine::expect_others(std::size_t most) const {
    if (others_.size() > most) throw Misuse("got '" + others_[most] + "', expected an option");
}

std::vector<std::string> CommandLine::all(const std::string& option) const {
    const auto found = values_.find(option);
    return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::string CommandLine::last(const std::string& option, const std::string& otherwise) const {
    const auto found = values_.find(option);
    return found == values_.end() ? otherwise : found->second.back();
}

std::string CommandLine::required(const std::string& option) const {
    const auto value = last(option);
    if (value.empty()) throw Misuse("got no " + option + ", expected one");
    return value;
}

int run_tool(const std::string& name, const std::string& usage,
             const std::vector<std::string>& words,
             const std::function<int(const std::vector<std::string>&)>& run) {
    int status = 0;
    try {
        if (words.empty()) {
            std::cerr << usage;
            return 2;
        }
        if (contains(words, "--help") || contains(words, "-h"))
            std::cout << usage;
        else if (contains(words, "--version"))
            std::cout << name << " " NVALCHEMI_VERSION "\n";
        else
            status = run(words);
        std::cout.flush();
        if (!std::cout)
            throw std::runtime_error("standard output: cannot be written; is the disk full?");
    } catch (const Misuse& error) {
        std::cerr << name << ": " << error.what() << "\nsee " << name << " --help\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << name << ": " << error.what() << "\n";
        return 1;
    }
    return status;
}

}  // namespace nvalchemi
