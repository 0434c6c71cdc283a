# SPDX-License-Identifier: GPL-2.0-only
# nvalchemi::lammps_kokkos: the headers of a LAMMPS with its package KOKKOS, and of the Kokkos that it was built with. Like
# LAMMPS's own, Kokkos's symbols come from the process that loads the plugin, so no library is linked.
#
# By default it is the LAMMPS of lammps.cmake. NVALCHEMI_KOKKOS_LAMMPS_DIR names another one beside it: the plugin is then
# built for both, and chooses when it is loaded.
#
# Reads   NVALCHEMI_ENABLE_KOKKOS, NVALCHEMI_KOKKOS_LAMMPS_DIR, NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE, Kokkos_ROOT
# Sets    NVALCHEMI_KOKKOS_BACKENDS (for example "SERIAL;CUDA"), NVALCHEMI_KOKKOS_LAMMPS_VERSION_DATE

set(Kokkos_ROOT "" CACHE PATH "An installed Kokkos (include/Kokkos_Core.hpp), the one that the LAMMPS was built with")
set(NVALCHEMI_KOKKOS_LAMMPS_DIR "" CACHE PATH "Source tree of a second LAMMPS, one with KOKKOS (default: LAMMPS_SOURCE_DIR alone)")
set(NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE "" CACHE FILEPATH "The lmp with KOKKOS to test with")
set(NVALCHEMI_KOKKOS_BACKENDS "")

# The back ends that a Kokkos was configured with, from its KokkosCore_config.h.
function(nvalchemi_read_kokkos_backends file out)
    set(backends "")
    foreach(backend SERIAL OPENMP THREADS CUDA HIP SYCL)
        file(STRINGS ${file} line REGEX "^#define KOKKOS_ENABLE_${backend}$")
        if(line)
            list(APPEND backends ${backend})
        endif()
    endforeach()
    set(${out} "${backends}" PARENT_SCOPE)
endfunction()

function(nvalchemi_require_kokkos_file variable file)
    if(NOT EXISTS "${file}")
        message(FATAL_ERROR "NVALCHEMI_ENABLE_KOKKOS: got ON, but ${file} does not exist. Expected ${variable} of a LAMMPS "
            "that was built with its package KOKKOS (for example -DLAMMPS_SOURCE_DIR=$HOME/lammps -DKokkos_ROOT=$HOME/kokkos), "
            "or -DNVALCHEMI_ENABLE_KOKKOS=OFF: a LAMMPS without KOKKOS can still run a model on a GPU, see the keyword device.")
    endif()
endfunction()

function(nvalchemi_add_kokkos)
    set(lammps nvalchemi::lammps)
    if(NVALCHEMI_KOKKOS_LAMMPS_DIR)
        nvalchemi_describe_lammps_source(NVALCHEMI_KOKKOS_LAMMPS_DIR)
        set(lammps nvalchemi::lammps_kokkos)
        nvalchemi_add_lammps(${lammps})
    else()
        add_library(nvalchemi::lammps_kokkos ALIAS nvalchemi::lammps)
    endif()
    nvalchemi_require_kokkos_file("the headers (LAMMPS_SOURCE_DIR)" ${NVALCHEMI_LAMMPS_INCLUDE_DIR}/KOKKOS/kokkos_type.h)
    nvalchemi_require_kokkos_file("the Kokkos (Kokkos_ROOT)" ${Kokkos_ROOT}/include/KokkosCore_config.h)
    nvalchemi_read_kokkos_backends(${Kokkos_ROOT}/include/KokkosCore_config.h backends)
    target_include_directories(${lammps} SYSTEM INTERFACE
        ${NVALCHEMI_LAMMPS_INCLUDE_DIR}/KOKKOS ${Kokkos_ROOT}/include)
    target_compile_definitions(${lammps} INTERFACE LMP_KOKKOS)
    set(NVALCHEMI_KOKKOS_BACKENDS "${backends}" PARENT_SCOPE)
    set(NVALCHEMI_KOKKOS_LAMMPS_VERSION_DATE ${NVALCHEMI_LAMMPS_VERSION_DATE} PARENT_SCOPE)
endfunction()

if(NVALCHEMI_ENABLE_KOKKOS)
    nvalchemi_add_kokkos()
    if(NOT NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE AND NOT NVALCHEMI_KOKKOS_LAMMPS_DIR)
        set(NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE ${NVALCHEMI_LAMMPS_EXECUTABLE})
    endif()
else()
    set(NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE "")
endif()
