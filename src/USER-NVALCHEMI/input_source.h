// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   One source of "pair_style nvalchemi input NAME SOURCE ...", as text
------------------------------------------------------------------------- */

#ifndef LMP_INPUT_SOURCE_H
#define LMP_INPUT_SOURCE_H

#include <string>
#include <vector>

namespace nvalchemi {

struct InputSource {
  enum class Kind { Number, Charge, Property, Variable, Compute, Fix };
  Kind kind = Kind::Number;
  std::string text;    // as the user wrote it
  double number = 0.0;
  std::string name;            // of the property, variable, compute or fix
  int index = 0;               // in brackets, from 1; 0: none
  bool is_integer = false;     // of a property: i_ or i2_
  bool has_columns = false;    // of a property: d2_ or i2_
};

struct InputOption {
  std::string name;    // of the input
  std::vector<InputSource> sources;
};

// throws std::runtime_error; `input` is the name of the input, for the message

InputSource parse_input_source(const std::string &input, const std::string &word);

}    // namespace nvalchemi

#endif
