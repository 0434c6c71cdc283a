// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   The LibTorch that a library beside this one will be linked with when it
   is opened, found without opening it.
------------------------------------------------------------------------- */

#ifndef LMP_TORCH_FACTS_H
#define LMP_TORCH_FACTS_H

#include <string>

namespace nvalchemi {

struct TorchFacts {
  std::string folder;     // with include/ and lib/; empty if there is none
  std::string version;    // for example "2.11.0"; empty if its headers do not say
};

// the one in this process, else the one that this library's own search path leads to; not collective

TorchFacts find_torch();

}    // namespace nvalchemi

#endif
