// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_SESSION_HPP
#define NVALCHEMI_POTENTIALS_SESSION_HPP

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/halo_exchange.hpp"
#include "kernels/in_memory_exchange.hpp"
#include "potentials/adapter_use.hpp"
#include "potentials/atom_graph.hpp"
#include "potentials/distribution/planned_exchange.hpp"
#include "potentials/graph_use.hpp"
#include "potentials/model_card.hpp"
#include "potentials/observed_value.hpp"

namespace nvalchemi {

/// A model that cannot be loaded, placed or evaluated. The text says where, what and what to do.
class ModelError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An energy that is infinite or no number.
class NotFiniteError : public ModelError {
  public:
    NotFiniteError(const std::string& text, std::int64_t owned_row)
        : ModelError(text), row(owned_row) {}

    std::int64_t row;  ///< the first owned row with such an energy
};

struct SessionOptions {
    std::string path;                             ///< of the archive, for messages
    std::optional<std::string> card_text;         ///< replaces the embedded card
    std::string card_path;                        ///< for messages
    std::optional<MLIPSpec> spec;                 ///< overrides the card's spec
    std::vector<std::string> operator_libraries;  ///< loaded before the archive, after the card's
    ReadOptions spec_reading;                     ///< of the card's spec
    std::string device = "auto";                  ///< auto | cpu | cuda | cuda:N
    /// In e; without it a model with an input of role total_charge gets 0.
    std::optional<double> total_charge;
    int threads = 0;  ///< intra-operator threads; 0: leave as they are
    /// Make the model ready for evaluate(..., edge_moments = true): the exact heat flux.
    bool edge_moments = false;
    bool self_test = true;   ///< compare a small decomposition with the undecomposed model at load
    bool distribute = true;  ///< false: for evaluate_undecomposed() alone, whatever the spec says
    GraphUse graphs = GraphUse::No;
    bool overlap = false;          ///< go on with what needs no halo rows while they are under way
    bool counts_exchanges = true;  ///< refuse another number of exchanges than the card expects
    bool element_test = false;     ///< without self_test, too: evaluate each element at load
};

/// What is put around each rank's exchange, and who watches each rank's values.
struct PartsOptions {
    std::function<std::unique_ptr<HaloExchange>(int rank, HaloExchange& inner)> wrap_exchange;
    std::function<ValueObserver(int rank)> observer;
};

/// A model ready to evaluate one rank's part of a system. Independent of LAMMPS and MPI.
class Session {
  public:
    /// `archive` holds the bytes of the TorchScript file. Not collective. Throws ModelError or
    /// SpecError.
    Session(const std::string& archive, const SessionOptions& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const ModelCard& card() const;

    /// Evaluate energy and forces of this rank's part. Collective over the ranks of `exchange`.
    /// Throws ModelError; a rank that throws has not taken part in the remaining exchanges. With
    /// Evaluation::replayed it made no call to the exchange, and results that stayed are valid
    /// until the next call.
    Evaluation evaluate(const AtomGraph& graph, HaloExchange& exchange, bool edge_moments = false);

    /// Evaluate all parts of a system in this process: one thread a rank of `group`, whose rows are
    /// those of `parts`. Not collective. Throws ModelError for the lowest rank that failed by
    /// itself.
    std::vector<Evaluation> evaluate_in_parts(InMemoryGroup& group,
                                              const std::vector<AtomGraph>& parts,
                                              const PartsOptions& options = {});

    /// Evaluate the archive as it is, without the distribution pass, on a whole system (folded
    /// rows, no halo). The reference of every comparison. Not collective.
    Evaluation evaluate_undecomposed(const AtomGraph& graph);

    /// Energies alone, without forces, as evaluate() and evaluate_undecomposed() find them; an
    /// energy-only evaluation makes fewer exchanges.
    Evaluation evaluate_energies(const AtomGraph& graph, HaloExchange& exchange);
    Evaluation undecomposed_energies(const AtomGraph& graph);

    /// Take the cell (rows are lattice vectors, Angstrom) that graphs will name as their
    /// setup_cell: the sizes of sums over wave vectors or mesh points follow it. The schedules
    /// count for this cell from then on. Not collective; all ranks have to give the same cell.
    void settle(const double cell[9]);

    /// The calls that one evaluate() makes to its exchange, the same on every rank.
    const std::vector<ExchangeEvent>& schedule(bool edge_moments = false) const;
    /// The same of evaluate_energies(). Not collective.
    const std::vector<ExchangeEvent>& energy_schedule();

    /// What results are right to: "float64", or "float32", also where a float64 model computes in
    /// float32 inside; then rounds_at() is the first call that does.
    std::string precision() const;
    std::string rounds_at() const;

    /// Readable listing: one line for each exchange with width, state and source line.
    std::string listing() const;

    /// What the adapters of the distribution spec apply to in this model.
    const std::vector<AdapterUse>& adapter_uses() const;

    /// The collectives of the forward pass with where in the model they come from.
    const std::vector<PlannedExchange>& planned_exchanges() const;
    /// Operators of neither torch nor this package that see rows.
    const std::vector<ForeignCall>& foreign_calls() const;
    /// What an ObservedValue::call counts.
    std::vector<OperatorCall> operator_calls() const;

    /// Free functions that the archive brings, by qualified name: "aimnet.nbops.mol_sum".
    std::vector<std::string> free_functions() const;

    /// Whether the next evaluation will replay a CUDA graph; the same on all ranks.
    bool replays(bool edge_moments) const;

    /// What is new about the use of CUDA graphs since the last call, for a log; mostly empty.
    std::string graph_news();
    /// How often an evaluation was recorded as a CUDA graph so far.
    int graph_recordings() const;

    std::string device_name() const;
    static std::string torch_version_built();
    static std::string torch_version_running();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The embedded card of an archive, if it has one. Throws ModelError if it is no TorchScript file.
std::optional<std::string> read_embedded_card(const std::string& archive, const std::string& path);

}  // namespace nvalchemi

#endif
