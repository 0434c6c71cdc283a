# SPDX-License-Identifier: GPL-2.0-only
# Building the wheel: what is not given is taken from the Python that builds it, and no more is compiled at once than
# memory allows. Included before the dependencies are looked for.
#
# Sets    NVALCHEMI_ENV_DIR, NVALCHEMI_SITE_PACKAGES, NVALCHEMI_TORCH_DIR, NVALCHEMI_JSON_DIR

execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_packages.py
    OUTPUT_VARIABLE nvalchemi_found ERROR_VARIABLE nvalchemi_reason RESULT_VARIABLE nvalchemi_status
    OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT nvalchemi_status EQUAL 0)
    message(FATAL_ERROR "${nvalchemi_reason}")
endif()
string(REPLACE "\n" ";" nvalchemi_found "${nvalchemi_found}")
foreach(line ${nvalchemi_found})
    string(REGEX MATCH "^([A-Z_]+)=(.*)$" line "${line}")
    set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()

# A file that includes torch takes 2500 MB while it is compiled.
cmake_host_system_information(RESULT nvalchemi_jobs QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT nvalchemi_megabytes QUERY AVAILABLE_PHYSICAL_MEMORY)
math(EXPR nvalchemi_jobs_in_memory "${nvalchemi_megabytes} / 2500")
if(nvalchemi_jobs_in_memory LESS nvalchemi_jobs)
    set(nvalchemi_jobs ${nvalchemi_jobs_in_memory})
endif()
if(nvalchemi_jobs LESS 1)
    set(nvalchemi_jobs 1)
endif()
set_property(GLOBAL PROPERTY JOB_POOLS nvalchemi_compile=${nvalchemi_jobs})
set(CMAKE_JOB_POOL_COMPILE nvalchemi_compile)
