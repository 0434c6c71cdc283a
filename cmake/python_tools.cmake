# SPDX-License-Identifier: GPL-2.0-only
# Exporters as commands. They need the export environment, which may be made later than the build.

set(NVALCHEMI_EXPORT_LAUNCHER ${PROJECT_BINARY_DIR}/export_python.sh)
configure_file(${CMAKE_CURRENT_LIST_DIR}/export_python.sh.in ${NVALCHEMI_EXPORT_LAUNCHER} @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# Make bin/nvalchemi-export-<name> for each export_<name>.py of `folder`.
function(nvalchemi_add_exporters folder)
    file(GLOB scripts CONFIGURE_DEPENDS ${folder}/export_*.py)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        string(REPLACE _ - name ${name})
        set(tool ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/nvalchemi-${name})
        file(WRITE ${tool} "#!/bin/sh\nexec \"${NVALCHEMI_EXPORT_LAUNCHER}\" \"${script}\" \"$@\"\n")
        file(CHMOD ${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endforeach()
endfunction()
