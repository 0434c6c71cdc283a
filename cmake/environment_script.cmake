# SPDX-License-Identifier: GPL-2.0-only
# Writes env.sh, for the hand, and with_env.sh, for CTest, into the build folder.

set(NVALCHEMI_PLUGIN_DIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(nvalchemi_path ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
foreach(program "${NVALCHEMI_LAMMPS_EXECUTABLE}" "${NVALCHEMI_MPIEXEC}" "${NVALCHEMI_ENV_DIR}/bin/python3")
    if(EXISTS "${program}")
        cmake_path(GET program PARENT_PATH folder)
        list(APPEND nvalchemi_path ${folder})
    endif()
endforeach()
list(REMOVE_DUPLICATES nvalchemi_path)
list(JOIN nvalchemi_path : NVALCHEMI_PATH)
configure_file(${CMAKE_CURRENT_LIST_DIR}/env.sh.in ${PROJECT_BINARY_DIR}/env.sh @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/with_env.sh.in ${PROJECT_BINARY_DIR}/with_env.sh @ONLY)
