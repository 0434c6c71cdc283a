#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the package and runs its tests; installs what it needs, once, into a per-user cache.
#
#   bash unittest/run.sh [--quick | --long] [CTest arguments...]
#
#     (nothing)  the CI tier: every test that is not labelled long. LAMMPS with KOKKOS is left out where it cannot be
#                had: the summary then says why
#     --quick    also leaves out the tests labelled slow, and what is not there yet of LAMMPS for the styles of Kokkos
#                and of the environments that export models: under two minutes once everything is built
#     --long     what the CI tier leaves out: the tests labelled long (hours on two cores)
#
# The CI tier and the long one make the environments that export models, a download of 2 to 3 GB.
#
# CTest arguments narrow the choice, for example -L spec or -R halo. What can be set beforehand (caches,
# an own LAMMPS or LibTorch, jobs) is listed in cmake/setup/environment.sh.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup/environment.sh"

usage() { sed -n '/^#   bash/,/^# an own/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

tier=ci
ctest_arguments=()
for argument in "$@"; do
    case "${argument}" in
        --quick) tier=quick ;;
        --long) tier=long ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) ctest_arguments+=("${argument}") ;;
    esac
done
case "${tier}" in
    quick) ctest_arguments+=(--label-exclude '^(long|slow)$') ;;
    ci) ctest_arguments+=(--label-exclude '^long$') ;;
    long) ctest_arguments+=(--label-regex '^long$') ;;
esac

# The archives that are too large to be committed are made once, under the digest of all that decides their content.
make_models() {
    local dir=$1 python
    [ ! -f "${dir}/stamp" ] || return 0
    rm -rf "${dir}"
    python=$(bash "${nvalchemi_setup_dir}/export_python.sh" sevennet) || exit 1
    "${python}" -W ignore "${NVALCHEMI_REPO}/unittest/models/make_models.py" sevennet "${dir}" ||
        nvalchemi_fail "SevenNet-0 could not be exported (the exporter's message stands above)"
    touch "${dir}/stamp"
}

# test_models: sets NVALCHEMI_TEST_MODELS. The quick tier takes them where they are.
test_models() {
    local digest
    digest=$(nvalchemi_digest "${NVALCHEMI_REPO}"/potentials/exporters/*.py "${NVALCHEMI_REPO}/unittest/models/make_models.py" \
        "${nvalchemi_setup_dir}/requirements-export.txt")
    NVALCHEMI_TEST_MODELS="$(nvalchemi_cache_dir)/test-models-${digest}"
    if [ "${tier}" = quick ] && [ ! -f "${NVALCHEMI_TEST_MODELS}/stamp" ]; then
        nvalchemi_say "no SevenNet-0 yet: the other tiers make it"
        NVALCHEMI_TEST_MODELS=
        return 0
    fi
    nvalchemi_with_lock "${NVALCHEMI_TEST_MODELS}.lock" make_models "${NVALCHEMI_TEST_MODELS}"
    nvalchemi_say "using SevenNet-0 in ${NVALCHEMI_TEST_MODELS}"
}

build_with_tests() {
    local warnings=OFF
    [ -z "${CI:-}" ] || warnings=ON
    nvalchemi_build -DNVALCHEMI_ENABLE_TESTS=ON "-DNVALCHEMI_TEST_MODELS_DIR=${NVALCHEMI_TEST_MODELS}" "-DNVALCHEMI_WARNINGS_AS_ERRORS=${warnings}" "${nvalchemi_kokkos_arguments[@]}"
}

run_ctest() {
    ctest_status=0
    rm -rf "${NVALCHEMI_BUILD_DIR}/unittest/reports" # of earlier runs
    ctest --test-dir "${NVALCHEMI_BUILD_DIR}" --parallel "$(nproc)" --output-on-failure --no-tests=error \
        --output-junit "${NVALCHEMI_BUILD_DIR}/tests.xml" "${ctest_arguments[@]}" </dev/null || ctest_status=$?
}

# What summarize.py prints besides: lines "WHAT: WHY".
note_left_out() { printf '%s\n' "${nvalchemi_left_out[@]}" >"${NVALCHEMI_BUILD_DIR}/left_out.txt"; }

# Nobody rebuilds meanwhile.
run_tests() { nvalchemi_with_lock "${NVALCHEMI_BUILD_DIR}/.lock" run_ctest; }

nvalchemi_phase "System packages" nvalchemi_check_system_packages python build test
nvalchemi_phase "Runtime environment" nvalchemi_runtime_env
nvalchemi_phase "GoogleTest" nvalchemi_gtest_source
nvalchemi_phase "Formatters" nvalchemi_lint_env
nvalchemi_phase "ASE and i-PI" nvalchemi_interfaces_env
[ "${tier}" = quick ] || nvalchemi_phase "Environments that export models" nvalchemi_all_export_envs
nvalchemi_phase "Model archives" test_models
[ "${tier}" != quick ] || NVALCHEMI_KOKKOS=${NVALCHEMI_KOKKOS:-present}
nvalchemi_phase "LAMMPS with KOKKOS" nvalchemi_kokkos_lammps
nvalchemi_phase "Build" build_with_tests
note_left_out
nvalchemi_phase "Tests (${tier})" run_tests
nvalchemi_print_times
"${NVALCHEMI_ENV_DIR}/bin/python3" -sE "${NVALCHEMI_REPO}/unittest/summarize.py" "${NVALCHEMI_BUILD_DIR}" || ctest_status=1
exit "${ctest_status}"
