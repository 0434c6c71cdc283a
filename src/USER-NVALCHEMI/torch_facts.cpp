// SPDX-License-Identifier: GPL-2.0-only

#include "torch_facts.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <system_error>

namespace fs = std::filesystem;

namespace nvalchemi {

namespace {

/* ----------------------------------------------------------------------
   the smallest of LibTorch's libraries; the loader takes one that is
   mapped already, whoever opened it, and so it does for all of LibTorch
------------------------------------------------------------------------- */

fs::path library_folder()
{
  void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  std::error_code ignored;
  return fs::canonical(map->l_name, ignored).parent_path();
}

/* ---------------------------------------------------------------------- */

std::string version_in(const fs::path &header)
{
  std::string parts[3];
  const char *const names[3] = {"TORCH_VERSION_MAJOR", "TORCH_VERSION_MINOR",
                                "TORCH_VERSION_PATCH"};
  std::ifstream file(header);
  for (std::string word, value; file >> word;)
    for (int k = 0; k < 3; k++)
      if (word == names[k] && parts[k].empty() && file >> value) parts[k] = value;
  if (parts[0].empty() || parts[1].empty() || parts[2].empty()) return "";
  return parts[0] + "." + parts[1] + "." + parts[2];
}

}    // namespace

/* ---------------------------------------------------------------------- */

TorchFacts find_torch()
{
  const fs::path libraries = library_folder();
  if (libraries.empty()) return {};
  TorchFacts facts;
  facts.folder = libraries.parent_path().string();
  for (const char *header :
       {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"})
    if (facts.version.empty())
      facts.version = version_in(libraries.parent_path() / "include" / header);
  return facts;
}

}    // namespace nvalchemi
