#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the package with sanitizers of the compiler, in a folder of its own, and runs there the tests of its own code.
#
#   bash unittest/sanitizers/run.sh (address,undefined | thread) [CTest arguments...]
#
# The build folder is sanitized-... in that of an ordinary build. LibTorch, LAMMPS and MPI are used as they are: what
# happens in them alone is not seen.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup/environment.sh"

sanitizers=${1:-}
case "${sanitizers}" in
    address,undefined | thread) shift ;;
    *) nvalchemi_fail "sanitizers: got '${sanitizers}', expected address,undefined or thread" "" ;;
esac
NVALCHEMI_BUILD_DIR=${NVALCHEMI_BUILD_DIR}/sanitized-${sanitizers//,/-}

# Not these: they start Python with a library of ours in it, look at what is built or installed, or at memory.
left_out='^(mpi_memory|mpi_validate_mutants|kernels_python_.*|exporters_.*|interfaces_.*|fuzz_.*|check_.*)$'
labels='^(spec|kernels|potentials|mpi)$'

nvalchemi_phase "System packages" nvalchemi_check_system_packages python build test
nvalchemi_phase "Runtime environment" nvalchemi_runtime_env
nvalchemi_phase "GoogleTest" nvalchemi_gtest_source
NVALCHEMI_KOKKOS=${NVALCHEMI_KOKKOS:-present}
nvalchemi_phase "LAMMPS with KOKKOS" nvalchemi_kokkos_lammps
nvalchemi_phase "Build" nvalchemi_build -DNVALCHEMI_ENABLE_TESTS=ON -DNVALCHEMI_ENABLE_CUDA=OFF \
    "-DNVALCHEMI_SANITIZERS=${sanitizers}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 \
    "${nvalchemi_kokkos_arguments[@]}"
nvalchemi_print_times
ctest --test-dir "${NVALCHEMI_BUILD_DIR}" --parallel "$(nproc)" --output-on-failure --no-tests=error --timeout 3600 \
    -L "${labels}" -LE '^long$' -E "${left_out}" "$@" </dev/null
