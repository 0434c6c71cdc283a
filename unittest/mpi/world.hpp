// SPDX-License-Identifier: GPL-2.0-only
// What tests of exchanges say about the ranks that they run on and the elements that they move.
#ifndef NVALCHEMI_UNITTEST_MPI_WORLD_HPP
#define NVALCHEMI_UNITTEST_MPI_WORLD_HPP

#include <mpi.h>

#include <type_traits>

#include "kernels/halo_exchange.hpp"

namespace nvalchemi {

inline int rank_in_world() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int ranks_in_world() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

template <typename T>
constexpr ElementType kElementType = std::is_same_v<T, float>    ? ElementType::Float32
                                     : std::is_same_v<T, double> ? ElementType::Float64
                                     : sizeof(T) == 4            ? ElementType::Int32
                                                                 : ElementType::Int64;

}  // namespace nvalchemi

#endif
