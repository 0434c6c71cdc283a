#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the package and runs its tests; installs what it needs, once, into a per-user cache.
#
#   bash unittest/run.sh [--quick | --long] [--export] [CTest arguments...]
#
#     (nothing)  the CI tier: every test that is not labelled long
#     --quick    also leaves out the tests labelled slow, and the styles for Kokkos where their LAMMPS is not there yet:
#                under two minutes once everything is built
#     --long     what the CI tier leaves out: the tests labelled long (hours on two cores)
#     --export   also makes the environments that export models (a download of 2 to 3 GB), so that the tests
#                of the exporters run; without it they run where their environment is there already
#
# CTest arguments narrow the choice, for example -L spec or -R halo. What can be set beforehand (caches,
# an own LAMMPS or LibTorch, jobs) is listed in cmake/setup/environment.sh.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup/environment.sh"

usage() { sed -n '/^#   bash/,/^# an own/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

tier=ci
find_or_make_export_env=nvalchemi_find_export_env
ctest_arguments=()
for argument in "$@"; do
    case "${argument}" in
        --quick) tier=quick ;;
        --long) tier=long ;;
        --export) find_or_make_export_env=nvalchemi_all_export_envs ;;
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

find_fixtures() {
    local dir=${NVALCHEMI_FIXTURES:-${NVALCHEMI_REPO}/../shared/fixtures}
    if [ -d "${dir}" ]; then
        NVALCHEMI_FIXTURES=$(cd "${dir}" && pwd)
        export NVALCHEMI_FIXTURES
    fi
    nvalchemi_say "model archives for tests: ${NVALCHEMI_FIXTURES:-none (tests that need them are skipped; set NVALCHEMI_FIXTURES)}"
}

build_with_tests() {
    local warnings=OFF
    [ -z "${CI:-}" ] || warnings=ON
    nvalchemi_build -DNVALCHEMI_ENABLE_TESTS=ON "-DNVALCHEMI_WARNINGS_AS_ERRORS=${warnings}" "${nvalchemi_kokkos_arguments[@]}"
}

run_ctest() {
    ctest_status=0
    rm -rf "${NVALCHEMI_BUILD_DIR}/unittest/reports" # of earlier runs
    ctest --test-dir "${NVALCHEMI_BUILD_DIR}" --parallel "$(nproc)" --output-on-failure --no-tests=error \
        --output-junit "${NVALCHEMI_BUILD_DIR}/tests.xml" "${ctest_arguments[@]}" </dev/null || ctest_status=$?
}

# Nobody rebuilds meanwhile.
run_tests() { nvalchemi_with_lock "${NVALCHEMI_BUILD_DIR}/.lock" run_ctest; }

find_fixtures
nvalchemi_phase "System packages" nvalchemi_check_system_packages
nvalchemi_phase "Runtime environment" nvalchemi_runtime_env
nvalchemi_phase "GoogleTest" nvalchemi_gtest_source
nvalchemi_phase "Formatters" nvalchemi_lint_env
nvalchemi_phase "ASE and i-PI" nvalchemi_interfaces_env
nvalchemi_phase "Export environments" "${find_or_make_export_env}"
[ "${tier}" != quick ] || NVALCHEMI_KOKKOS=${NVALCHEMI_KOKKOS:-present}
nvalchemi_phase "LAMMPS with KOKKOS" nvalchemi_kokkos_lammps
nvalchemi_phase "Build" build_with_tests
nvalchemi_phase "Tests (${tier})" run_tests
nvalchemi_print_times
"${NVALCHEMI_ENV_DIR}/bin/python3" -sE "${NVALCHEMI_REPO}/unittest/summarize.py" "${NVALCHEMI_BUILD_DIR}" || ctest_status=1
exit "${ctest_status}"
