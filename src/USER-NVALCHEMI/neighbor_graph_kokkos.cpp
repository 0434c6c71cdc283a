// SPDX-License-Identifier: GPL-2.0-only

#include "neighbor_graph_kokkos.h"

#include "candidate_walk_kokkos.h"

#include "atom_kokkos.h"
#include "atom_masks.h"
#include "neigh_list_kokkos.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace LAMMPS_NS;

namespace {

template <class DeviceType> using Range = Kokkos::RangePolicy<DeviceType>;

/* ---------------------------------------------------------------------- */

template <class DeviceType> const NeighListKokkos<DeviceType> &of_kokkos(const NeighList &list)
{
  return static_cast<const NeighListKokkos<DeviceType> &>(list);
}

/* ----------------------------------------------------------------------
   exclusive sums in place; the total goes to the last of `count` + 1 places
------------------------------------------------------------------------- */

template <class DeviceType>
std::int64_t sum_up(const Kokkos::View<int *, DeviceType> &values, int count)
{
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "nvalchemi::sum_up", Range<DeviceType>(0, count + 1),
      KOKKOS_LAMBDA(const int k, std::int64_t &sum, const bool final) {
        const int value = k < count ? values(k) : 0;
        if (final) values(k) = static_cast<int>(sum);
        sum += value;
      },
      total);
  return total;
}

}    // namespace

/* ---------------------------------------------------------------------- */

template <class DeviceType> void LAMMPS_NS::describe_space(nvalchemi::AtomGraph &graph)
{
  graph.results_stay = true;
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<DeviceType, Kokkos::Cuda>) {
    const Kokkos::Cuda space;
    graph.cuda_device = space.cuda_device();
    graph.cuda_stream = space.cuda_stream();
  }
#endif
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::configure(const GraphSettings &settings)
{
  ModelGraph::configure(settings);
  upload(d_species_of_type_, settings_.species_of_type);
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> const std::vector<std::int64_t> &
NeighborGraphKokkos<DeviceType>::select_owned(const NeighList &list, const AtomView &atoms)
{
  nlocal_ = atoms.nlocal;
  nall_ = atoms.nall;
  grow_to(d_row_of_atom_, nall_);
  grow_to(d_atom_of_row_, nall_);
  Kokkos::deep_copy(d_row_of_atom_, -1);

  const auto row_of_atom = d_row_of_atom_;
  const auto atom_of_row = d_atom_of_row_;
  const auto species_of_type = d_species_of_type_;
  const auto ilist = of_kokkos<DeviceType>(list).d_ilist;
  const auto type = atom_.k_type.template view<DeviceType>();
  int count = 0;
  Kokkos::parallel_scan(
      "nvalchemi::select_owned", Range<DeviceType>(0, list.inum),
      KOKKOS_LAMBDA(const int k, int &row, const bool final) {
        const int i = ilist(k);
        if (species_of_type(type(i)) < 0) return;
        if (final) {
          row_of_atom(i) = row;
          atom_of_row(row) = i;
        }
        ++row;
      },
      count);

  n_owned_ = count;
  row_of_atom_.resize(nall_);
  atom_of_row_.resize(n_owned_);
  download(row_of_atom_, d_row_of_atom_);
  download(atom_of_row_, d_atom_of_row_);
  by_atom_.ready = by_row_.ready = false;
  return row_of_atom_;
}

/* ----------------------------------------------------------------------
   the list may reach further than this model does (hybrid/overlay)
------------------------------------------------------------------------- */

template <class DeviceType>
const std::vector<int> &NeighborGraphKokkos<DeviceType>::select_candidates(const NeighList &list,
                                                                           const AtomView &,
                                                                           double skin)
{
  const double reach_squared = std::pow(settings_.cutoff + skin, 2);
  count_candidates(list, reach_squared);
  const std::int64_t total = sum_up<DeviceType>(first_candidate_, n_owned_);
  if (total >= std::numeric_limits<int>::max())
    throw std::runtime_error("got " + std::to_string(total) +
                             " pairs on one rank, expected fewer "
                             "than 2^31. Use more ranks");
  n_candidates_ = static_cast<int>(total);
  grow_to(candidate_atom_, n_candidates_);
  grow_to(candidate_row_, n_candidates_);
  fill_candidates(list, reach_squared);
  find_used_ghosts();
  return used_ghosts_;
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::count_candidates(const NeighList &list, double reach_squared)
{
  grow_to(first_candidate_, n_owned_ + 1);
  const auto counts = first_candidate_;
  const auto walk = CandidateWalk{d_atom_of_row_,
                                  d_species_of_type_,
                                  of_kokkos<DeviceType>(list).d_neighbors,
                                  of_kokkos<DeviceType>(list).d_numneigh,
                                  atom_.k_x.template view<DeviceType>(),
                                  atom_.k_type.template view<DeviceType>(),
                                  reach_squared};
  Kokkos::parallel_for(
      "nvalchemi::count_candidates", Range<DeviceType>(0, n_owned_), KOKKOS_LAMBDA(const int row) {
        int count = 0;
        walk(row, [&](int) { ++count; });
        counts(row) = count;
      });
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::fill_candidates(const NeighList &list, double reach_squared)
{
  grow_to(used_, nall_);
  Kokkos::deep_copy(used_, 0);
  const auto used = used_;
  const auto first = first_candidate_;
  const auto candidate_atom = candidate_atom_;
  const auto candidate_row = candidate_row_;
  const auto walk = CandidateWalk{d_atom_of_row_,
                                  d_species_of_type_,
                                  of_kokkos<DeviceType>(list).d_neighbors,
                                  of_kokkos<DeviceType>(list).d_numneigh,
                                  atom_.k_x.template view<DeviceType>(),
                                  atom_.k_type.template view<DeviceType>(),
                                  reach_squared};
  Kokkos::parallel_for(
      "nvalchemi::fill_candidates", Range<DeviceType>(0, n_owned_), KOKKOS_LAMBDA(const int row) {
        int at = first(row);
        walk(row, [&](int j) {
          candidate_atom(at) = j;
          candidate_row(at) = row;
          ++at;
          Kokkos::atomic_store(&used(j), 1);
        });
      });
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> void NeighborGraphKokkos<DeviceType>::find_used_ghosts()
{
  std::vector<int> used(nall_);
  download(used, used_);
  used_ghosts_.clear();
  for (int j = nlocal_; j < nall_; ++j)
    if (used[j]) used_ghosts_.push_back(j);
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::place_ghosts(const std::vector<std::int64_t> &rows,
                                                   std::int64_t total_rows)
{
  ModelGraph::place_ghosts(rows, total_rows);
  upload(d_row_of_atom_, row_of_atom_);
  upload(d_atom_of_row_, atom_of_row_);
  grow_to(species_, total_rows);
  grow_to(position_, 3 * total_rows);
  if (settings_.wants_charges) grow_to(charge_, total_rows);
  grow_to(receiver_, n_candidates_);
  grow_to(sender_, n_candidates_);
  grow_to(vector_, 3 * std::int64_t(n_candidates_));
  grow_to(edge_of_, n_candidates_ + std::int64_t(1));
  if (!settings_.wants_shifts) return;
  grow_to(shift_, 3 * std::int64_t(n_candidates_));
  grow_to(cell_shift_, 3 * std::int64_t(n_candidates_));
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> typename NeighborGraphKokkos<DeviceType>::Positions
NeighborGraphKokkos<DeviceType>::positions(const AtomView &atoms) const
{
  if (atoms.displaced) return upload_positions<Positions>(atoms.x, nall_);
  return atom_.k_x.template view<DeviceType>();
}

/* ----------------------------------------------------------------------
   types are read anew: Monte Carlo fixes swap them between steps
------------------------------------------------------------------------- */

template <class DeviceType> void NeighborGraphKokkos<DeviceType>::update_rows(const AtomView &atoms)
{
  describe_space<DeviceType>(graph_);
  const double scale = settings_.angstrom_per_length;
  const auto atom_of_row = d_atom_of_row_;
  const auto species_of_type = d_species_of_type_;
  const auto species = species_;
  const auto position = position_;
  const auto x = positions(atoms);
  const auto type = atom_.k_type.template view<DeviceType>();
  int unmapped = 0;
  Kokkos::parallel_reduce(
      "nvalchemi::update_rows", Range<DeviceType>(0, graph_.n_rows),
      KOKKOS_LAMBDA(const int row, int &largest) {
        const int i = atom_of_row(row);
        species(row) = species_of_type(type(i));
        if (species(row) < 0 && type(i) > largest) largest = type(i);
        for (int k = 0; k < 3; ++k) position(3 * row + k) = scale * x(i, k);
      },
      Kokkos::Max<int>(unmapped));
  if (unmapped > 0) refuse_type(unmapped);
  graph_.species = species_.data();
  graph_.position = position_.data();
  if (!settings_.wants_charges || !atom_.q_flag) return;
  const auto charge = charge_;
  const auto q = atom_.k_q.template view<DeviceType>();
  Kokkos::parallel_for(
      "nvalchemi::update_charges", Range<DeviceType>(0, graph_.n_rows),
      KOKKOS_LAMBDA(const int row) { charge(row) = q(atom_of_row(row)); });
  graph_.charge = charge_.data();
}

/* ----------------------------------------------------------------------
   count and fill in one pass: a scan sees each candidate twice
------------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::update_edges(const AtomView &atoms)
{
  const double scale = settings_.angstrom_per_length;
  const double cutoff_squared = settings_.cutoff * settings_.cutoff;
  const int n_candidates = n_candidates_;
  const bool swap_halo_edges = swap_halo_edges_;
  const std::int64_t n_owned = n_owned_;
  const auto candidate_atom = candidate_atom_;
  const auto candidate_row = candidate_row_;
  const auto atom_of_row = d_atom_of_row_;
  const auto row_of_atom = d_row_of_atom_;
  const auto edge_of = edge_of_;
  const auto receiver = receiver_;
  const auto sender = sender_;
  const auto vector = vector_;
  const auto x = positions(atoms);
  int count = 0;
  Kokkos::parallel_scan(
      "nvalchemi::update_edges", Range<DeviceType>(0, n_candidates + 1),
      KOKKOS_LAMBDA(const int k, int &edge, const bool final) {
        if (final) edge_of(k) = edge;
        if (k == n_candidates) return;
        const int row = candidate_row(k);
        const int i = atom_of_row(row);
        const int j = candidate_atom(k);
        const double dx = x(j, 0) - x(i, 0);
        const double dy = x(j, 1) - x(i, 1);
        const double dz = x(j, 2) - x(i, 2);
        if (dx * dx + dy * dy + dz * dz >= cutoff_squared) return;
        if (final) {
          receiver(edge) = row;
          sender(edge) = row_of_atom(j);
          const bool swap = swap_halo_edges && sender(edge) >= n_owned;
          const double factor = swap ? -scale : scale;
          vector(3 * std::int64_t(edge)) = factor * dx;
          vector(3 * std::int64_t(edge) + 1) = factor * dy;
          vector(3 * std::int64_t(edge) + 2) = factor * dz;
        }
        ++edge;
      },
      count);
  graph_.n_edges = count;
  graph_.receiver = receiver_.data();
  graph_.sender = sender_.data();
  graph_.edge_vector = vector_.data();
}

/* ----------------------------------------------------------------------
   lattice translation between the sender's row, which may show another
   image, and the image at the end of the edge; for folded rows, others
   have none
------------------------------------------------------------------------- */

template <class DeviceType> void NeighborGraphKokkos<DeviceType>::update_shifts()
{
  graph_.edge_cell_shift = cell_shift_.data();
  graph_.edge_shift = shift_.data();
  Kokkos::Array<double, 9> cell;
  for (int k = 0; k < 9; ++k) cell[k] = graph_.cell[k];
  const auto receiver = receiver_;
  const auto sender = sender_;
  const auto vector = vector_;
  const auto position = position_;
  const auto shift = shift_;
  const auto cell_shift = cell_shift_;
  Kokkos::parallel_for(
      "nvalchemi::update_shifts", Range<DeviceType>(0, graph_.n_edges),
      KOKKOS_LAMBDA(const int edge) {
        const std::int64_t at = 3 * std::int64_t(edge);
        double rest[3];
        for (int k = 0; k < 3; ++k)
          rest[k] =
              vector(at + k) - (position(3 * sender(edge) + k) - position(3 * receiver(edge) + k));

        // the cell is lower triangular: solve from its last lattice vector

        for (int axis = 2; axis >= 0; --axis) {
          const double count = Kokkos::round(rest[axis] / cell[4 * axis]);
          cell_shift(at + axis) = static_cast<std::int64_t>(count);
          for (int k = 0; k < 3; ++k) rest[k] -= count * cell[3 * axis + k];
        }
        for (int k = 0; k < 3; ++k) {
          double sum = 0.0;
          for (int axis = 0; axis < 3; ++axis) sum += cell_shift(at + axis) * cell[3 * axis + k];
          shift(at + k) = sum;
        }
      });
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
const SenderLists<DeviceType> &NeighborGraphKokkos<DeviceType>::senders_by_atom()
{
  if (!by_atom_.ready) fill_senders(by_atom_, nall_, false);
  return by_atom_;
}

/* ---------------------------------------------------------------------- */

template <class DeviceType>
const SenderLists<DeviceType> &NeighborGraphKokkos<DeviceType>::senders_by_row()
{
  if (!by_row_.ready) fill_senders(by_row_, static_cast<int>(atom_of_row_.size()), true);
  return by_row_;
}

/* ----------------------------------------------------------------------
   places are given out in any order, then each list is sorted: sums over
   it have the same order in every run
------------------------------------------------------------------------- */

template <class DeviceType>
void NeighborGraphKokkos<DeviceType>::fill_senders(SenderLists<DeviceType> &lists, int targets,
                                                   bool by_row) const
{
  grow_to(lists.first, targets + 1);
  grow_to(lists.candidates, n_candidates_);
  Kokkos::deep_copy(lists.first, 0);
  const Range<DeviceType> candidates_range(0, n_candidates_);
  const auto candidate_atom = candidate_atom_;
  const auto row_of_atom = d_row_of_atom_;
  const auto first = lists.first;
  const auto candidates = lists.candidates;
  Kokkos::parallel_for(
      "nvalchemi::count_senders", candidates_range, KOKKOS_LAMBDA(const int k) {
        const int j = candidate_atom(k);
        Kokkos::atomic_inc(&first(by_row ? row_of_atom(j) : j));
      });
  sum_up<DeviceType>(first, targets);

  Values<int> taken("nvalchemi::taken", targets);
  Kokkos::parallel_for(
      "nvalchemi::fill_senders", candidates_range, KOKKOS_LAMBDA(const int k) {
        const int j = candidate_atom(k);
        const std::int64_t target = by_row ? row_of_atom(j) : j;
        candidates(first(target) + Kokkos::atomic_fetch_add(&taken(target), 1)) = k;
      });
  Kokkos::parallel_for(
      "nvalchemi::sort_senders", Range<DeviceType>(0, targets), KOKKOS_LAMBDA(const int target) {
        for (int k = first(target) + 1; k < first(target + 1); ++k) {
          const int value = candidates(k);
          int place = k;
          for (; place > first(target) && candidates(place - 1) > value; --place)
            candidates(place) = candidates(place - 1);
          candidates(place) = value;
        }
      });
  lists.ready = true;
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> std::int64_t
NeighborGraphKokkos<DeviceType>::first_not_finite(const nvalchemi::Evaluation &evaluation) const
{
  const nvalchemi::ResultPointers results = nvalchemi::results_of(evaluation);
  std::int64_t found = first_bad<DeviceType>(results.row_forces, 3 * graph_.n_rows);
  if (found >= 0) return found / 3;
  found = first_bad<DeviceType>(results.edge_gradients, 3 * graph_.n_edges);
  if (found < 0) return -1;
  std::int64_t row = -1;
  Kokkos::deep_copy(row, Kokkos::subview(receiver_, found / 3));
  return row;
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> void NeighborGraphKokkos<DeviceType>::show_atoms() const
{
  atom_.sync(Host, TAG_MASK | TYPE_MASK);
}

/* ----------------------------------------------------------------------
   for checks, not for steps
------------------------------------------------------------------------- */

template <class DeviceType> HostEdges NeighborGraphKokkos<DeviceType>::edges_on_host() const
{
  const std::int64_t count = graph_.n_edges;
  download(host_receiver_, receiver_, count);
  download(host_sender_, sender_, count);
  download(host_vector_, vector_, 3 * count);
  std::vector<int> atom, edge;
  download(atom, candidate_atom_, n_candidates_);
  download(edge, edge_of_, n_candidates_ + 1);
  host_sender_atom_.resize(count);
  for (int k = 0; k < n_candidates_; ++k)
    if (edge[k + 1] > edge[k]) host_sender_atom_[edge[k]] = atom[k];
  return {count, host_receiver_.data(), host_sender_.data(), host_vector_.data(),
          host_sender_atom_.data()};
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> double NeighborGraphKokkos<DeviceType>::memory_usage() const
{
  const auto bytes = [](const auto &...views) {
    return (... +
            double(views.extent(0) * sizeof(typename std::decay_t<decltype(views)>::value_type)));
  };
  return ModelGraph::memory_usage() + bytes(d_row_of_atom_, d_atom_of_row_, used_, first_candidate_,
                                            candidate_atom_, candidate_row_, edge_of_,
                                            by_atom_.first, by_atom_.candidates, by_row_.first,
                                            by_row_.candidates, species_, receiver_, sender_,
                                            cell_shift_, position_, vector_, shift_);
}

/* ---------------------------------------------------------------------- */

namespace LAMMPS_NS {
template void describe_space<LMPDeviceType>(nvalchemi::AtomGraph &);
template class NeighborGraphKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template void describe_space<LMPHostType>(nvalchemi::AtomGraph &);
template class NeighborGraphKokkos<LMPHostType>;
#endif
}    // namespace LAMMPS_NS
