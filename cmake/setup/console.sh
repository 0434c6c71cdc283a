# SPDX-License-Identifier: GPL-2.0-only
# Progress lines, failures with a remedy, parts that may be left out, and the table of where the time went. Sourced by environment.sh.

nvalchemi_start_seconds=${SECONDS}
nvalchemi_phase_names=()
nvalchemi_phase_seconds=()
nvalchemi_left_out=() # lines "WHAT: WHY"

# nvalchemi_say TEXT...: one progress line, stamped with the seconds since the command began.
nvalchemi_say() {
    printf '[%4d s] %s\n' "$((SECONDS - nvalchemi_start_seconds))" "$*"
}

# nvalchemi_fail PROBLEM [REMEDY...]: print the problem and, line by line, what to do; leave with status 1.
nvalchemi_fail() {
    printf '\nerror: %s\n' "$1" >&2
    [ -z "${nvalchemi_why_file:-}" ] || printf '%s\n' "$1" >"${nvalchemi_why_file}"
    shift
    local line
    for line in "$@"; do
        printf '       %s\n' "${line}" >&2
    done
    exit 1
}

# nvalchemi_leave_out WHAT WHY: note a part that is not made, for the summary at the end.
nvalchemi_leave_out() {
    nvalchemi_say "left out: $1: $2"
    nvalchemi_left_out+=("$1: $2")
}

# nvalchemi_optional WHAT COMMAND [ARGUMENT...]: run the command in a shell of its own; where it fails, leave WHAT out and
# go on.
nvalchemi_optional() {
    local what=$1 why_file why status
    shift
    why_file=$(mktemp)
    set +e # a command whose status is looked at by `if` or `||` would go on after a failure inside
    (
        set -e
        nvalchemi_why_file=${why_file}
        "$@"
    )
    status=$?
    set -e
    why=$(cat "${why_file}")
    rm "${why_file}"
    [ "${status}" = 0 ] || nvalchemi_leave_out "${what}" "${why:-it failed with status ${status}, its message stands above}"
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
