// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/exchange_probe.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace nvalchemi {

namespace {

// Far above the numbers that tell rows apart, so that float32 cannot hold their sum.
constexpr double kAboveRows = 1099511627776.0;  // 2^40
constexpr double kGarbage = -1;

/// What is sent forward for an atom, and what a halo row sends back for it: both tell atoms, ranks
/// and rows apart, and sums of thousands of them are exact in float64.
double name_of_atom(std::int64_t atom) { return kAboveRows + static_cast<double>(atom + 1); }
double name_of_halo_row(std::int64_t rank, std::int64_t row) {
    return kAboveRows + static_cast<double>(row + 1) + 1048576.0 * static_cast<double>(rank + 1);
}

/// As far as float32 can tell, the two are the same.
bool only_rounded(double got, double expected) {
    return expected != 0 && std::fabs(got - expected) < 1e-6 * std::fabs(expected) &&
           got == static_cast<double>(static_cast<float>(got));
}

/// Columns of a block tell each other apart: the c-th holds c + 1 times the number.
constexpr std::int64_t kWidth = 3;

/// One rank's part of a probe.
class Probe {
  public:
    Probe(HaloExchange& exchange, const ProbedRows& rows, const ReturnedSums& sums)
        : exchange_(exchange),
          rows_(rows),
          sums_(sums),
          owned_(exchange.owned_rows()),
          total_(static_cast<std::int64_t>(rows.atom_of_row.size())),
          block_(static_cast<std::size_t>(total_ * kWidth), kGarbage) {
        result_.halo_rows = total_ - owned_;
    }

    /// As whole numbers of eight bytes, one a row.
    void send_ids_forward() {
        std::vector<std::int64_t> ids(static_cast<std::size_t>(total_), -1);
        std::copy_n(rows_.atom_of_row.begin(), owned_, ids.begin());
        exchange_.forward({ids.data(), total_, 1, ElementType::Int64});
        for (std::int64_t row = 0; row < total_; ++row)
            if (ids[row] != atom(row))
                note(result_.forward_wrong,
                     row_text(row) + ": got " +
                         (ids[row] < 0 ? std::string("nothing")
                                       : "atom " + std::to_string(ids[row])) +
                         ", expected atom " + std::to_string(atom(row)));
    }

    void send_names_forward() {
        for (std::int64_t row = 0; row < owned_; ++row) put(row, name_of_atom(atom(row)));
        exchange_.forward(block());
        for (std::int64_t row = owned_; row < total_; ++row)
            compare(result_.forward_wrong, row, name_of_atom(atom(row)),
                    row_text(row) + ": got " + atom_text(block_[kWidth * row]) +
                        ", expected atom " + std::to_string(atom(row)));
    }

    void send_names_back() {
        std::fill(block_.begin(), block_.begin() + kWidth * owned_, 0.0);
        for (std::int64_t row = owned_; row < total_; ++row)
            put(row, name_of_halo_row(exchange_.rank(), row));
        exchange_.reverse(block());
        for (std::int64_t row = 0; row < owned_; ++row)
            compare(result_.reverse_wrong, row, sum_of(atom(row)),
                    row_text(row) + ": atom " + std::to_string(atom(row)) +
                        " did not receive the sum of its halo rows");
        for (std::int64_t row = owned_; row < total_; ++row)
            compare(result_.reverse_wrong, row, 0.0,
                    row_text(row) + ": was not zeroed after it was sent");
    }

    /// After send_names_back(): owned rows stay, halo rows get what their owners have received.
    void send_sums_forward() {
        exchange_.forward(block());
        for (std::int64_t row = 0; row < owned_; ++row)
            compare(result_.forward_wrong, row, sum_of(atom(row)),
                    row_text(row) + ": the row of atom " + std::to_string(atom(row)) +
                        " is not what it was before it was sent forward");
        for (std::int64_t row = owned_; row < total_; ++row)
            compare(result_.forward_wrong, row, sum_of(atom(row)),
                    row_text(row) + ": did not receive the sum that atom " +
                        std::to_string(atom(row)) + " has");
    }

    void sum_over_ranks() {
        const auto ranks = static_cast<double>(exchange_.ranks());
        double sum = exchange_.rank() + 1;
        exchange_.system_sum({&sum, 1, 1});
        if (sum != ranks * (ranks + 1) / 2)
            note(result_.sums_wrong, "got " + std::to_string(sum) +
                                         " as the sum over ranks, expected " +
                                         std::to_string(ranks * (ranks + 1) / 2));
    }

    PlanCheck take() {
        result_.good = is_good(result_);
        return result_;
    }

  private:
    std::int64_t atom(std::int64_t row) const { return rows_.atom_of_row[row]; }
    double sum_of(std::int64_t atom) const {
        const auto found = sums_.find(atom);
        return found == sums_.end() ? 0.0 : found->second;
    }
    RowBlock block() { return {block_.data(), total_, kWidth}; }
    void put(std::int64_t row, double value) {
        for (std::int64_t k = 0; k < kWidth; ++k)
            block_[kWidth * row + k] = static_cast<double>(k + 1) * value;
    }
    std::string row_text(std::int64_t row) const {
        return row < owned_ ? "owned row " + std::to_string(row)
                            : "halo row " + std::to_string(row - owned_);
    }
    std::string atom_text(double value) const {
        const auto named = std::llround(value - kAboveRows) - 1;
        return named >= 0 && named < rows_.atoms ? "atom " + std::to_string(named) : "nothing";
    }

    void compare(std::int64_t& count, std::int64_t row, double first_column,
                 const std::string& text) {
        bool same = true, rounded = true;
        for (std::int64_t k = 0; k < kWidth; ++k) {
            const double got = block_[kWidth * row + k];
            const double expected = static_cast<double>(k + 1) * first_column;
            same = same && got == expected;
            rounded = rounded && only_rounded(got, expected);
        }
        if (same) return;
        if (rounded)
            note(result_.rounded, "a number arrived as float32 would hold it");
        else
            note(count, text);
    }

    void note(std::int64_t& count, const std::string& text) {
        ++count;
        if (result_.first.empty()) result_.first = text;
    }

    HaloExchange& exchange_;
    const ProbedRows& rows_;
    const ReturnedSums& sums_;
    std::int64_t owned_, total_;
    std::vector<double> block_;
    PlanCheck result_;
};

}  // namespace

ReturnedSums returned_sums(const std::vector<HaloRowName>& halo_rows_of_all_ranks) {
    ReturnedSums sums;
    for (const auto& halo : halo_rows_of_all_ranks)
        sums[halo.atom] += name_of_halo_row(halo.rank, halo.row);
    return sums;
}

PlanCheck probe_exchange(HaloExchange& exchange, const ProbedRows& rows, const ReturnedSums& sums) {
    Probe probe(exchange, rows, sums);
    probe.send_names_forward();
    probe.send_names_back();
    probe.sum_over_ranks();
    return probe.take();
}

PlanCheck probe_exchange_thoroughly(HaloExchange& exchange, const ProbedRows& rows,
                                    const ReturnedSums& sums) {
    Probe probe(exchange, rows, sums);
    probe.send_ids_forward();
    probe.send_names_forward();
    probe.send_names_back();
    probe.send_sums_forward();
    probe.sum_over_ranks();
    return probe.take();
}

std::vector<ExchangeEvent> thorough_probe_calls() {
    using Kind = ExchangeEvent::Kind;
    return {{Kind::Forward, 1, ElementType::Int64},
            {Kind::Forward, kWidth},
            {Kind::Reverse, kWidth},
            {Kind::Forward, kWidth},
            {Kind::SystemSum, 1}};
}

void add_check(PlanCheck& total, const PlanCheck& part) {
    total.halo_rows += part.halo_rows;
    total.forward_wrong += part.forward_wrong;
    total.reverse_wrong += part.reverse_wrong;
    total.rounded += part.rounded;
    total.sums_wrong += part.sums_wrong;
    total.edges_wrong += part.edges_wrong;
    total.edges_alone += part.edges_alone;
    if (total.failure.empty()) total.failure = part.failure;
    if (total.first.empty()) total.first = part.first;
    total.good = is_good(total);
}

bool is_good(const PlanCheck& check) { return check.failure.empty() && check.wrong() == 0; }

}  // namespace nvalchemi
