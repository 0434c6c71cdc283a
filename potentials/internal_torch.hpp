// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_INTERNAL_TORCH_HPP
#define NVALCHEMI_POTENTIALS_INTERNAL_TORCH_HPP

// The one place where potentials/ pulls in torch: expensive to parse, hence precompiled.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/script.h>
#include <torch/version.h>

#endif
