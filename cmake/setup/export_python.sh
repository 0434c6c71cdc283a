#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the Python that exports models of a family; without one it says what to do, with status 1.
#
#   bash export_python.sh FAMILY [--make-environment]
#
# NVALCHEMI_EXPORT_PYTHON is an own Python to use instead of an environment in the cache, and NVALCHEMI_WHEEL_PYTHON the
# one that this package is installed in, which is used if it has what the family needs.
set -euo pipefail

nvalchemi_setup_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "${nvalchemi_setup_dir}/console.sh"
. "${nvalchemi_setup_dir}/system_packages.sh"
. "${nvalchemi_setup_dir}/cache.sh"
. "${nvalchemi_setup_dir}/python_environments.sh"
. "${nvalchemi_setup_dir}/export_environments.sh"

family=${1:-}
make=${2:-}
exec {answer}>&1 1>&2 # whatever else is said is no answer

print_and_stop() {
    printf '%s\n' "$1" >&"${answer}"
    exit 0
}

in_one_line() { paste -s -d ' '; }

packages() { nvalchemi_modules_of "${family}" | tr ' ' '\n' | cut -d . -f 1 | uniq | in_one_line | sed 's/ / and /g'; }

# What the user has chosen is used or refused, never replaced.
check_own_python() {
    local own=${NVALCHEMI_EXPORT_PYTHON} missing
    [ -z "${make}" ] || nvalchemi_fail "--make-environment: NVALCHEMI_EXPORT_PYTHON=${own} is set, which is used instead" \
        "Unset it to have an environment made, or leave out --make-environment."
    missing=$(nvalchemi_missing_modules "${own}" "${family}") ||
        nvalchemi_fail "NVALCHEMI_EXPORT_PYTHON=${own} is no Python that starts" \
            "Set it to a Python that has $(packages), or unset it."
    [ -z "${missing}" ] || nvalchemi_fail "NVALCHEMI_EXPORT_PYTHON=${own} has no ${missing// / and no }" \
        "Install it there, or set another Python that has $(packages), or unset it and run once:" \
        "  nvalchemi-export ${family} --make-environment"
}

has_modules() {
    local missing
    missing=$(nvalchemi_missing_modules "$1" "${family}") && [ -z "${missing}" ]
}

fail_without_environment() {
    local first=() beside=()
    [ "${environment}" = export ] || nvalchemi_find_export_env export >/dev/null ||
        first=("and, before, torch: $(nvalchemi_size_of export)")
    [ -z "${NVALCHEMI_WHEEL_PYTHON:-}" ] || beside=("or install what it needs beside this package:"
        "  ${NVALCHEMI_WHEEL_PYTHON} -m pip install $(grep -v '^#' "${nvalchemi_setup_dir}/requirements-${environment}.txt" |
            in_one_line)")
    nvalchemi_fail "there is no Python environment that exports ${family} in $(nvalchemi_cache_name)" \
        "Make it, once (a download of $(nvalchemi_size_of "${environment}")${first:+; }${first[*]}):" \
        "  nvalchemi-export ${family} --make-environment" \
        "${beside[@]}" \
        "or set NVALCHEMI_EXPORT_PYTHON to a Python that has $(packages)."
}

environment=$(nvalchemi_environment_of "${family}")
[ -n "${environment}" ] ||
    nvalchemi_fail "got '${family}', expected one of: $(nvalchemi_export_names family | in_one_line)"
[ -z "${make}" ] || [ "${make}" = --make-environment ] || nvalchemi_fail "got '${make}', expected --make-environment"
if [ -n "${NVALCHEMI_EXPORT_PYTHON:-}" ]; then
    check_own_python
    print_and_stop "${NVALCHEMI_EXPORT_PYTHON}"
fi
if [ "${environment}" = - ]; then
    print_and_stop "${NVALCHEMI_WHEEL_PYTHON:-${NVALCHEMI_PYTHON}}"
fi
if [ -n "${make}" ]; then
    nvalchemi_check_system_packages python
    nvalchemi_export_env "${environment}"
    print_and_stop "${nvalchemi_export_dir}/bin/python3"
fi
if [ -n "${NVALCHEMI_WHEEL_PYTHON:-}" ] && has_modules "${NVALCHEMI_WHEEL_PYTHON}"; then
    print_and_stop "${NVALCHEMI_WHEEL_PYTHON}"
fi
dir=$(nvalchemi_find_export_env "${environment}") || fail_without_environment
print_and_stop "${dir}/bin/python3"
