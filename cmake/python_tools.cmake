# SPDX-License-Identifier: GPL-2.0-only
# Exporters as commands. They need an export environment, which may be made later than the build.

set(NVALCHEMI_EXPORT_FAMILIES mace d3 nequip orb interfaces)  # those whose packages have an environment of their own

# Set `result` to the script that runs Python programs in the export environment of `family`.
function(nvalchemi_export_launcher result family)
    if(family STREQUAL allegro)
        set(family nequip)  # the same framework, whose files hold either
    endif()
    if(family IN_LIST NVALCHEMI_EXPORT_FAMILIES)
        set(${result} ${PROJECT_BINARY_DIR}/export_python_${family}.sh PARENT_SCOPE)
    else()
        set(${result} ${PROJECT_BINARY_DIR}/export_python.sh PARENT_SCOPE)
    endif()
endfunction()

# Write that script. `variable` names the Python, `command` makes the environment, a download of `size`.
function(nvalchemi_write_export_launcher family variable command size)
    nvalchemi_export_launcher(launcher "${family}")
    set(python "${${variable}}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/export_python.sh.in ${launcher} @ONLY
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()

nvalchemi_write_export_launcher("" NVALCHEMI_EXPORT_PYTHON "bash unittest/run.sh --export" "2 to 3 GB")
nvalchemi_write_export_launcher(mace NVALCHEMI_EXPORT_MACE_PYTHON
    "bash potentials/exporters/make_environment.sh mace" "20 MB, after 2 to 3 GB for torch")
nvalchemi_write_export_launcher(nequip NVALCHEMI_EXPORT_NEQUIP_PYTHON
    "bash potentials/exporters/make_environment.sh nequip" "10 MB, after 2 to 3 GB for torch")
nvalchemi_write_export_launcher(orb NVALCHEMI_EXPORT_ORB_PYTHON
    "bash potentials/exporters/make_environment.sh orb" "30 MB, after 2 to 3 GB for torch")
nvalchemi_write_export_launcher(d3 NVALCHEMI_EXPORT_D3_PYTHON
    "bash potentials/exporters/make_environment.sh d3" "1 MB, after 2 to 3 GB for torch")
# No exporter, but made and used alike: what drives LAMMPS from outside.
nvalchemi_write_export_launcher(interfaces NVALCHEMI_INTERFACES_PYTHON "bash unittest/run.sh" "50 MB")

# Make bin/nvalchemi-export-<name> for each export_<name>.py of `folder`, and bin/nvalchemi-export, which takes the
# name as its first argument.
function(nvalchemi_add_exporters folder)
    set(permissions OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    set(nvalchemi_exporter_folder ${folder})
    set(nvalchemi_start_exporter [[exec "$(dirname "$(readlink -f "$0")")/nvalchemi-export-${family}" "$@"]])
    configure_file(${PROJECT_SOURCE_DIR}/cmake/install/nvalchemi-export.in
        ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/nvalchemi-export @ONLY FILE_PERMISSIONS ${permissions})
    file(GLOB scripts CONFIGURE_DEPENDS ${folder}/export_*.py)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        string(REGEX REPLACE "^export_" "" family ${name})
        string(REPLACE _ - name ${name})
        nvalchemi_export_launcher(launcher ${family})
        set(tool ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/nvalchemi-${name})
        file(WRITE ${tool} "#!/bin/sh\nexec \"${launcher}\" \"${script}\" \"$@\"\n")
        file(CHMOD ${tool} PERMISSIONS ${permissions})
    endforeach()
endfunction()
