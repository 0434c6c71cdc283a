# SPDX-License-Identifier: GPL-2.0-only
# Progress lines, failures with a remedy, and the table of where the time went. Sourced by environment.sh.

nvalchemi_start_seconds=${SECONDS}
nvalchemi_phase_names=()
nvalchemi_phase_seconds=()

# nvalchemi_say TEXT...: one progress line, stamped with the seconds since the command began.
nvalchemi_say() {
    printf '[%4d s] %s\n' "$((SECONDS - nvalchemi_start_seconds))" "$*"
}

# nvalchemi_fail PROBLEM [REMEDY...]: print the problem and, line by line, what to do; leave with status 1.
nvalchemi_fail() {
    printf '\nerror: %s\n' "$1" >&2
    shift
    local line
    for line in "$@"; do
        printf '       %s\n' "${line}" >&2
    done
    exit 1
}

# nvalchemi_phase NAME COMMAND [ARGUMENT...]: announce, run (functions too) and time one phase.
nvalchemi_phase() {
    local name=$1 begin=${SECONDS}
    shift
    nvalchemi_say "${name}"
    "$@"
    nvalchemi_phase_names+=("${name}")
    nvalchemi_phase_seconds+=("$((SECONDS - begin))")
}

# nvalchemi_print_times: the table of phases, in the order in which they ran.
nvalchemi_print_times() {
    local i
    printf '\nWhere the time went:\n'
    for i in "${!nvalchemi_phase_names[@]}"; do
        printf '  %5d s  %s\n' "${nvalchemi_phase_seconds[i]}" "${nvalchemi_phase_names[i]}"
    done
    printf '  %5d s  in all\n' "$((SECONDS - nvalchemi_start_seconds))"
}
