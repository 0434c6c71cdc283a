# SPDX-License-Identifier: GPL-2.0-only
# Commands that run Python programs. Which Python an exporter needs is looked up when it runs, see
# cmake/setup/export_python.sh: its environment may be made later than the build.

# Make bin/nvalchemi-python, bin/nvalchemi-export, which takes the family as its first argument, and
# bin/nvalchemi-export-<family> for each export_<family>.py of `folder`.
function(nvalchemi_add_exporters folder)
    set(nvalchemi_tree ". \"${PROJECT_BINARY_DIR}/env.sh\"\nsetup=\"${PROJECT_SOURCE_DIR}/cmake/setup\"\nexporters=\"${folder}\"")
    set(nvalchemi_plain_python "${NVALCHEMI_ENV_DIR}/bin/python3")
    foreach(name export python)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/install/nvalchemi-${name}.in
            ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/nvalchemi-${name} @ONLY FILE_PERMISSIONS ${nvalchemi_program_permissions})
    endforeach()
    file(GLOB scripts CONFIGURE_DEPENDS ${folder}/export_*.py)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        string(REGEX REPLACE "^export_" "" family ${name})
        string(REPLACE _ - family ${family})
        nvalchemi_write_program(nvalchemi-export-${family}
            "exec \"$(dirname \"$(readlink -f \"$0\")\")/nvalchemi-export\" ${family} \"$@\"")
    endforeach()
endfunction()
