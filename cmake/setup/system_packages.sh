# SPDX-License-Identifier: GPL-2.0-only
# What must come from the system's own package manager. Sourced by environment.sh.

NVALCHEMI_PYTHON=${NVALCHEMI_PYTHON:-python3}
nvalchemi_missing_packages=()
nvalchemi_missing_reasons=()

# nvalchemi_need PACKAGE REASON: note a package that has to be installed.
nvalchemi_need() {
    nvalchemi_missing_packages+=("$1")
    nvalchemi_missing_reasons+=("$2")
}

# nvalchemi_version_at_least FOUND MINIMUM: dotted numbers compared as versions.
nvalchemi_version_at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort --version-sort | head -n 1)" = "$2" ]
}

nvalchemi_check_compiler() {
    local compiler=${CXX:-g++} version
    if ! command -v "${compiler}" >/dev/null; then
        nvalchemi_need g++ "C++ compiler: '${compiler}' is not on the path, expected g++ 12 or later"
        return 0
    fi
    version=$("${compiler}" -dumpfullversion 2>/dev/null || echo 0)
    if "${compiler}" --version | grep -qiE '^(g\+\+|gcc|c\+\+)' && ! nvalchemi_version_at_least "${version}" 12; then
        nvalchemi_need g++-12 "C++ compiler: '${compiler}' is version ${version}, expected 12 or later (then set CXX=g++-12)"
    fi
}

nvalchemi_check_cmake() {
    local version
    if ! command -v cmake >/dev/null; then
        nvalchemi_need cmake "cmake is not on the path, expected 3.22 or later"
    else
        version=$(cmake --version | sed -n '1s/^cmake version \([0-9.]*\).*/\1/p')
        nvalchemi_version_at_least "${version}" 3.22 ||
            nvalchemi_need cmake "cmake is version ${version}, expected 3.22 or later"
    fi
    command -v ninja >/dev/null || command -v make >/dev/null ||
        nvalchemi_need make "neither ninja nor make is on the path"
}

nvalchemi_check_python() {
    local version
    if ! command -v "${NVALCHEMI_PYTHON}" >/dev/null; then
        nvalchemi_need python3-venv "Python: '${NVALCHEMI_PYTHON}' is not on the path, expected 3.11 or later"
        return 0
    fi
    version=$("${NVALCHEMI_PYTHON}" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! nvalchemi_version_at_least "${version}" 3.11; then
        nvalchemi_need python3.11-venv "Python: '${NVALCHEMI_PYTHON}' is ${version}, expected 3.11 or later (or set NVALCHEMI_PYTHON)"
    elif ! "${NVALCHEMI_PYTHON}" -I -c 'import venv, ensurepip' 2>/dev/null; then
        nvalchemi_need "python${version}-venv" "Python ${version} cannot make virtual environments (venv and ensurepip are missing)"
    fi
}

# nvalchemi_check_system_packages: stop, with the line to run, unless compiler, cmake, make or ninja, and
# Python with venv are there. Looks only; installs nothing.
nvalchemi_check_system_packages() {
    nvalchemi_missing_packages=()
    nvalchemi_missing_reasons=()
    nvalchemi_check_compiler
    nvalchemi_check_cmake
    nvalchemi_check_python
    command -v flock >/dev/null || nvalchemi_need util-linux "flock is not on the path"
    if [ "${#nvalchemi_missing_packages[@]}" -gt 0 ]; then
        local sudo="sudo "
        [ "$(id -u)" -ne 0 ] || sudo=""
        nvalchemi_fail "system packages are missing:" "${nvalchemi_missing_reasons[@]}" \
            "On Debian and its relatives run:" \
            "    ${sudo}apt-get update && ${sudo}apt-get install -y ${nvalchemi_missing_packages[*]}"
    fi
}
