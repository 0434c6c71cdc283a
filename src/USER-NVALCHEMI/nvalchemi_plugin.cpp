// SPDX-License-Identifier: GPL-2.0-only
/* ----------------------------------------------------------------------
   The file that "plugin load" names. LAMMPS checks nothing when it opens
   a plugin, and a build for another LAMMPS calls wrong virtual functions.
   So this library needs no symbol of LAMMPS, MPI or LibTorch; it compares
   the host with the stamps of the builds beside it and opens the right
   one, or stops every rank with the reason.
------------------------------------------------------------------------- */

#include "build_stamp.h"
#include "host_facts.h"
#include "lammps_plugin_abi.h"
#include "torch_facts.h"
#include "waiting_threads.h"

#include <cstdio>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;
using nvalchemi::BuildStamp;
using nvalchemi::HostFacts;

namespace {

constexpr char PREFIX[] = "libnvalchemi_lmp_";
constexpr char PINS[] = "requirements.txt";    // in a wheel: the packages that it was built for

struct Build {
  fs::path library;
  BuildStamp stamp;
};

/* ---------------------------------------------------------------------- */

fs::path own_path()
{
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&own_path), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored);
}

/* ---------------------------------------------------------------------- */

bool read_build(const fs::path &stamp_file, Build &build)
{
  std::ifstream file(stamp_file);
  std::ostringstream text;
  text << file.rdbuf();
  build.library = fs::path(stamp_file).replace_extension(".so");
  return nvalchemi::read_stamp(text.str(), build.stamp);
}

/* ---------------------------------------------------------------------- */

std::vector<Build> builds_in(const fs::path &folder)
{
  std::vector<Build> builds;
  std::error_code ignored;
  for (const auto &item : fs::directory_iterator(folder, ignored)) {
    const fs::path &path = item.path();
    if (path.extension() != ".stamp" || path.filename().string().rfind(PREFIX, 0) != 0) continue;
    Build build;
    if (read_build(path, build)) builds.push_back(build);
  }
  return builds;
}

/* ---------------------------------------------------------------------- */

std::string describe(const BuildStamp &stamp)
{
  std::ostringstream text;
  text << "LAMMPS " << stamp.lammps_version
       << " (bytes of tagint, imageint, bigint: " << stamp.tagint_bytes << ", "
       << stamp.imageint_bytes << ", " << stamp.bigint_bytes << "), KOKKOS "
       << (stamp.kokkos ? "yes" : "no") << ", MPI " << stamp.mpi_family;
  return text.str();
}

/* ---------------------------------------------------------------------- */

BuildStamp needed_by(const HostFacts &host)
{
  BuildStamp stamp;
  stamp.lammps_version = host.lammps_version;
  stamp.tagint_bytes = host.tagint_bytes;
  stamp.imageint_bytes = host.imageint_bytes;
  stamp.bigint_bytes = host.bigint_bytes;
  stamp.kokkos = host.kokkos;
  stamp.mpi_family = host.mpi_family;
  return stamp;
}

/* ----------------------------------------------------------------------
   a build without Kokkos styles runs in a host with KOKKOS, not vice versa;
   choose_build() prefers one with them
------------------------------------------------------------------------- */

bool fits(BuildStamp build, BuildStamp host)
{
  if (build.kokkos && !host.kokkos) return false;
  build.kokkos = host.kokkos;
  build.package_version = host.package_version;
  build.torch_version = host.torch_version;    // check_torch() looks at it
  return build == host;
}

/* ---------------------------------------------------------------------- */

std::string pip_command(const fs::path &plugin)
{
  return "    python3 -m pip install -r " + (plugin.parent_path() / PINS).string() + "\n";
}

/* ---------------------------------------------------------------------- */

bool is_in_a_wheel(const fs::path &plugin)
{
  std::error_code ignored;
  return fs::exists(plugin.parent_path() / PINS, ignored);
}

/* ---------------------------------------------------------------------- */

std::string no_build_fits(const fs::path &plugin, const HostFacts &host,
                          const std::vector<Build> &builds)
{
  std::ostringstream text;
  text << "the nvalchemi plugin was not built for this LAMMPS or its MPI.\n"
       << "  this LAMMPS: " << describe(needed_by(host)) << " (" << host.mpi_library << ")\n";
  for (const Build &build : builds)
    text << "  found build: " << describe(build.stamp) << " (" << build.library.string() << ")\n";
  if (builds.empty())
    text << "  found builds: none (no " << PREFIX << "<date>.stamp in "
         << plugin.parent_path().string()
         << "): the build may not have finished; run it again, or\n";
  if (is_in_a_wheel(plugin)) {
    text << "  remedy: install what this package was built for, with the Python that has it:\n"
         << pip_command(plugin)
         << "  or build the plugin for this LAMMPS, outside of pip, and set LAMMPS_PLUGIN_PATH";
    return text.str();
  }
  text << "  remedy: build the plugin with the headers of this LAMMPS and with its MPI:\n"
       << "    cmake -S <source of the plugin> -B build-" << host.lammps_version
       << " -DLAMMPS_ROOT=<where this LAMMPS is installed> -DMPI_CXX_COMPILER=<its mpicxx>\n"
       << "    cmake --build build-" << host.lammps_version << " --parallel 4\n"
       << "    (or -DLAMMPS_SOURCE_DIR=<its source tree> instead of LAMMPS_ROOT)\n"
       << "  and load build-" << host.lammps_version << "/lib/nvalchemi_plugin.so";
  return text.str();
}

/* ----------------------------------------------------------------------
   C++ programs for another LibTorch may open, and end the process later
------------------------------------------------------------------------- */

void check_torch(void *lmp, const fs::path &plugin, const BuildStamp &stamp)
{
  const nvalchemi::TorchFacts torch = nvalchemi::find_torch();
  if (torch.version.empty() || torch.version == stamp.torch_version) return;
  const std::string remedy =
      is_in_a_wheel(plugin)
          ? "install the one that this package was built for, with the Python that has it:\n" +
                pip_command(plugin)
          : "build the plugin with this LibTorch, then load that build:\n"
            "    cmake -S <source of the plugin> -B build-torch-" +
                torch.version + " -DNVALCHEMI_TORCH_DIR=" + torch.folder +
                "\n    cmake --build build-torch-" + torch.version + " --parallel 4\n";
  nvalchemi::stop_host(lmp, "the nvalchemi plugin was built for LibTorch " + stamp.torch_version +
                                ".\n  found: LibTorch " + torch.version + " (" + torch.folder +
                                ")\n  remedy: " + remedy);
}

/* ----------------------------------------------------------------------
   a second copy of the package must not register its operators beside the
   first's: find a build that is already mapped, whoever opened it
------------------------------------------------------------------------- */

int find_mapped_build(dl_phdr_info *info, std::size_t, void *found)
{
  const fs::path path(info->dlpi_name ? info->dlpi_name : "");
  const std::string name = path.filename().string();
  if (name.rfind(PREFIX, 0) != 0 || path.extension() != ".so") return 0;
  std::error_code ignored;
  *static_cast<fs::path *>(found) = fs::weakly_canonical(path, ignored);
  return 1;
}

/* ---------------------------------------------------------------------- */

Build choose_build(void *lmp, const fs::path &plugin)
{
  const HostFacts host = nvalchemi::ask_host(lmp);
  if (!host.missing.empty())
    nvalchemi::stop_host(lmp, "the nvalchemi plugin needs LAMMPS's C function " + host.missing +
                                  ", which this program does not export. Expected: LAMMPS as a "
                                  "shared library (cmake -DBUILD_SHARED_LIBS=on)");

  const std::vector<Build> builds = builds_in(plugin.parent_path());
  const Build *found = nullptr;
  for (const Build &build : builds) {
    if (!fits(build.stamp, needed_by(host))) continue;
    if (!found || (build.stamp.kokkos && !found->stamp.kokkos)) found = &build;
  }
  if (found) return *found;
  nvalchemi::stop_host(lmp, no_build_fits(plugin, host, builds));
}

/* ---------------------------------------------------------------------- */

Build prefer_loaded_copy(void *lmp, const Build &wanted)
{
  fs::path mapped;
  dl_iterate_phdr(find_mapped_build, &mapped);
  if (mapped.empty() || mapped == wanted.library) return wanted;

  Build loaded;
  const bool readable = read_build(fs::path(mapped).replace_extension(".stamp"), loaded);
  if (!readable || !(loaded.stamp == wanted.stamp))
    nvalchemi::stop_host(
        lmp, "two copies of the nvalchemi package in one process.\n  loaded: " + mapped.string() +
                 " (version " + (readable ? loaded.stamp.package_version : "unknown") +
                 ")\n  asked for: " + wanted.library.string() + " (version " +
                 wanted.stamp.package_version + ")\n  remedy: load one of them only");
  if (nvalchemi::host_rank(lmp) == 0) {
    std::printf("nvalchemi: using the copy that is loaded already, %s, instead of %s\n",
                mapped.c_str(), wanted.library.c_str());
    std::fflush(stdout);
  }
  return loaded;
}

/* ----------------------------------------------------------------------
   LAMMPS may carry a plain BLAS of its own, as that of the Python package does. What the program
   has already comes first where the loader looks for a symbol, so LibTorch would multiply its
   matrices with that one, three times slower in all. RTLD_DEEPBIND lets it find its own first.
   Not where another malloc has been put in the place of libc's: what that one hands out would
   then be freed by libc.
------------------------------------------------------------------------- */

int own_symbols_first()
{
  Dl_info place;
  void *const allocator = dlsym(RTLD_DEFAULT, "malloc");
  const bool plain = allocator && dladdr(allocator, &place) &&
                     fs::path(place.dli_fname).filename().string().rfind("libc.so", 0) == 0;
  return plain && dlsym(RTLD_DEFAULT, "dgemm_") ? RTLD_DEEPBIND : 0;
}

}    // namespace

/* ---------------------------------------------------------------------- */

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void *lmp, void *handle,
                                                                         void *register_style)
{
  const fs::path plugin = own_path();
  const Build build = prefer_loaded_copy(lmp, choose_build(lmp, plugin));
  check_torch(lmp, plugin, build.stamp);

  nvalchemi::let_threads_sleep();

  // never unmapped: LibTorch cannot be unloaded, and "plugin unload" closes only this file

  void *library =
      dlopen(build.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | own_symbols_first());
  if (!library)
    nvalchemi::stop_host(
        lmp, "cannot open " + build.library.string() + ": " + dlerror() + "\n  remedy: " +
                 (is_in_a_wheel(plugin) ? "complete the Python environment:\n" + pip_command(plugin)
                                        : "keep the libraries of the plugin and of LibTorch where "
                                          "they were when it was built, or build it again"));
  const auto register_all =
      reinterpret_cast<NvalchemiRegisterAll>(dlsym(library, "nvalchemi_register"));
  if (!register_all)
    nvalchemi::stop_host(lmp, build.library.string() +
                                  " does not export nvalchemi_register: not a build of this "
                                  "package, or a damaged one. Build it again");
  register_all(lmp, handle, reinterpret_cast<NvalchemiRegisterStyle>(register_style));
}
