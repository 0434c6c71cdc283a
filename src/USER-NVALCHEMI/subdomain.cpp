// SPDX-License-Identifier: GPL-2.0-only

#include "subdomain.h"

#include "domain.h"

#include <algorithm>
#include <cmath>

using namespace LAMMPS_NS;

namespace {

// of the box: far above rounding, far below any sub-domain

constexpr double SAME = 1.0e-9;

}    // namespace

/* ---------------------------------------------------------------------- */

SubDomain::SubDomain(Domain &domain) : domain_(domain)
{
  const double prd[3] = {domain.xprd, domain.yprd, domain.zprd};
  for (int k = 0; k < 3; k++) {
    low_[k] =
        domain.triclinic ? domain.sublo_lamda[k] : (domain.sublo[k] - domain.boxlo[k]) / prd[k];
    high_[k] =
        domain.triclinic ? domain.subhi_lamda[k] : (domain.subhi[k] - domain.boxlo[k]) / prd[k];
    height_[k] = prd[k];
  }
  if (!domain.triclinic) return;

  // volume over the area that the other two lattice vectors span

  const double volume = prd[0] * prd[1] * prd[2];
  const double bc[3] = {prd[1] * prd[2], -domain.xy * prd[2],
                        domain.xy * domain.yz - prd[1] * domain.xz};
  height_[0] = volume / std::sqrt(bc[0] * bc[0] + bc[1] * bc[1] + bc[2] * bc[2]);
  height_[1] = volume / (prd[0] * std::sqrt(prd[2] * prd[2] + domain.yz * domain.yz));
}

/* ---------------------------------------------------------------------- */

bool SubDomain::is_cut(int axis) const
{
  return high_[axis] - low_[axis] < 1.0 - SAME;
}

/* ---------------------------------------------------------------------- */

double SubDomain::face_distance(double *x) const
{
  double fraction[3];
  if (domain_.triclinic) {
    domain_.x2lamda(x, fraction);
  } else {
    const double prd[3] = {domain_.xprd, domain_.yprd, domain_.zprd};
    for (int k = 0; k < 3; k++) fraction[k] = (x[k] - domain_.boxlo[k]) / prd[k];
  }
  double nearest = -1.0;
  const auto consider = [&](double distance) {
    distance = std::max(0.0, distance);
    if (nearest < 0.0 || distance < nearest) nearest = distance;
  };
  const int periodic[3] = {domain_.xperiodic, domain_.yperiodic, domain_.zperiodic};
  for (int k = 0; k < 3; k++) {
    if (!is_cut(k)) continue;
    if (periodic[k] || low_[k] > SAME) consider((fraction[k] - low_[k]) * height_[k]);
    if (periodic[k] || high_[k] < 1.0 - SAME) consider((high_[k] - fraction[k]) * height_[k]);
  }
  return nearest;
}

/* ---------------------------------------------------------------------- */

void SubDomainWatch::remember(const SubDomain &now)
{
  std::copy_n(now.low(), 3, low_);
  std::copy_n(now.high(), 3, high_);
}

/* ---------------------------------------------------------------------- */

bool SubDomainWatch::has_changed(const SubDomain &now) const
{
  bool changed = false;
  for (int k = 0; k < 3; k++)
    changed = changed || std::fabs(now.low()[k] - low_[k]) > SAME ||
              std::fabs(now.high()[k] - high_[k]) > SAME;
  return changed;
}
