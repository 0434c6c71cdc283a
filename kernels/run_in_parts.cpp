// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/run_in_parts.hpp"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/in_memory_exchange.hpp"

namespace nvalchemi {

namespace {

class BodyFailed : public std::runtime_error {
  public:
    explicit BodyFailed(int rank)
        : std::runtime_error("the body of rank " + std::to_string(rank) + " failed"), rank_(rank) {}
    int rank() const { return rank_; }

  private:
    int rank_;
};

std::vector<RankRows> read_decomposition(int ranks, const std::int64_t* n_owned,
                                         const std::int64_t* n_halo, const std::int64_t* sources) {
    std::vector<RankRows> parts;
    for (int rank = 0; rank < ranks; ++rank) {
        RankRows& part = parts.emplace_back(RankRows{n_owned[rank], {}});
        for (std::int64_t i = 0; i < n_halo[rank]; ++i, sources += 2) {
            part.halo.push_back({static_cast<int>(sources[0]), sources[1]});
        }
    }
    return parts;
}

}  // namespace

}  // namespace nvalchemi

const char* nvalchemi_run_in_parts(int ranks, const std::int64_t* n_owned,
                                   const std::int64_t* n_halo, const std::int64_t* sources,
                                   int (*body)(int rank), int* failed_rank) {
    thread_local std::string text;
    *failed_rank = -1;
    try {
        nvalchemi::InMemoryGroup group(
            nvalchemi::read_decomposition(ranks, n_owned, n_halo, sources));
        group.run([body](int rank, nvalchemi::HaloExchange&) {
            if (body(rank) != 0) throw nvalchemi::BodyFailed(rank);
        });
        return nullptr;
    } catch (const nvalchemi::BodyFailed& error) {
        *failed_rank = error.rank();
        text = error.what();
    } catch (const std::exception& error) {
        text = error.what();
    }
    return text.c_str();
}
