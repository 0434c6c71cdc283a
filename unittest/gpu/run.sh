#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests pair style nvalchemi/kk on a GPU machine: every test case against the numbers of its package, on 1 and 2 ranks
# (which share a GPU where there is one), and what unittest/gpu/test_*.py, unittest/mpi/test_kokkos.py and
# test_kokkos_gpu.py say besides.
#
#   bash unittest/gpu/run.sh [CMake arguments...]
#
# It builds nothing that it need not: with NVALCHEMI_PLUGIN (nvalchemi_plugin.so) and NVALCHEMI_KOKKOS_LAMMPS (lmp) it
# only runs. Otherwise it builds in NVALCHEMI_BUILD_DIR (default: build-gpu), given
#   LAMMPS_SOURCE_DIR     the LAMMPS with KOKKOS for CUDA (src/, src/KOKKOS/)
#   LAMMPS_EXECUTABLE     its lmp
#   Kokkos_ROOT           the Kokkos that it was built with
#   NVALCHEMI_TORCH_DIR   a LibTorch for CUDA (default: that of python3)
# NVALCHEMI_MPIEXEC (default: mpiexec) starts the ranks; NVALCHEMI_TEST_MODELS a folder of archives beside the committed ones;
# NVALCHEMI_KOKKOS_GPUS (default: all) is the number of GPUs to use. NVALCHEMI_MEASURE, an archive that knows Na and Cl,
# asks for measurements with it afterwards, which go to gpu_numbers.json (unittest/benchmark/measure_gpu.py says more).
set -euo pipefail

NVALCHEMI_BUILD_DIR=${NVALCHEMI_BUILD_DIR:-$(dirname "${BASH_SOURCE[0]}")/../../build-gpu}
. "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup/environment.sh"

runner="${NVALCHEMI_REPO}/unittest/script_runner.py"
bars='import json, sys
bars = {"dE": 1e-8, "dEatom": 5e-9, "dF": 5e-9, "dS": 1e-10}
found = json.loads(sys.stdin.read())
print("  ".join(f"{name} {found[name]:.2e}" for name in bars), end="  ")
sys.exit(any(not found[name] <= bar for name, bar in bars.items()))'

need_gpu() {
    nvidia-smi -L || nvalchemi_fail "nvidia-smi finds no GPU" "Run this on a machine with an NVIDIA GPU and its driver."
    gpus=${NVALCHEMI_KOKKOS_GPUS:-$(nvidia-smi -L | grep -c '^GPU')}
}

build_if_needed() {
    if [ -n "${NVALCHEMI_PLUGIN:-}" ] && [ -n "${NVALCHEMI_KOKKOS_LAMMPS:-}" ]; then
        nvalchemi_say "using ${NVALCHEMI_PLUGIN}"
        return 0
    fi
    nvalchemi_check_system_packages build
    local name
    for name in LAMMPS_SOURCE_DIR LAMMPS_EXECUTABLE Kokkos_ROOT; do
        [ -n "${!name:-}" ] || nvalchemi_fail "${name} is not set" "See the head of unittest/gpu/run.sh."
    done
    NVALCHEMI_TORCH_DIR=${NVALCHEMI_TORCH_DIR:-$("${NVALCHEMI_PYTHON}" -c 'import os, torch; print(os.path.dirname(torch.__file__))')}
    export NVALCHEMI_TORCH_DIR
    NVALCHEMI_ENV_DIR=${NVALCHEMI_ENV_DIR:-}
    nvalchemi_build -DNVALCHEMI_ENABLE_KOKKOS=ON -DNVALCHEMI_ENABLE_CUDA=ON "-DKokkos_ROOT=${Kokkos_ROOT}" "$@"
    . "${NVALCHEMI_BUILD_DIR}/env.sh"
    export NVALCHEMI_PLUGIN="${NVALCHEMI_BUILD_DIR}/lib/nvalchemi_plugin.so"
}

# check_case ARCHIVE CASE RANKS PACKAGE: one line.
check_case() {
    local archive=$1 case=$2 ranks=$3 package=$4 newton=on output verdict=ok
    case "${package}" in *"newton off"*) newton=off ;; esac
    output=$("${NVALCHEMI_PYTHON}" "${NVALCHEMI_REPO}/unittest/mpi/run_case.py" --archive "${archive}" \
        --card "${archive%.pt}.card.json" --case "${case}" -n "${ranks}" --style nvalchemi/kk --newton "${newton}" --against case \
        --lammps "${NVALCHEMI_KOKKOS_LAMMPS}" --kokkos "on g ${gpus} -pk kokkos gpu/aware off ${package}" 2>&1) || verdict=FAILED
    printf '%-28s %-18s %d ranks  newton %-3s  ' "$(basename "${archive}")" "$(basename "${case}" .json)" "${ranks}" "${newton}"
    if [ "${verdict}" = ok ]; then
        echo "${output}" | tail -n 1 | "${NVALCHEMI_PYTHON}" -I -c "${bars}" || verdict=DIFFERENT
    fi
    echo "${verdict}"
    [ "${verdict}" = ok ] && return 0
    failures=$((failures + 1))
    [ "${verdict}" = DIFFERENT ] || echo "${output}" | tail -n 5
}

# start_case ARCHIVE CASE RANKS PACKAGE: once one of `jobs` places is free; its lines come in one piece.
start_case() {
    while [ "$(jobs -rp | wc -l)" -ge "${jobs}" ]; do wait -n || true; done
    local name
    name=$(mktemp -p "${results}")
    {
        failures=0
        check_case "$@" >"${name}"
        [ "${failures}" = 0 ] || echo 1 >"${name}.failures"
        cat "${name}"
    } &
}

# The case of an archive is that of the longest name that its own name begins with.
case_of() {
    local archive=$1 crystal=$2 stem file best=""
    stem=$(basename "${archive}" .pt)
    for file in "$(dirname "${archive}")"/*_"${crystal}".json; do
        local name
        name=$(basename "${file}" "_${crystal}.json")
        case "${stem}" in "${name}"*) [ "${#name}" -le "${#best}" ] || best=${name} ;; esac
    done
    echo "$(dirname "${archive}")/${best}_${crystal}.json"
}

# Several at once: each is short and leaves the GPU idle most of the time.
run_cases() {
    local archive crystal ranks
    local archives=("${NVALCHEMI_REPO}"/unittest/models/archives/*.pt)
    [ -z "${NVALCHEMI_TEST_MODELS:-}" ] || archives+=("${NVALCHEMI_TEST_MODELS}"/*.pt)
    local jobs=${NVALCHEMI_JOBS:-$(($(nproc) / 4 + 1))} results
    results=$(mktemp -d)
    for archive in "${archives[@]}"; do
        for crystal in nacl64 si64; do
            [ -f "$(case_of "${archive}" "${crystal}")" ] || continue
            for ranks in 1 2; do
                start_case "${archive}" "$(case_of "${archive}" "${crystal}")" "${ranks}" "newton off neigh full"
            done
            start_case "${archive}" "$(case_of "${archive}" "${crystal}")" 2 "newton on neigh half"
        done
    done
    wait
    failures=$(find "${results}" -name '*.failures' | wc -l)
    rm -r "${results}"
    nvalchemi_say "cases: ${failures} failed"
}

run_kokkos_tests() {
    local program
    for program in test_kokkos test_kokkos_gpu; do
        NVALCHEMI_KOKKOS_GPUS=${gpus} "${NVALCHEMI_PYTHON}" "${runner}" "${NVALCHEMI_REPO}/unittest/mpi/${program}.py" || failures=$((failures + 1))
    done
}

run_operator_tests() {
    local program
    for program in "${NVALCHEMI_REPO}"/unittest/gpu/test_*.py; do
        NVALCHEMI_KERNELS_LIBRARY="$(dirname "${NVALCHEMI_PLUGIN}")/libnvalchemi_kernels.so" \
            "${NVALCHEMI_PYTHON}" "${runner}" "${program}" || failures=$((failures + 1))
    done
}

measure() {
    local exchange_time="${NVALCHEMI_BUILD_DIR}/lib/exchange_time" tracer="${NVALCHEMI_BUILD_DIR}/lib/libtrace_cuda.so" options=()
    [ ! -x "${exchange_time}" ] || options+=(--exchange-time "${exchange_time}")
    [ ! -f "${tracer}" ] || options+=(--tracer "${tracer}")
    "${NVALCHEMI_PYTHON}" "${NVALCHEMI_REPO}/unittest/benchmark/measure_gpu.py" --archive "${NVALCHEMI_MEASURE}" \
        --output gpu_numbers.json "${options[@]}" || failures=$((failures + 1))
}

nvalchemi_phase "GPU" need_gpu
nvalchemi_phase "Build" build_if_needed "$@"
nvalchemi_phase "Cases" run_cases
nvalchemi_phase "Operators on a GPU against the CPU" run_operator_tests
nvalchemi_phase "nvalchemi/kk against nvalchemi" run_kokkos_tests
[ -z "${NVALCHEMI_MEASURE:-}" ] || nvalchemi_phase "Measurements" measure
nvalchemi_print_times
exit "$((failures > 0))"
