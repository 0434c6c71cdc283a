// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_PARTITION_CHECKS_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_PARTITION_CHECKS_HPP

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "potentials/validator/virtual_parts.hpp"

namespace nvalchemi {

/// Whether each owned atom has the edges that exist.
struct Completeness {
    struct Offender {
        std::int64_t atom = 0;
        int rank = 0;
        std::int64_t seen = 0, expected = 0;
    };
    bool searched = true;  ///< false: `complete` and what was expected mean nothing
    bool complete = true;
    std::int64_t edges_seen = 0, edges_expected = 0;
    std::int64_t atoms_wrong = 0;
    std::int64_t atoms_owned_otherwise = 0;  ///< owned by no rank, or by several
    std::int64_t rows_wrong = 0;             ///< of another species than their atom
    std::int64_t positions_wrong = 0;        ///< edges that are not the difference of raw positions
    std::vector<Offender> first;             ///< ten at most; `seen` can equal `expected`
};

/// Compares senders and vectors with a search over the whole system, by atom.
Completeness check_completeness(const WholeSystem& system, const ModelCard& card,
                                const VirtualParts& parts);

/// Whether an exchange moves each row between the atoms that it should.
struct PlanCheck {
    bool good = true;
    std::int64_t halo_rows = 0;
    std::int64_t forward_wrong = 0;  ///< halo rows that did not receive their atom's row
    std::int64_t reverse_wrong = 0;  ///< owned rows that did not receive what was sent to them
    std::int64_t rounded = 0;        ///< numbers that arrive as float32 would hold them
    std::int64_t sums_wrong = 0;     ///< ranks that did not receive the sum over all ranks
    std::int64_t edges_wrong = 0;    ///< of a run: edges with another atom's row or vector
    std::int64_t edges_alone = 0;    ///< of a run: atoms with an edge that has no way back

    std::int64_t wrong() const {
        return forward_wrong + reverse_wrong + rounded + sums_wrong + edges_wrong + edges_alone;
    }
    std::string failure;  ///< of the exchange itself
    std::string first;    ///< "rank 1: halo row 3: got atom 7, expected atom 12"
};

/// Sends numbers that name atoms through the exchange, both ways: all rows, no sampling.
PlanCheck check_plan(const VirtualParts& parts, const PartsOptions& options);

struct PartitionHealth {
    struct Part {
        std::int64_t owned = 0, halo = 0, edges = 0;
        std::int64_t remote = 0;  ///< atoms of the system that are neither owned nor halo
        std::int64_t rows_received = 0, rows_sent = 0;  ///< of one forward exchange, other ranks'
        std::vector<double> width;  ///< extent along each lattice direction, Angstrom
    };
    std::vector<Part> parts;
    int empty_parts = 0;
    bool sees_everything = false;  ///< a part has all atoms as rows: little is put to the test
    double narrowest = 0;          ///< the smallest width of a part that was cut, Angstrom
    std::vector<std::string> advice;
};

/// "4.06 A", for advice.
std::string angstrom(double value);

PartitionHealth judge_partition(const WholeSystem& system, double cutoff,
                                const VirtualParts& parts);

/// Where the errors are.
struct ErrorMap {
    struct Atom {
        std::int64_t atom = 0;
        int rank = 0;
        double force_error = 0, energy_error = 0;
        std::optional<double> face_distance;  ///< see PlacedAtoms; none: no face in reach
    };
    std::vector<Atom> worst;                           ///< ten at most, the worst first
    std::vector<double> largest_of_rank;               ///< force error
    double largest_near_face = 0, largest_inside = 0;  ///< inside: no face in reach
    std::int64_t atoms_near_face = 0;
    std::int64_t atoms_wrong = 0;        ///< beyond the tolerance of energies or forces
    std::int64_t wrong_near_face = 0;    ///< of them
    std::vector<double> force_errors;    ///< (n,)
    std::vector<double> face_distances;  ///< (n,), negative: none in reach
    /// The right energies, or where these are right the right lengths of forces, but of other
    /// atoms.
    bool same_multiset = false;
    /// Both forces of the worst atoms and of others at even distances in their order, for a plot
    /// of one against the other; kForcePairs at most, ascending.
    struct ForcePair {
        std::int64_t atom = 0;
        std::array<double, 3> reference{}, decomposed{};
        std::optional<double> face_distance;
    };
    std::vector<ForcePair> force_pairs;
};

constexpr std::size_t kForcePairs = 1000;

/// Where the atoms of a decomposition are.
struct PlacedAtoms {
    std::vector<int> owners;  ///< (n,)
    int ranks = 1;
    /// (n,) Angstrom, negative: none. Of virtual parts to the nearest atom of another part, if it
    /// is a neighbour; of a run to the nearest face of the sub-domain.
    std::vector<double> face_distances;
    double reach = 0;  ///< an atom is near a face up to this distance
};

ErrorMap map_errors(const WholeEvaluation& whole, const DecomposedEvaluation& found,
                    const PlacedAtoms& atoms, double energy_tolerance, double force_tolerance);
ErrorMap map_errors(const WholeEvaluation& whole, const VirtualEvaluation& found,
                    const VirtualParts& parts, double energy_tolerance, double force_tolerance);

}  // namespace nvalchemi

#endif
