# SPDX-License-Identifier: GPL-2.0-only
# Configure and build. Sourced by environment.sh.

# A translation unit that includes torch needs about this much memory while it is compiled.
nvalchemi_megabytes_per_job=2500

# nvalchemi_free_megabytes: print what the system, and the control group if it sets a limit, leave free. Files that
# are kept in memory count as used there, but give way.
nvalchemi_free_megabytes() {
    local free limit used files
    free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
    used=$(cat /sys/fs/cgroup/memory.current 2>/dev/null || echo 0)
    files=$(awk '/^(in)?active_file / { sum += $2 } END { printf "%.0f", sum }' /sys/fs/cgroup/memory.stat \
        2>/dev/null || true)
    used=$((used - ${files:-0}))
    if [ "${limit}" != max ] && [ "$(((limit - used) / 1048576))" -lt "${free}" ]; then
        free=$(((limit - used) / 1048576))
    fi
    echo "${free}"
}

# nvalchemi_jobs: print the number of parallel compilations: one per core, as far as memory reaches.
nvalchemi_jobs() {
    local jobs by_memory
    # nproc would take OMP_NUM_THREADS, which is of LibTorch and LAMMPS, for the number of cores
    jobs=$(unset OMP_NUM_THREADS OMP_THREAD_LIMIT && nproc)
    by_memory=$(($(nvalchemi_free_megabytes) / nvalchemi_megabytes_per_job))
    [ "${by_memory}" -ge "${jobs}" ] || jobs=${by_memory}
    [ "${jobs}" -ge 1 ] || jobs=1
    echo "${NVALCHEMI_JOBS:-${jobs}}"
}

nvalchemi_configure() {
    local arguments=(-S "${NVALCHEMI_REPO}" -B "${NVALCHEMI_BUILD_DIR}" "-DNVALCHEMI_ENV_DIR=${NVALCHEMI_ENV_DIR}"
        "-DNVALCHEMI_GTEST_SOURCE_DIR=${NVALCHEMI_GTEST_SOURCE_DIR:-}" "-DNVALCHEMI_LINT_DIR=${NVALCHEMI_LINT_DIR:-}"
        -DNVALCHEMI_ENABLE_TESTS=OFF)
    local name
    # A build folder keeps its generator; a new one gets ninja where there is one.
    if [ ! -f "${NVALCHEMI_BUILD_DIR}/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        arguments+=(-G Ninja)
    fi
    for name in LAMMPS_ROOT LAMMPS_SOURCE_DIR LAMMPS_EXECUTABLE NVALCHEMI_TORCH_DIR Torch_DIR \
        NVALCHEMI_CACHE NVALCHEMI_INTERFACES_PYTHON; do
        [ -z "${!name:-}" ] || arguments+=("-D${name}=${!name}")
    done
    cmake "${arguments[@]}" "$@" || nvalchemi_fail "cmake could not configure ${NVALCHEMI_BUILD_DIR}" \
        "Its message stands above. If the folder is from another set-up, remove it and try again."
}

nvalchemi_configure_and_compile() {
    local jobs
    jobs=$(nvalchemi_jobs)
    nvalchemi_configure "$@"
    nvalchemi_say "compiling with ${jobs} parallel job$([ "${jobs}" = 1 ] || echo s) in ${NVALCHEMI_BUILD_DIR}"
    cmake --build "${NVALCHEMI_BUILD_DIR}" --parallel "${jobs}" || nvalchemi_fail \
        "the build did not succeed (the compiler's message stands above)" \
        "If the compiler was killed, memory ran out: try NVALCHEMI_JOBS=1."
}

# nvalchemi_build [CMAKE ARGUMENT...]: configure and compile; only what has changed is compiled again, and
# tests only with -DNVALCHEMI_ENABLE_TESTS=ON.
# Needs the runtime environment. Writes env.sh into NVALCHEMI_BUILD_DIR.
nvalchemi_build() {
    mkdir -p "${NVALCHEMI_BUILD_DIR}"
    NVALCHEMI_BUILD_DIR=$(cd "${NVALCHEMI_BUILD_DIR}" && pwd)
    nvalchemi_with_lock "${NVALCHEMI_BUILD_DIR}/.lock" nvalchemi_configure_and_compile "$@"
    export NVALCHEMI_BUILD_DIR
}
