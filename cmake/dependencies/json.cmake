# SPDX-License-Identifier: GPL-2.0-only
# nvalchemi::json: nlohmann/json, headers only, for the .cpp files of spec/ and potentials/.
#
# LAMMPS ships a copy in a namespace of its own below its include folder: never give the two to one target.

add_library(nvalchemi::json INTERFACE IMPORTED)
set(nvalchemi_json_include "${NVALCHEMI_JSON_DIR}")
if(NOT NVALCHEMI_JSON_DIR)
    set(nvalchemi_json_include "${NVALCHEMI_SITE_PACKAGES}/nlohmann_json/include")
endif()
if(EXISTS ${nvalchemi_json_include}/nlohmann/json.hpp)
    target_include_directories(nvalchemi::json INTERFACE ${nvalchemi_json_include})
else()
    find_package(nlohmann_json 3.9 QUIET)
    if(NOT nlohmann_json_FOUND)
        message(FATAL_ERROR "nlohmann/json: not found, expected 3.9 or later. Install it (Debian: "
            "nlohmann-json3-dev, pip: nlohmann-json), or set nlohmann_json_DIR.")
    endif()
    target_link_libraries(nvalchemi::json INTERFACE nlohmann_json::nlohmann_json)
endif()
