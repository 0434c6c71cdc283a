# SPDX-License-Identifier: GPL-2.0-only
# A LAMMPS with its package KOKKOS, on the host, to test the styles with suffix kk: 4 Feb 2025 with Kokkos 4.7.00,
# built once from source into the cache, with the MPI of the runtime environment. Sourced by environment.sh.
#
# Sources come from the folder NVALCHEMI_TOOLCHAIN where it has them (kokkos-4.7.00-src.tar.xz and
# lammps-4Feb2025-trimmed-src.tar.xz or lammps_20250204+dfsg.1.orig.tar.xz), else from registries: Kokkos with pip, LAMMPS
# with apt-get, from the source packages of Debian's release of that time. Both are told by their checksums.

: "${nvalchemi_setup_dir:?source environment.sh, which sources this file}"

nvalchemi_kokkos_sdist=pygenten-0.1.5.tar.gz
nvalchemi_lammps_source=lammps_20250204+dfsg.1.orig.tar.xz
nvalchemi_source_checksums="
e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7 ${nvalchemi_kokkos_sdist}
3671165bd52fad36734e0a9136c5bc5ecb225e03988f8c89aa13366a8b53b1c7 ${nvalchemi_lammps_source}
2048fd8635d62e75f9c646d3ddea048585a8080419cb56da63269bd964969300 kokkos-4.7.00-src.tar.xz
9fee34ac7b012ee404326c27dd22d3c61a7760b16805f564d2806af79e33f853 lammps-4Feb2025-trimmed-src.tar.xz"

# nvalchemi_check_source FILE: stop unless its checksum is the one known for its name.
nvalchemi_check_source() {
    local expected found
    [ -f "$1" ] || nvalchemi_fail "$1 was not downloaded" "Check the network and run the same command again."
    expected=$(echo "${nvalchemi_source_checksums}" | awk -v name="${1##*/}" '$2 == name { print $1 }')
    found=$(sha256sum "$1" | cut -d ' ' -f 1)
    [ "${found}" = "${expected}" ] || nvalchemi_fail "$1 has the checksum ${found}, expected ${expected:-a file of a known name}" \
        "Delete it and run the same command again; a download may have been cut short."
}

# nvalchemi_find_source NAME...: print the first of the named files that NVALCHEMI_TOOLCHAIN holds, checked.
nvalchemi_find_source() {
    local name
    [ -n "${NVALCHEMI_TOOLCHAIN:-}" ] || return 0
    for name in "$@"; do
        if [ -f "${NVALCHEMI_TOOLCHAIN}/${name}" ]; then
            nvalchemi_check_source "${NVALCHEMI_TOOLCHAIN}/${name}"
            echo "${NVALCHEMI_TOOLCHAIN}/${name}"
            return 0
        fi
    done
}

nvalchemi_download_kokkos() {
    nvalchemi_pip "${NVALCHEMI_ENV_DIR}/bin/python3" download --quiet --no-deps --no-binary pygenten --dest "$1" \
        -r "${nvalchemi_setup_dir}/requirements-kokkos.txt"
    nvalchemi_check_source "$1/${nvalchemi_kokkos_sdist}"
}

# The machine's own repository, another release of it; the system's lists stay as they are.
nvalchemi_download_lammps() {
    local dir=$1 uri options
    command -v apt-get >/dev/null || nvalchemi_fail "LAMMPS's source comes with apt-get, which this system lacks" \
        "Put ${nvalchemi_lammps_source} of Debian 13 into a folder and set NVALCHEMI_TOOLCHAIN to it," \
        "or set NVALCHEMI_KOKKOS=no to leave out the styles for Kokkos."
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$' || true)
    [ -n "${uri}" ] || nvalchemi_fail "apt-get knows no repository of Debian" \
        "Set NVALCHEMI_TOOLCHAIN to a folder with ${nvalchemi_lammps_source}, or NVALCHEMI_KOKKOS=no."
    mkdir -p "${dir}/apt/lists/partial" "${dir}/apt/cache/archives/partial" "${dir}/apt/parts"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri} trixie main" >"${dir}/apt/sources.list"
    options=(-o "Dir::Etc::SourceList=${dir}/apt/sources.list" -o "Dir::Etc::SourceParts=${dir}/apt/parts"
        -o "Dir::State::Lists=${dir}/apt/lists" -o "Dir::Cache=${dir}/apt/cache" -o "APT::Sandbox::User=$(id -un)")
    # The original source is what counts: a mirror that lacks the small files beside it makes apt-get fail after it.
    (cd "${dir}" && apt-get "${options[@]}" -qq update && apt-get "${options[@]}" -qq source --download-only lammps) ||
        nvalchemi_say "apt-get reported a failure; going on if LAMMPS's source has arrived"
    [ -f "${dir}/${nvalchemi_lammps_source}" ] || nvalchemi_fail "${nvalchemi_lammps_source} could not be had from ${uri}" \
        "Check the network and run the same command again, or set NVALCHEMI_TOOLCHAIN to a folder that holds it," \
        "or NVALCHEMI_KOKKOS=no to leave out the styles for Kokkos."
    nvalchemi_check_source "${dir}/${nvalchemi_lammps_source}"
}

nvalchemi_unpack() { "${NVALCHEMI_ENV_DIR}/bin/python3" -I "${nvalchemi_setup_dir}/unpack.py" "$@"; }

# nvalchemi_unpack_kokkos_sources DIR: DIR/kokkos-src and DIR/lammps.
nvalchemi_unpack_kokkos_sources() {
    local dir=$1 kokkos lammps
    kokkos=$(nvalchemi_find_source kokkos-4.7.00-src.tar.xz "${nvalchemi_kokkos_sdist}")
    lammps=$(nvalchemi_find_source lammps-4Feb2025-trimmed-src.tar.xz "${nvalchemi_lammps_source}")
    mkdir -p "${dir}/download" "${dir}/kokkos-src" "${dir}/lammps"
    if [ -z "${lammps}" ]; then
        nvalchemi_say "LAMMPS 4 Feb 2025: a download of 132 MB"
        nvalchemi_download_lammps "${dir}/download"
        lammps="${dir}/download/${nvalchemi_lammps_source}"
    fi
    if [ -z "${kokkos}" ]; then
        nvalchemi_say "Kokkos 4.7.00: a download of 17 MB"
        nvalchemi_download_kokkos "${dir}/download"
        kokkos="${dir}/download/${nvalchemi_kokkos_sdist}"
    fi
    case "${kokkos}" in
        *"${nvalchemi_kokkos_sdist}") nvalchemi_unpack "${kokkos}" "${dir}/kokkos-src" pygenten-0.1.5/tpls/kokkos ;;
        *) nvalchemi_unpack "${kokkos}" "${dir}/kokkos-src" '*' ;;
    esac
    case "${lammps}" in
        *"${nvalchemi_lammps_source}") nvalchemi_unpack "${lammps}" "${dir}/lammps" '*' ;;
        *) nvalchemi_unpack "${lammps}" "${dir}/lammps" ;;
    esac
    rm -rf "${dir}/download"
    # What the trimmed source leaves out and LAMMPS's CMake installs or reads.
    mkdir -p "${dir}/lammps/doc" "${dir}/lammps/lib" "${dir}/lammps/tools"
    touch -a "${dir}/lammps/LICENSE" "${dir}/lammps/doc/lammps.1" "${dir}/lammps/doc/msi2lmp.1"
}

# nvalchemi_shared_libstdcxx: print the file, for compilers that link copies of it (see cmake/dependencies/libstdcxx.cmake).
nvalchemi_shared_libstdcxx() {
    local file
    file=$("${CXX:-g++}" -print-file-name=libstdc++.so.6)
    [ ! -f "${file}" ] || echo "${file}"
}

# nvalchemi_cmake_build WHAT SOURCE BUILD TARGET ARGUMENT...: configure and build one of the two.
nvalchemi_cmake_build() {
    local what=$1 source=$2 build=$3 target=$4 generator=()
    shift 4
    ! command -v ninja >/dev/null || generator=(-G Ninja)
    cmake "${generator[@]}" -S "${source}" -B "${build}" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
        "-DCMAKE_CXX_STANDARD_LIBRARIES=$(nvalchemi_shared_libstdcxx)" -DCMAKE_CXX_STANDARD=17 "$@" >"${build}.log" 2>&1 ||
        nvalchemi_fail "cmake could not configure ${what}; the end of ${build}.log:" "$(tail -n 15 "${build}.log")"
    cmake --build "${build}" --parallel "$(nvalchemi_jobs)" --target "${target}" || nvalchemi_fail \
        "${what} did not compile (the compiler's message stands above)" "If the compiler was killed, memory ran out: try NVALCHEMI_JOBS=1."
}

# nvalchemi_fill_kokkos_lammps DIR: unpack, compile, try.
nvalchemi_fill_kokkos_lammps() {
    local dir=$1 mpi="${NVALCHEMI_ENV_DIR}/bin"
    nvalchemi_unpack_kokkos_sources "${dir}"
    nvalchemi_say "compiling Kokkos"
    nvalchemi_cmake_build Kokkos "${dir}/kokkos-src" "${dir}/kokkos-build" install "-DCMAKE_INSTALL_PREFIX=${dir}/kokkos" \
        -DCMAKE_INSTALL_LIBDIR=lib -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON
    nvalchemi_say "compiling LAMMPS with KOKKOS (about half an hour of one core)"
    # its compiler wrappers must find the environment's Python and MPI
    PATH="${mpi}:${PATH}" nvalchemi_cmake_build LAMMPS "${dir}/lammps/cmake" "${dir}/lammps-build" all -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
        -DBUILD_MPI=ON -DBUILD_OMP=OFF -DPKG_KOKKOS=ON -DPKG_PLUGIN=ON -DEXTERNAL_KOKKOS=ON "-DKokkos_ROOT=${dir}/kokkos" \
        "-DKokkos_DIR=${dir}/kokkos/lib/cmake/Kokkos" -DFFT=KISS -DWITH_JPEG=OFF -DWITH_PNG=OFF -DWITH_GZIP=OFF \
        -DWITH_FFMPEG=OFF "-DMPI_CXX_COMPILER=${mpi}/mpicxx" "-DMPI_C_COMPILER=${mpi}/mpicc"
    LD_LIBRARY_PATH="${NVALCHEMI_ENV_DIR}/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}" "${dir}/lammps-build/lmp" -h >/dev/null ||
        nvalchemi_fail "${dir}/lammps-build/lmp does not start"
    rm -rf "${dir}/kokkos-build" "${dir}/kokkos-src" "${dir}/lammps-build/CMakeFiles"
}

# nvalchemi_make_kokkos_lammps DIR: unless it is there, complete. Called with its lock held.
nvalchemi_make_kokkos_lammps() {
    local dir=$1
    if [ -f "${dir}/nvalchemi.stamp" ]; then
        nvalchemi_say "using ${dir}"
        return 0
    fi
    [ ! -e "${dir}" ] || nvalchemi_say "removing ${dir}, which an earlier set-up left unfinished"
    rm -rf "${dir}"
    nvalchemi_require_space "$(dirname "${dir}")" 3000
    mkdir "${dir}"
    nvalchemi_fill_kokkos_lammps "${dir}"
    date -u +%Y-%m-%dT%H:%M:%SZ >"${dir}/nvalchemi.stamp"
}

# nvalchemi_kokkos_lammps_name: print the name of its folder, which follows from all that decides its content.
nvalchemi_kokkos_lammps_name() {
    printf 'kokkos-lammps-%s\n' "$({
        declare -f nvalchemi_unpack_kokkos_sources nvalchemi_cmake_build nvalchemi_fill_kokkos_lammps
        echo "${nvalchemi_source_checksums}"
        cat "${nvalchemi_setup_dir}/requirements-kokkos.txt" "${nvalchemi_setup_dir}/requirements-lammps.txt"
    } | sha256sum | cut -c 1-8)"
}

# nvalchemi_kokkos_lammps: make or reuse a LAMMPS with KOKKOS beside the one of the runtime environment. Needs that
# environment. Sets nvalchemi_kokkos_arguments, for nvalchemi_build. The user's own is taken where LAMMPS_SOURCE_DIR,
# LAMMPS_EXECUTABLE and Kokkos_ROOT name one. NVALCHEMI_KOKKOS=no, or an own LAMMPS without Kokkos_ROOT, leaves it out;
# NVALCHEMI_KOKKOS=present only where it would have to be built first. Where it cannot be made, it is left out too.
nvalchemi_kokkos_lammps() {
    local part="LAMMPS with KOKKOS, and the styles with suffix kk" dir
    nvalchemi_kokkos_arguments=(-DNVALCHEMI_ENABLE_KOKKOS=OFF)
    if [ "${NVALCHEMI_KOKKOS:-yes}" = no ]; then
        nvalchemi_leave_out "${part}" "NVALCHEMI_KOKKOS=no"
    elif [ -n "${Kokkos_ROOT:-}" ]; then
        [ -n "${LAMMPS_SOURCE_DIR:-}" ] || nvalchemi_fail "Kokkos_ROOT is set without LAMMPS_SOURCE_DIR" \
            "Set LAMMPS_SOURCE_DIR and LAMMPS_EXECUTABLE to the LAMMPS that was built with that Kokkos, or unset it."
        nvalchemi_kokkos_arguments=(-DNVALCHEMI_ENABLE_KOKKOS=ON "-DKokkos_ROOT=${Kokkos_ROOT}" -DNVALCHEMI_KOKKOS_LAMMPS_DIR=)
    elif nvalchemi_uses_own_lammps; then
        nvalchemi_leave_out "${part}" "set Kokkos_ROOT if your LAMMPS has KOKKOS"
    else
        dir="$(nvalchemi_cache_dir)/$(nvalchemi_kokkos_lammps_name)"
        if [ "${NVALCHEMI_KOKKOS:-yes}" = present ] && [ ! -f "${dir}/nvalchemi.stamp" ]; then
            nvalchemi_leave_out "${part}" "not built yet, which bash unittest/run.sh does"
            return 0
        fi
        nvalchemi_optional "${part}" nvalchemi_with_lock "${dir}.lock" nvalchemi_make_kokkos_lammps "${dir}"
        [ -f "${dir}/nvalchemi.stamp" ] || return 0
        nvalchemi_kokkos_arguments=(-DNVALCHEMI_ENABLE_KOKKOS=ON "-DNVALCHEMI_KOKKOS_LAMMPS_DIR=${dir}/lammps"
            "-DKokkos_ROOT=${dir}/kokkos" "-DNVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE=${dir}/lammps-build/lmp")
    fi
}
