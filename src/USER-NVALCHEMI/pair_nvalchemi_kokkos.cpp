// SPDX-License-Identifier: GPL-2.0-only

#include "pair_nvalchemi_kokkos.h"

#include "neighbor_graph_kokkos.h"

#include "atom_kokkos.h"
#include "atom_masks.h"
#include "error.h"
#include "kokkos.h"
#include "memory_kokkos.h"
#include "neigh_request.h"
#include "neighbor.h"

#include <memory>
#include <stdexcept>
#include <type_traits>

using namespace LAMMPS_NS;

/* ---------------------------------------------------------------------- */

template <class DeviceType> PairNvalchemiKokkos<DeviceType>::PairNvalchemiKokkos(LAMMPS *lmp) :
    PairNvalchemi(lmp)
{
  if (!lmp->kokkos)
    error->all(FLERR, "Pair style nvalchemi/kk: got a run without Kokkos, expected LAMMPS to be "
                      "started with '-k on' (and 'g N' for N GPUs). Use pair style nvalchemi "
                      "otherwise");
  kokkosable = 1;
  atomKK = static_cast<AtomKokkos *>(atom);
  execution_space = ExecutionSpaceFromDevice<DeviceType>::space;
  datamask_read = X_MASK | F_MASK | TYPE_MASK | Q_MASK | ENERGY_MASK | VIRIAL_MASK;
  datamask_modify = F_MASK | ENERGY_MASK | VIRIAL_MASK;

  auto graph = std::make_unique<NeighborGraphKokkos<DeviceType>>(*atomKK);
  auto contribution = std::make_unique<ContributionKokkos<DeviceType>>(*graph, *atomKK);
  contribution_views = contribution.get();
  use(std::move(graph), std::move(contribution));
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> PairNvalchemiKokkos<DeviceType>::~PairNvalchemiKokkos()
{
  if (copymode) return;
  memoryKK->destroy_kokkos(k_eatom, eatom);
  memoryKK->destroy_kokkos(k_vatom, vatom);
  memoryKK->destroy_kokkos(k_cvatom, cvatom);
}

/* ----------------------------------------------------------------------
   the model runs where the atoms are: on the GPU that Kokkos has chosen
------------------------------------------------------------------------- */

template <class DeviceType>
std::string PairNvalchemiKokkos<DeviceType>::model_device(const std::string &keyword)
{
  nvalchemi::AtomGraph place;
  describe_space<DeviceType>(place);
  if (place.cuda_device < 0) return keyword == "auto" ? "cpu" : keyword;
  if (keyword != "auto" && keyword != "cuda")
    throw std::runtime_error("keyword device: got '" + keyword +
                             "', expected auto or cuda: with nvalchemi/kk the model runs on the "
                             "GPU where Kokkos keeps the atoms ('-k on g N' chooses it). For a "
                             "model elsewhere use nvalchemi/kk/host");
  return "cuda:" + std::to_string(place.cuda_device);
}

/* ----------------------------------------------------------------------
   a full list, whatever package kokkos says for others
------------------------------------------------------------------------- */

template <class DeviceType> void PairNvalchemiKokkos<DeviceType>::init_style()
{
  PairNvalchemi::init_style();
  constexpr bool on_device = std::is_same_v<DeviceType, LMPDeviceType>;
  NeighRequest *const request = neighbor->find_request(this);
  request->set_kokkos_host(!on_device);
  request->set_kokkos_device(on_device);
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> void PairNvalchemiKokkos<DeviceType>::compute(int eflag, int vflag)
{
  ev_init(eflag, vflag, 0);
  prepare_per_atom();
  atomKK->sync(execution_space, datamask_read);
  if (keeps_outputs()) atomKK->sync(Host, TAG_MASK | TYPE_MASK | Q_MASK);
  if (reads_atoms()) atomKK->sync(Host, ALL_MASK);
  if (neighbor->ago == 0 && atom->molecular != Atom::ATOMIC) atomKK->sync(Host, SPECIAL_MASK);
  atomKK->modified(execution_space, eflag || vflag ? datamask_modify : F_MASK);

  evaluate_and_add();

  if (eflag_atom) show_on_host(k_eatom);
  if (vflag_atom) show_on_host(k_vatom);
  if (cvflag_atom) show_on_host(k_cvatom);
}

/* ----------------------------------------------------------------------
   new arrays are zero
------------------------------------------------------------------------- */

template <class DeviceType> void PairNvalchemiKokkos<DeviceType>::prepare_per_atom()
{
  if (eflag_atom) {
    memoryKK->destroy_kokkos(k_eatom, eatom);
    memoryKK->create_kokkos(k_eatom, eatom, maxeatom, "pair:eatom");
  }
  if (vflag_atom) {
    memoryKK->destroy_kokkos(k_vatom, vatom);
    memoryKK->create_kokkos(k_vatom, vatom, maxvatom, "pair:vatom");
  }
  if (cvflag_atom) {
    memoryKK->destroy_kokkos(k_cvatom, cvatom);
    memoryKK->create_kokkos(k_cvatom, cvatom, maxcvatom, "pair:cvatom");
  }
  contribution_views->set_per_atom({k_eatom.template view<DeviceType>(),
                                    k_vatom.template view<DeviceType>(),
                                    k_cvatom.template view<DeviceType>()});
}

/* ---------------------------------------------------------------------- */

template <class DeviceType> template <class ViewType>
void PairNvalchemiKokkos<DeviceType>::show_on_host(ViewType &view)
{
  view.template modify<DeviceType>();
  view.template sync<LMPHostType>();
}

/* ---------------------------------------------------------------------- */

namespace LAMMPS_NS {
template class PairNvalchemiKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class PairNvalchemiKokkos<LMPHostType>;
#endif
}    // namespace LAMMPS_NS
