// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ARCHIVE_HPP
#define NVALCHEMI_POTENTIALS_ARCHIVE_HPP

#include <optional>
#include <string>
#include <vector>

#include "potentials/explain_spec.hpp"
#include "potentials/internal_torch.hpp"

namespace nvalchemi {

/// Deserialise a TorchScript file from memory onto `device`, in evaluation mode. Throws ModelError
/// that names `path`; an operator that is not registered is named with what to do about it.
torch::jit::Module load_module(const std::string& archive, const std::string& path,
                               const torch::Device& device);

/// "auto", "cpu", "cuda" or "cuda:N" to a usable device. Loads the CUDA part of LibTorch at run
/// time when a GPU is asked for. Throws ModelError if the device does not exist.
torch::Device select_device(const std::string& name);

}  // namespace nvalchemi

#endif
