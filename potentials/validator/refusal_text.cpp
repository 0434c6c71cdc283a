// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/refusal_text.hpp"

#include <algorithm>
#include <cstdlib>

namespace nvalchemi {

namespace {

std::size_t common_prefix(const std::string& left, const std::string& right) {
    std::size_t n = 0;
    while (n < left.size() && n < right.size() && left[n] == right[n]) ++n;
    return n;
}

std::size_t edit_distance(const std::string& left, const std::string& right) {
    std::vector<std::size_t> row(right.size() + 1);
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = k;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j < row.size(); ++j) {
            const auto above = row[j];
            row[j] = std::min(
                {row[j] + 1, row[j - 1] + 1, diagonal + (left[i - 1] == right[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

}  // namespace

bool says(const AttemptEvidence& evidence, const std::string& part) {
    return evidence.attempt.message.find(part) != std::string::npos;
}

std::string word_after(const AttemptEvidence& evidence, const std::string& lead) {
    const auto& text = evidence.attempt.message;
    auto at = text.find(lead);
    if (at == std::string::npos) return "";
    at += lead.size();
    auto end = text.find_first_of(" ,;()\"'\n", at);
    auto word = text.substr(at, end == std::string::npos ? end : end - at);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.pop_back();
    return word;
}

RefusedPlace place_of(const AttemptEvidence& evidence, const std::string& what) {
    const auto lead = "on " + what + " ";
    const auto number = word_after(evidence, lead);
    if (number.empty()) return {};
    return {word_after(evidence, lead + number + " of "), std::atoi(number.c_str())};
}

Diagnostic refusal_finding(double confidence, const AttemptEvidence& evidence,
                           const std::string& advice, std::vector<MLIPSpec> edits) {
    return {"", confidence, {evidence.attempt.message}, advice, std::move(edits), ""};
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t least = std::max<std::size_t>(3, name.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        const auto distance = edit_distance(name, candidate);
        if (distance > least || (distance == least && !best.empty() &&
                                 common_prefix(name, candidate) <= common_prefix(name, best)))
            continue;
        least = distance;
        best = candidate;
    }
    return best;
}

}  // namespace nvalchemi
