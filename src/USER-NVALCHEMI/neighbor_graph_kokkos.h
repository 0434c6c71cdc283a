// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Rows and edges of a model from a neighbour list of Kokkos, made by
   kernels into buffers that are used again. Edges have the order of
   NeighborGraph: receivers by row, senders by the list.
------------------------------------------------------------------------- */

#ifndef LMP_NEIGHBOR_GRAPH_KOKKOS_H
#define LMP_NEIGHBOR_GRAPH_KOKKOS_H

#include "arrays_kokkos.h"
#include "model_graph.h"

#include "atom_kokkos.h"
#include "kokkos_type.h"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace LAMMPS_NS {

// the candidates, in ascending order, of which each target (an atom or a row) is the sender

template <class DeviceType> struct SenderLists {
  Kokkos::View<int *, DeviceType> first;         // (targets + 1,) into `candidates`
  Kokkos::View<int *, DeviceType> candidates;    // (n_candidates,)
  bool ready = false;
};

template <class DeviceType> class NeighborGraphKokkos final : public ModelGraph {
 public:
  template <typename T> using Values = Kokkos::View<T *, DeviceType>;

  explicit NeighborGraphKokkos(AtomKokkos &atom) : atom_(atom) {}

  void configure(const GraphSettings &settings) override;
  const std::vector<std::int64_t> &select_owned(const NeighList &list,
                                                const AtomView &atoms) override;
  const std::vector<int> &select_candidates(const NeighList &list, const AtomView &atoms,
                                            double skin) override;
  void place_ghosts(const std::vector<std::int64_t> &rows, std::int64_t total_rows) override;
  std::int64_t first_not_finite(const nvalchemi::Evaluation &evaluation) const override;
  void show_atoms() const override;
  HostEdges edges_on_host() const override;
  double memory_usage() const override;

  int nlocal() const { return nlocal_; }
  int nall() const { return nall_; }

  // device copies of what the host knows; valid until the next re-neighbouring

  const Values<std::int64_t> &row_of_atom() const { return d_row_of_atom_; }    // (nall,)
  const Values<int> &atom_of_row() const { return d_atom_of_row_; }             // (n_rows,)

  // candidates of a receiver's row are [first_candidate(row), first_candidate(row + 1)); candidate k
  // is edge edge_of(k) if edge_of(k + 1) is larger, else it is outside the cutoff at present

  const Values<int> &first_candidate() const { return first_candidate_; }
  const Values<int> &edge_of() const { return edge_of_; }

  // made when first asked for after a re-neighbouring

  const SenderLists<DeviceType> &senders_by_atom();
  const SenderLists<DeviceType> &senders_by_row();

  // kernels; public, because nvcc takes no lambdas in private functions

  void update_rows(const AtomView &atoms) override;
  void update_edges(const AtomView &atoms) override;
  void update_shifts() override;
  void count_candidates(const NeighList &list, double reach_squared);
  void fill_candidates(const NeighList &list, double reach_squared);
  void fill_senders(SenderLists<DeviceType> &lists, int targets, bool by_row) const;

 private:
  const double *show_inputs(const std::vector<double> &rows) override
  {
    upload(inputs_, rows);
    return inputs_.data();
  }
  const double *show_charges(const std::vector<double> &rows) override
  {
    upload(charge_, rows);
    return charge_.data();
  }

  // LAMMPS renamed its own word for this type in 2026

  using Positions =
      std::decay_t<decltype(std::declval<AtomKokkos &>().k_x.template view<DeviceType>())>;

  void find_used_ghosts();
  Positions positions(const AtomView &atoms) const;

  AtomKokkos &atom_;
  Values<int> d_species_of_type_;
  Values<std::int64_t> d_row_of_atom_;
  Values<int> d_atom_of_row_;
  Values<int> used_;    // (nall,) 1: occurs in a candidate

  int n_candidates_ = 0;
  Values<int> first_candidate_;                   // (n_owned + 1,)
  Values<int> candidate_atom_, candidate_row_;    // sender's atom, receiver's row
  Values<int> edge_of_;                           // (n_candidates + 1,)
  SenderLists<DeviceType> by_atom_, by_row_;

  Values<std::int64_t> species_, receiver_, sender_, cell_shift_;
  Values<double> position_, charge_, vector_, shift_;
  Values<double> inputs_;    // (n_rows, columns), what the user gives

  // of edges_on_host()

  mutable std::vector<std::int64_t> host_receiver_, host_sender_;
  mutable std::vector<double> host_vector_;
  mutable std::vector<int> host_sender_atom_;
};

// tell the session which memory and stream the numbers of an execution space are in

template <class DeviceType> void describe_space(nvalchemi::AtomGraph &graph);

}    // namespace LAMMPS_NS

#endif
