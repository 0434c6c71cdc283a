# SPDX-License-Identifier: GPL-2.0-only
# Where things are installed, below the prefix. The wheel holds the same tree in its package's folder.
#
#   bin/                       tools and exporters
#   lib/nvalchemi/             the plugin and its libraries: one folder, for LAMMPS_PLUGIN_PATH
#   lib/cmake/nvalchemi/       find_package(nvalchemi), for operator libraries
#   include/nvalchemi/kernels/ the headers for that
#   share/modulefiles/         for environment modules
#   share/nvalchemi/           exporters, what makes their environments, the Python module nvalchemi_lmp
#
# The tree may be moved: libraries find one another by relative paths, and LibTorch by the absolute path that it was
# built with, or beside the tree, where a Python environment has it.

include(CMakePackageConfigHelpers)
set(NVALCHEMI_INSTALL_LIBDIR lib/nvalchemi)
set(nvalchemi_install_cmake_dir lib/cmake/nvalchemi)

# LibTorch's folders, from the one that holds it: site-packages in a Python environment.
cmake_path(GET NVALCHEMI_TORCH_ROOT PARENT_PATH nvalchemi_beside_torch)
cmake_path(GET NVALCHEMI_TORCH_ROOT FILENAME nvalchemi_torch_name)
file(GLOB nvalchemi_torch_folders RELATIVE ${nvalchemi_beside_torch} ${nvalchemi_beside_torch}/nvidia/*/lib)
list(PREPEND nvalchemi_torch_folders ${nvalchemi_torch_name}/lib)

# nvalchemi_set_rpath(target folder): where `target`, installed in `folder` below the prefix, looks for libraries.
function(nvalchemi_set_rpath target folder)
    string(REGEX REPLACE "[^/]+" ".." up ${folder})
    set(built_with "$ORIGIN")
    set(relative "$ORIGIN/${up}/${NVALCHEMI_INSTALL_LIBDIR}")
    set(absolute "")
    if(folder STREQUAL NVALCHEMI_INSTALL_LIBDIR)
        set(relative "$ORIGIN")
    endif()
    foreach(name ${nvalchemi_torch_folders})
        list(APPEND built_with ${nvalchemi_beside_torch}/${name})
        list(APPEND relative "$ORIGIN/${up}/../${name}")
        list(APPEND absolute ${nvalchemi_beside_torch}/${name})
    endforeach()
    if(SKBUILD)
        set(absolute "")  # a folder that is gone when the wheel is
    endif()
    set_target_properties(${target} PROPERTIES BUILD_RPATH "${built_with}" INSTALL_RPATH "${relative};${absolute}")
endfunction()

# nvalchemi_install_library(target): a library of the plugin.
function(nvalchemi_install_library target)
    nvalchemi_set_rpath(${target} ${NVALCHEMI_INSTALL_LIBDIR})
    install(TARGETS ${target} LIBRARY DESTINATION ${NVALCHEMI_INSTALL_LIBDIR})
endfunction()

# nvalchemi_install_tool(target): a program.
function(nvalchemi_install_tool target)
    nvalchemi_set_rpath(${target} bin)
    install(TARGETS ${target} RUNTIME DESTINATION bin)
endfunction()

# nvalchemi_install_kernels(target header...): the library of the operators, with what others need to link it.
function(nvalchemi_install_kernels target)
    nvalchemi_set_rpath(${target} ${NVALCHEMI_INSTALL_LIBDIR})
    set_target_properties(${target} PROPERTIES EXPORT_NAME kernels)
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:include/nvalchemi>)
    set(links "")
    if(SKBUILD)
        set(links NAMELINK_SKIP)  # a wheel knows no links, and would hold the library twice
    endif()
    install(TARGETS ${target} EXPORT nvalchemi_targets LIBRARY DESTINATION ${NVALCHEMI_INSTALL_LIBDIR} ${links})
    install(FILES ${ARGN} DESTINATION include/nvalchemi/kernels)
    install(EXPORT nvalchemi_targets NAMESPACE nvalchemi:: FILE nvalchemi-targets.cmake
        DESTINATION ${nvalchemi_install_cmake_dir})
endfunction()

# --- the CMake package ----------------------------------------------------------------------------------------------
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/install/nvalchemi-config.cmake.in
    ${PROJECT_BINARY_DIR}/install/nvalchemi-config.cmake INSTALL_DESTINATION ${nvalchemi_install_cmake_dir}
    NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/nvalchemi-config-version.cmake COMPATIBILITY ExactVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/nvalchemi-config.cmake ${PROJECT_BINARY_DIR}/install/nvalchemi-config-version.cmake
    ${CMAKE_CURRENT_LIST_DIR}/dependencies/torch.cmake DESTINATION ${nvalchemi_install_cmake_dir})

# --- Python ---------------------------------------------------------------------------------------------------------
file(GLOB nvalchemi_exporters CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/potentials/exporters/*.py)
install(FILES ${nvalchemi_exporters} DESTINATION share/nvalchemi/exporters)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/install/version.txt CONTENT "@PROJECT_VERSION@\n" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/version.txt DESTINATION share/nvalchemi/exporters)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/spec/presets DESTINATION share/nvalchemi FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/nvalchemi)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/python/nvalchemi_lmp DESTINATION share/nvalchemi/python
    FILES_MATCHING PATTERN "*.py")
# What finds, and makes, the environments of exporters, as in a build folder.
file(GLOB nvalchemi_setup_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/setup/requirements-export*.txt)
foreach(name cache.sh console.sh export_environments.sh export_environments.txt export_python.sh python_environments.sh system_packages.sh)
    list(APPEND nvalchemi_setup_files ${PROJECT_SOURCE_DIR}/cmake/setup/${name})
endforeach()
install(FILES ${nvalchemi_setup_files} DESTINATION share/nvalchemi/setup)
set(nvalchemi_tree [[prefix=$(dirname "$(dirname "$(readlink -f "$0")")")
PYTHONPATH="${prefix}/share/nvalchemi/python${PYTHONPATH:+:${PYTHONPATH}}"
NVALCHEMI_KERNELS_LIBRARY="${prefix}/lib/nvalchemi/libnvalchemi_kernels.so"
export PYTHONPATH NVALCHEMI_KERNELS_LIBRARY
setup="${prefix}/share/nvalchemi/setup"
exporters="${prefix}/share/nvalchemi/exporters"]])
set(nvalchemi_plain_python "")
foreach(name export python)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/install/nvalchemi-${name}.in ${PROJECT_BINARY_DIR}/install/nvalchemi-${name} @ONLY)
endforeach()
install(PROGRAMS ${PROJECT_BINARY_DIR}/install/nvalchemi-export DESTINATION bin)
if(SKBUILD)
    # What a message tells to install again, see nvalchemi_plugin.cpp.
    set(nvalchemi_pins "")
    foreach(name lammps libtorch)
        file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/setup/requirements-${name}.txt lines REGEX "^(lammps|mpich|torch)==")
        list(APPEND nvalchemi_pins ${lines})
    endforeach()
    list(JOIN nvalchemi_pins "\n" nvalchemi_pins)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/install/requirements.txt CONTENT "@nvalchemi_pins@\n" @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/install/requirements.txt DESTINATION ${NVALCHEMI_INSTALL_LIBDIR})
else()
    install(PROGRAMS ${PROJECT_BINARY_DIR}/install/nvalchemi-python DESTINATION bin)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/install/modulefile.in ${PROJECT_BINARY_DIR}/install/modulefile @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/install/modulefile DESTINATION share/modulefiles/nvalchemi RENAME ${PROJECT_VERSION})
endif()
