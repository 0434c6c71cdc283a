# SPDX-License-Identifier: GPL-2.0-only
# The per-user cache folder and its locks. Sourced by environment.sh and export_python.sh.

# nvalchemi_cache_name: print the per-user cache folder, which need not be there.
nvalchemi_cache_name() {
    echo "${NVALCHEMI_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or NVALCHEMI_CACHE}/.cache}/lammps-nvalchemi}"
}

# nvalchemi_cache_dir: print the per-user cache folder; make it first if need be.
nvalchemi_cache_dir() {
    local dir
    dir=$(nvalchemi_cache_name)
    mkdir -p "${dir}"
    (cd "${dir}" && pwd)
}

# nvalchemi_with_lock FILE COMMAND [ARGUMENT...]: run the command while no other set-up holds FILE.
# The kernel drops the lock when its holder ends, however it ends.
nvalchemi_with_lock() {
    local file=$1 fd
    shift
    exec {fd}>"${file}"
    if ! flock --nonblock "${fd}"; then
        nvalchemi_say "waiting for another set-up that holds ${file}"
        flock --timeout 3600 "${fd}" || nvalchemi_fail "another set-up has held ${file} for an hour" \
            "If none is running any more, delete that file and try again."
    fi
    "$@"
    exec {fd}>&-
}
