// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Rows and edges of a model from a neighbour list in host memory
------------------------------------------------------------------------- */

#ifndef LMP_NEIGHBOR_GRAPH_H
#define LMP_NEIGHBOR_GRAPH_H

#include "model_graph.h"

#include <cstdint>
#include <vector>

namespace LAMMPS_NS {

class NeighborGraph final : public ModelGraph {
 public:
  const std::vector<std::int64_t> &select_owned(const NeighList &list,
                                                const AtomView &atoms) override;
  const std::vector<int> &select_candidates(const NeighList &list, const AtomView &atoms,
                                            double skin) override;
  void place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows) override;
  std::int64_t first_not_finite(const nvalchemi::Evaluation &evaluation) const override;
  double memory_usage() const override;
  HostEdges edges_on_host() const override;
  bool keeps_far_rows() const override { return true; }
  void plant(const nvalchemi::Faults &faults, int rank) override;
  void replicate(const AtomView &atoms, nvalchemi::HaloExchange &exchange) override;

  // LAMMPS's index of the sender of each edge: the very image that the edge vector points to

  const std::vector<int> &sender_atoms() const { return sender_atom_; }

 private:
  void fill_rows(const AtomView &atoms, std::int64_t count);
  void update_rows(const AtomView &atoms) override;
  void update_edges(const AtomView &atoms) override;
  void update_shifts() override;

  std::vector<std::size_t> first_candidate_;    // (n_owned + 1,)
  std::vector<int> candidate_;                  // sender atoms, receiver after receiver

  std::vector<std::int64_t> species_, receiver_, sender_, cell_shift_;
  std::vector<double> position_, charge_, vector_, shift_;
  std::vector<int> sender_atom_;
  nvalchemi::Faults faults_;
  int faulty_rank_ = 0;
};

}    // namespace LAMMPS_NS

#endif
