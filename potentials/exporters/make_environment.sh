#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the Python environment that an exporter needs, once, in a per-user cache, and tells the build of it.
#
#   bash potentials/exporters/make_environment.sh sevennet|mace|nequip|orb|d3
#
#     sevennet   Python torch, sevenn and e3nn: a download of 2 to 3 GB, 5.2 GB on disk; also for networks of
#                your own
#     mace       the same, and mace-torch with the older e3nn that it needs, 60 MB on disk
#     nequip     the same, and nequip with nequip-allegro, 45 MB on disk
#     orb        the same, and orb-models, 110 MB on disk
#     d3         the same torch, and torch-dftd, 2 MB on disk
#
# Afterwards the command nvalchemi-export-<that name> of the build folder works. What can be set beforehand
# is listed in cmake/setup/environment.sh.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup/environment.sh"

usage() { sed -n '/^#   bash/,/^# is listed/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# tell_build VARIABLE: an existing build folder learns which Python it is; without one, the user does.
tell_build() {
    if [ -f "${NVALCHEMI_BUILD_DIR}/CMakeCache.txt" ]; then
        cmake "-D$1=${!1}" "${NVALCHEMI_BUILD_DIR}" >/dev/null ||
            nvalchemi_fail "cmake could not configure ${NVALCHEMI_BUILD_DIR} again"
    fi
    nvalchemi_say "$1=${!1}"
}

case "${1:-}" in
    sevennet)
        nvalchemi_phase "System packages" nvalchemi_check_system_packages python
        nvalchemi_phase "Export environment" nvalchemi_export_env
        tell_build NVALCHEMI_EXPORT_PYTHON
        ;;
    mace | nequip | orb | d3)
        nvalchemi_phase "System packages" nvalchemi_check_system_packages python
        nvalchemi_phase "Export environment of $1" nvalchemi_export_family_env "$1"
        tell_build "$(nvalchemi_family_variable "$1")"
        ;;
    -h | --help) usage ;;
    *) nvalchemi_fail "got '${1:-}', expected sevennet, mace, nequip, orb, d3 or --help" ;;
esac
