// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_DECOMPOSED_RUN_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_DECOMPOSED_RUN_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "potentials/model_card.hpp"
#include "potentials/validation.hpp"
#include "potentials/validator/partition_checks.hpp"
#include "potentials/validator/sampled_run.hpp"
#include "potentials/whole_system.hpp"

namespace nvalchemi {

struct TraceReport;
struct ValidationRequest;

/// The neighbours of an owned atom as its rank sees them, short enough to be gathered.
struct SeenNeighbors {
    std::int64_t edges = 0;
    std::uint64_t senders = 0;  ///< sum of hash_of_atom() over the senders
    double vectors[3] = {0};    ///< sum of the edge vectors, Angstrom
};

/// Spreads the ids of atoms, so that sums of a few tell them apart.
std::uint64_t hash_of_atom(std::int64_t id);

/// The atoms of a run on one process, in the order of their ids.
struct RunAtoms {
    WholeSystem system;
    std::vector<std::int64_t> ids;       ///< (n,)
    std::vector<int> owners;             ///< (n,) rank
    std::vector<double> face_distances;  ///< (n,) to the nearest inner face, Angstrom; -1: none
    std::vector<SeenNeighbors> seen;     ///< (n,)
};

/// Compare what the ranks saw with a search over the whole system, by count, senders and the sum of
/// vectors. Pairs within 1e-6 Angstrom of the cutoff may be seen or not.
Completeness check_seen_neighbors(const RunAtoms& atoms, double cutoff);

/// One rank's sub-domain and rows.
struct RunPart {
    std::int64_t owned = 0, halo = 0, edges = 0, remote = 0;  ///< as in PartitionHealth::Part
    std::int64_t rows_sent = 0, rows_received = 0;
    double width[3] = {0};  ///< of the sub-domain along each lattice direction, Angstrom
    int is_cut[3] = {0};    ///< 1: the sub-domain is narrower than the box
};

/// `skin` in Angstrom.
PartitionHealth judge_run_parts(const std::vector<RunPart>& parts, double cutoff, double skin);

/// Where a failure comes from.
enum class Blame {
    Nothing,  ///< nothing failed, or only a tolerance below rounding
    Spec,     ///< parts that are played in one process fail as well
    Run,      ///< they pass: the exchange, its plan or the neighbours of the run
    Both,     ///< they fail, and the run's own exchange or neighbours are wrong too
    Unknown,  ///< the parts could not be played, or nothing was compared
};

/// What a comparison of a real run found. Atoms are named by their ids.
struct DecomposedRun {
    std::string label;  ///< "fix check"
    std::int64_t step = 0;
    int ranks = 1;
    std::string failure;                ///< why the run gave no numbers; empty: it did
    std::vector<Deviation> quantities;  ///< empty after a failure
    Completeness completeness;
    PlanCheck plan;
    PartitionHealth health;
    std::optional<ErrorMap> errors;
    double skin = 0;
    std::vector<std::int64_t> ids;  ///< (n,)
    std::map<std::string, std::string> versions;
    bool agreed_before = false;  ///< at an earlier step of the same process
    bool same_parts = true;      ///< the parts that were played have the owners of the run
    Blame blame = Blame::Nothing;
    /// Where atoms were sampled instead of gathered; then no parts are played, and `ids` are those
    /// of the atoms whose forces were compared.
    std::optional<SampledRun> sampled;

    bool numbers_agree() const;
    /// Numbers, neighbours and exchange.
    bool passed() const;
    /// Nothing differs, but no energy and no force of a sampled run was compared.
    bool is_undecided() const { return sampled && passed() && !sampled->has_reference(); }
};

const char* name_of(Blame blame);

/// What to tell about a spec that was found.
struct ProposedSpec {
    std::string file;  ///< where it was written; empty: nowhere
    bool apply = false;
};

/// Put a run into the report of its parts: verdict, blame, diagnoses, next action.
void join_run(TraceReport& report, const ModelCard& card, DecomposedRun run,
              const ProposedSpec& proposed);

/// The report of a run whose atoms were sampled; `run` has all but the blame. The request says
/// which model and box, and has no atoms: no parts are played. One attempt, that of the run.
TraceReport report_of_sampled_run(const ValidationRequest& request, const ModelCard& card,
                                  const std::string& device, DecomposedRun run);

/// Whether the report has a spec that passes although the given one does not.
bool proposes_spec(const TraceReport& report);

}  // namespace nvalchemi

#endif
