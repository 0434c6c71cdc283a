// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The part of the box that this rank owns
------------------------------------------------------------------------- */

#ifndef LMP_SUBDOMAIN_H
#define LMP_SUBDOMAIN_H

namespace LAMMPS_NS {

class Domain;

class SubDomain {
 public:
  // as it is now, with any comm_style, layout and shape of the box

  explicit SubDomain(Domain &domain);

  // LAMMPS's length unit

  double width(int axis) const { return (high_[axis] - low_[axis]) * height_[axis]; }

  // narrower than the box

  bool is_cut(int axis) const;

  // distance to the nearest face that another rank's sub-domain can lie behind, 0 outside; -1 if
  // there is no such face

  double face_distance(double *x) const;

  // bounds in units of the box, 0 to 1

  const double *low() const { return low_; }
  const double *high() const { return high_; }

 private:
  Domain &domain_;
  double low_[3], high_[3];
  double height_[3];    // of the box between its faces
};

// Says when the decomposition is no longer what it was

class SubDomainWatch {
 public:
  void remember(const SubDomain &now);
  bool has_changed(const SubDomain &now) const;    // on this rank

 private:
  double low_[3] = {0.0}, high_[3] = {0.0};
};

}    // namespace LAMMPS_NS

#endif
