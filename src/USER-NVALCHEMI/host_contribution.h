// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Results to LAMMPS's arrays in host memory
------------------------------------------------------------------------- */

#ifndef LMP_HOST_CONTRIBUTION_H
#define LMP_HOST_CONTRIBUTION_H

#include "contribution.h"
#include "neighbor_graph.h"

#include <vector>

namespace LAMMPS_NS {

class HostContribution final : public Contribution {
 public:
  explicit HostContribution(const NeighborGraph &graph) : graph_(graph) {}

 private:
  // what an end of an edge collects; null: not wanted

  struct EdgeEnd {
    double *force, *virial, *centroid;
  };

  const ModelGraph &graph() const override { return graph_; }
  void add_atomic_energies(const ResultTargets &targets) override;
  void add_virial(double virial[6]) override;
  void add_edge(std::int64_t edge, const EdgeEnd &receiver, const EdgeEnd &sender) const;
  void scatter_to_atoms(const ResultTargets &targets) override;
  nvalchemi::RowBlock scatter_to_rows(const ResultTargets &targets) override;
  void rows_to_atoms(const ResultTargets &targets) override;
  const double *rows_on_host() override { return rows_.data(); }

  const NeighborGraph &graph_;
  std::vector<double> rows_;    // (n_rows, width_)
};

}    // namespace LAMMPS_NS

#endif
