#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# For CTest: runs a Python script in the environment of an exporter; without one the test is skipped, with the reason.
#
#   bash with_export_python.sh FAMILY|interfaces SCRIPT [ARGUMENT...]
set -euo pipefail

family=$1
shift

skip() {
    echo "SKIPPED: $1" >&2
    exit 77
}

if [ "${family}" = interfaces ]; then
    python=${NVALCHEMI_INTERFACES_PYTHON:-}
    [ -n "${python}" ] || skip "no Python with ASE and i-PI: 'bash unittest/run.sh' makes one, a download of 50 MB"
else
    python=$(bash "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup/export_python.sh" "${family}" 2>&1) ||
        skip "$(sed -n 's/^error: //p' <<<"${python}") ('bash unittest/run.sh' makes all)"
fi
exec "${python}" "$@"
