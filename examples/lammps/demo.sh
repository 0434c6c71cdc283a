#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Molecular dynamics of rattled NaCl with SevenNet-0 on several ranks, from nothing: installs what it needs,
# once, into a per-user cache, builds the plugin, exports the potential, runs, and draws one picture.
#
#   bash examples/lammps/demo.sh [--steps N] [--ranks N] [--dtype float64|float32] [--archive FILE] [--build-only]
#
#     --steps N       steps of 1 fs                                  (default: 100)
#     --ranks N       MPI ranks of the decomposed run                (default: 2)
#     --dtype D       precision of the potential, float64 or float32 (default: float64)
#     --archive FILE  use this archive of SevenNet-0 instead of exporting one: saves the export
#                     environment, a download of 2 to 3 GB
#     --build-only    stop once the plugin is built
#
# Everything it leaves is in examples/lammps/output/. It may be repeated: what is there already is used, and
# a second run needs no export environment. What can be set beforehand (caches, an own LAMMPS or LibTorch,
# jobs) is listed in cmake/setup/environment.sh.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup/environment.sh"

examples="${NVALCHEMI_REPO}/examples/lammps"
output="${examples}/output"
steps=100
ranks=2
dtype=float64
archive=
build_only=no

usage() { sed -n '/^#   bash/,/^# jobs)/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# positive_number OPTION VALUE: stop unless VALUE is a whole number >= 1.
positive_number() {
    [[ "$2" =~ ^[1-9][0-9]{0,6}$ ]] || nvalchemi_fail "$1: got '$2', expected a whole number from 1 on"
}

parse_arguments() {
    while [ $# -gt 0 ]; do
        case "$1" in
            -h | --help)
                usage
                exit 0
                ;;
            --steps | --ranks | --dtype | --archive)
                [ $# -ge 2 ] || nvalchemi_fail "$1: got no value, expected one" "bash examples/lammps/demo.sh --help"
                printf -v "${1#--}" '%s' "$2"
                shift 2
                ;;
            --build-only)
                build_only=yes
                shift
                ;;
            *) nvalchemi_fail "got '$1', expected --steps, --ranks, --dtype, --archive, --build-only or --help" ;;
        esac
    done
    positive_number --steps "${steps}"
    positive_number --ranks "${ranks}"
    [ "${dtype}" = float64 ] || [ "${dtype}" = float32 ] ||
        nvalchemi_fail "--dtype: got '${dtype}', expected float64 or float32"
    [ -z "${archive}" ] || [ -f "${archive}" ] || nvalchemi_fail "--archive: ${archive} does not exist" \
        "Export one: nvalchemi-export-sevennet --output FILE"
}

# The exported archive is kept under the digest of all that decides its content.
cached_archive() {
    local cache digest
    cache=$(nvalchemi_cache_dir)
    digest=$(nvalchemi_digest "${NVALCHEMI_REPO}"/potentials/exporters/*.py "${nvalchemi_setup_dir}/requirements-export.txt")
    mkdir -p "${cache}/archives"
    echo "${cache}/archives/sevennet_0-${dtype}-${digest}.pt"
}

export_archive() {
    "${NVALCHEMI_BUILD_DIR}/bin/nvalchemi-export" sevennet --dtype "${dtype}" --output "${archive}" ||
        nvalchemi_fail "SevenNet-0 could not be exported (the exporter's message stands above)"
}

find_or_export_archive() {
    archive=$(cached_archive)
    if [ -f "${archive}" ]; then
        nvalchemi_say "using the SevenNet-0 exported earlier, ${archive}"
        return 0
    fi
    [ -n "${NVALCHEMI_EXPORT_PYTHON:-}" ] || nvalchemi_phase "Environment that exports models" nvalchemi_export_env
    nvalchemi_phase "Export of SevenNet-0, ${dtype}" nvalchemi_with_lock "${archive}.lock" export_archive
}

# A folder with everything that the run needs, so that a reader can go on from there by hand.
prepare_output() {
    mkdir -p "${output}"
    rm -f "${output}"/log.* "${output}"/screen.* "${output}"/dump.* "${output}/demo.png"
    [ "${archive}" -ef "${output}/sevennet_0.pt" ] || cp "${archive}" "${output}/sevennet_0.pt"
    sed "s|^plugin load .*|plugin load ${NVALCHEMI_BUILD_DIR}/lib/nvalchemi_plugin.so|" \
        "${examples}/nacl-sevennet/in.nacl" >"${output}/in.nacl"
}

# run_lammps RANKS NAME: the same input on RANKS ranks; the plugin comes from the input's own `plugin load`.
run_lammps() {
    local ranks=$1 log=log.$2 forces=dump.$2
    (
        cd "${output}"
        env -u LAMMPS_PLUGIN_PATH mpiexec -n "${ranks}" lmp -in in.nacl -log "${log}" \
            -var steps "${steps}" -var forces "${forces}" </dev/null
    ) || nvalchemi_fail "LAMMPS did not finish on ${ranks} rank(s) (its message stands above)" \
        "Its log is ${output}/${log}."
}

run_reference() { run_lammps 1 reference >"${output}/screen.reference"; }

plot() {
    "${NVALCHEMI_ENV_DIR}/bin/python3" "${examples}/plot_demo.py" \
        --decomposed "${output}/log.decomposed" --decomposed-forces "${output}/dump.decomposed" \
        --reference "${output}/log.reference" --reference-forces "${output}/dump.reference" \
        --dtype "${dtype}" --ranks "${ranks}" --output "${output}/demo.png"
}

report_results() {
    printf '\nLeft in %s:\n' "${output}"
    printf '  %-14s  %s\n' demo.png "energy and temperature of the run, and its forces against those on 1 rank" \
        log.decomposed "LAMMPS's log on ${ranks} ranks, with the table of fix nvalchemi/validate" \
        log.reference "the same on 1 rank" \
        "dump.*" "forces of both runs, every 20 steps" \
        in.nacl "the input; run it again from there: mpiexec -n ${ranks} lmp -in in.nacl" \
        sevennet_0.pt "the potential with its card"
    printf 'First put lmp and mpiexec on the path:\n  . %s/env.sh\n' "${NVALCHEMI_BUILD_DIR}"
}

parse_arguments "$@"
nvalchemi_phase "System packages" nvalchemi_check_system_packages python build
nvalchemi_phase "Runtime environment" nvalchemi_runtime_env
nvalchemi_phase "Build" nvalchemi_build
if [ "${build_only}" = yes ]; then
    nvalchemi_print_times
    printf 'Put lmp, mpiexec and the tools on the path:\n  . %s/env.sh\n' "${NVALCHEMI_BUILD_DIR}"
    exit 0
fi
[ -n "${archive}" ] || find_or_export_archive
. "${NVALCHEMI_BUILD_DIR}/env.sh"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} # as many threads for each rank of both runs
prepare_output
nvalchemi_phase "Molecular dynamics, ${steps} steps on ${ranks} rank(s)" run_lammps "${ranks}" decomposed
nvalchemi_phase "The same on 1 rank, for reference" run_reference
nvalchemi_phase "Picture and comparison" plot
nvalchemi_print_times
report_results
