// SPDX-License-Identifier: GPL-2.0-only

#include "citations.h"

#include <map>

namespace nvalchemi {

namespace {

struct Publication {
  const char *line, *entry;
};

const std::map<std::string, Publication> &publications()
{
  static const std::map<std::string, Publication> known = {
      {"sevennet",
       {"SevenNet potential: https://doi.org/10.1021/acs.jctc.4c00190",
        "@Article{Park2024,\n"
        " author = {Park, Y. and Kim, J. and Hwang, S. and Han, S.},\n"
        " title = {Scalable Parallel Algorithm for Graph Neural Network Interatomic Potentials in "
        "Molecular Dynamics Simulations},\n"
        " journal = {J. Chem. Theory Comput.},\n volume = 20,\n pages = {4857--4868},\n year = "
        "2024\n}\n\n"}},
      {"mace",
       {"MACE potential: https://arxiv.org/abs/2206.07697",
        "@InProceedings{Batatia2022,\n"
        " author = {Batatia, I. and Kov{\\'a}cs, D. P. and Simm, G. N. C. and Ortner, C. and "
        "Cs{\\'a}nyi, G.},\n"
        " title = {{MACE}: Higher Order Equivariant Message Passing Neural Networks for Fast and "
        "Accurate Force Fields},\n"
        " booktitle = {Advances in Neural Information Processing Systems},\n year = 2022\n}\n\n"}},
      {"nequip",
       {"NequIP potential: https://doi.org/10.1038/s41467-022-29939-5",
        "@Article{Batzner2022,\n author = {Batzner, S. and others},\n"
        " title = {{E(3)}-equivariant graph neural networks for data-efficient and accurate "
        "interatomic potentials},\n"
        " journal = {Nat. Commun.},\n volume = 13,\n pages = 2453,\n year = 2022\n}\n\n"}},
      {"allegro",
       {"Allegro potential: https://doi.org/10.1038/s41467-023-36329-y",
        "@Article{Musaelian2023,\n author = {Musaelian, A. and others},\n"
        " title = {Learning local equivariant representations for large-scale atomistic "
        "dynamics},\n"
        " journal = {Nat. Commun.},\n volume = 14,\n pages = 579,\n year = 2023\n}\n\n"}},
      {"dftd3",
       {"DFT-D3 dispersion: https://doi.org/10.1063/1.3382344",
        "@Article{Grimme2010,\n"
        " author = {Grimme, S. and Antony, J. and Ehrlich, S. and Krieg, H.},\n"
        " title = {A consistent and accurate ab initio parametrization of density functional "
        "dispersion correction ({DFT-D}) for the 94 elements {H-Pu}},\n"
        " journal = {J. Chem. Phys.},\n volume = 132,\n pages = 154104,\n year = 2010\n}\n\n"}},
  };
  return known;
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::string package_citation(const std::string &version)
{
  return "pair_style nvalchemi: lammps-nvalchemi " + version +
         "\n\n"
         "@Misc{lammps-nvalchemi,\n"
         " author = {{The lammps-nvalchemi developers}},\n"
         " title = {lammps-nvalchemi: TorchScript interatomic potentials under {LAMMPS}'s spatial "
         "decomposition},\n"
         " note = {Version " +
         version + "}\n}\n\n";
}

/* ---------------------------------------------------------------------- */

std::string family_citation(const std::string &family)
{
  const auto found = publications().find(family);
  if (found == publications().end()) return "";
  return std::string(found->second.line) + "\n\n" + found->second.entry;
}

}    // namespace nvalchemi
