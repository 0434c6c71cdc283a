# SPDX-License-Identifier: GPL-2.0-only
# Writes env.sh, for the hand, and with_env.sh, for CTest, into the build folder. What env.sh puts first on the path is
# the build's bin/ alone: the folders of lmp and mpiexec may hold a python3 too, which would hide the user's own.

set(NVALCHEMI_PLUGIN_DIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(nvalchemi_program_permissions
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# nvalchemi_write_program(name text): a shell script in the build's bin/.
function(nvalchemi_write_program name text)
    set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
    file(WRITE ${program} "#!/bin/sh\n${text}\n")
    file(CHMOD ${program} PERMISSIONS ${nvalchemi_program_permissions})
endfunction()

# nvalchemi_link(file folder): a link of the same name, if there is such a file.
function(nvalchemi_link file folder)
    if(EXISTS "${file}")
        cmake_path(GET file FILENAME name)
        file(MAKE_DIRECTORY ${folder})
        file(CREATE_LINK ${file} ${folder}/${name} SYMBOLIC)
    endif()
endfunction()

file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
file(REMOVE ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lmp ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/mpiexec)  # of an earlier configuration
set(nvalchemi_python_path ${PROJECT_SOURCE_DIR}/kernels/python)
if(EXISTS "${NVALCHEMI_LAMMPS_EXECUTABLE}")
    file(CREATE_LINK ${NVALCHEMI_LAMMPS_EXECUTABLE} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lmp SYMBOLIC)
    # LAMMPS's Python module, where lmp lies in it: without the other packages beside it, among them a torch that is none
    # for Python.
    cmake_path(GET NVALCHEMI_LAMMPS_EXECUTABLE PARENT_PATH nvalchemi_module)
    if(EXISTS ${nvalchemi_module}/__init__.py)
        nvalchemi_link(${nvalchemi_module} ${PROJECT_BINARY_DIR}/python)
        nvalchemi_link(${nvalchemi_module}.libs ${PROJECT_BINARY_DIR}/python)
        string(APPEND nvalchemi_python_path :${PROJECT_BINARY_DIR}/python)
    endif()
endif()
if(EXISTS "${NVALCHEMI_MPIEXEC}")
    nvalchemi_write_program(mpiexec "exec \"${NVALCHEMI_MPIEXEC}\" \"$@\"")  # it looks for helpers beside its own path
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/env.sh.in ${PROJECT_BINARY_DIR}/env.sh @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/with_env.sh.in ${PROJECT_BINARY_DIR}/with_env.sh @ONLY)
