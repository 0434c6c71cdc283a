// SPDX-License-Identifier: GPL-2.0-only

#include "sampled_atoms.h"

#include "mpi_exchange.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"

#include "atom.h"
#include "lammps.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace LAMMPS_NS;

namespace {

// rank that owns the atom of each halo row

std::vector<int> owners_of_halo_rows(const nvalchemi::HaloPlan &plan)
{
  std::vector<int> owners(plan.total_rows - plan.owned_rows, plan.own_copies.rank);
  for (const auto &message : plan.receive_from)
    std::fill_n(owners.begin() + (message.first - plan.owned_rows), message.count, message.rank);
  return owners;
}

// strata by neighbour rank; rows that are not `eligible` are left out

std::vector<nvalchemi::Stratum> strata_of(const ModelGraph &graph, const std::vector<int> &owners,
                                          const std::vector<bool> &eligible)
{
  std::map<int, nvalchemi::Stratum> by_neighbor;
  std::vector<bool> inside = eligible;
  const HostEdges edges = graph.edges_on_host();
  for (std::int64_t edge = 0; edge < edges.count; ++edge) {
    const auto row = edges.receiver[edge];
    if (edges.sender[edge] < graph.n_owned() || !eligible[row]) continue;
    inside[row] = false;
    auto &rows = by_neighbor[owners[edges.sender[edge] - graph.n_owned()]].rows;
    if (rows.empty() || rows.back() != row) rows.push_back(row);    // edges are ordered by receiver
  }
  std::vector<nvalchemi::Stratum> strata;
  for (auto &[neighbor, stratum] : by_neighbor) {
    stratum.neighbor = neighbor;
    strata.push_back(std::move(stratum));
  }
  nvalchemi::Stratum interior;
  for (std::int64_t row = 0; row < graph.n_owned(); ++row)
    if (inside[row]) interior.rows.push_back(row);
  if (!interior.rows.empty()) strata.push_back(std::move(interior));
  return strata;
}

}    // namespace

/* ---------------------------------------------------------------------- */

nvalchemi::SampleChoice LAMMPS_NS::sample_atoms(LAMMPS *lmp, PairNvalchemi *pair, int groupbit,
                                                std::uint64_t seed, bigint step, std::int64_t count)
{
  const auto *atom = lmp->atom;
  const ModelGraph &graph = pair->parts().graph;
  std::vector<bool> eligible(graph.n_owned());
  std::vector<std::uint64_t> key(graph.n_owned());
  for (std::int64_t row = 0; row < graph.n_owned(); ++row) {
    const int i = graph.atom_of_row(row);
    eligible[row] = (atom->mask[i] & groupbit) != 0;
    key[row] = nvalchemi::spread(seed, step, atom->tag[i]);
  }
  const auto owners = owners_of_halo_rows(pair->parts().exchange.plan());
  return nvalchemi::choose_sample(strata_of(graph, owners, eligible), key, count);
}
