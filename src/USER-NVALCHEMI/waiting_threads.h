// SPDX-License-Identifier: GPL-2.0-only
/* -*- c++ -*- ----------------------------------------------------------
   How OpenMP's threads wait for one another. By default they spin: on a
   core that another process needs they take many times the work's own
   time. The OpenMP runtime reads the policy once, when it is loaded.
------------------------------------------------------------------------- */

#ifndef LMP_WAITING_THREADS_H
#define LMP_WAITING_THREADS_H

#include <string>

namespace nvalchemi {

// have threads sleep while they wait, unless the user chose a policy or a runtime has read its own already

void let_threads_sleep();

// for the log: empty if a policy is set or there is one thread, else that they spin and what to do

std::string describe_waiting(int threads);

}    // namespace nvalchemi

#endif
