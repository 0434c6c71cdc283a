// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   Command nvalchemi/write: what the model sees at the present positions,
   and what it answers, as files
------------------------------------------------------------------------- */

#ifdef COMMAND_CLASS
// clang-format off
CommandStyle(nvalchemi/write,WriteModelInput);
// clang-format on
#else

#ifndef LMP_WRITE_MODEL_INPUT_H
#define LMP_WRITE_MODEL_INPUT_H

#include "command.h"

#include <string>
#include <vector>

namespace LAMMPS_NS {

class WriteModelInput : public Command {
 public:
  explicit WriteModelInput(class LAMMPS *lmp) : Command(lmp) {}
  void command(int, char **) override;

 private:
  std::string header(class PairNvalchemi *pair) const;
  std::string atom_lines(class PairNvalchemi *pair) const;
  std::string edge_lines(class PairNvalchemi *pair) const;
  void write(const std::string &name, const std::string &header, const std::string &mine);
};

}    // namespace LAMMPS_NS

#endif
#endif
