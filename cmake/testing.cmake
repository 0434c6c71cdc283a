# SPDX-License-Identifier: GPL-2.0-only
# Functions that register tests with CTest.
#
# Labels: the layer (spec, kernels, potentials, mpi, gpu, checks) and, where it applies, `slow` (left out of
# `run.sh --quick`) or `long` (only in `run.sh --long`). Tests labelled mpi never run beside one another.
#
# Every test reports its cases (unittest/test_report.py), or it is no passed one for unittest/summarize.py. Only one
# with the label `command`, which is neither a GoogleTest program nor a script of unittest, need not: it is one case.
# CTest's own report knows no labels, so there is a file unittest/commands/NAME for each of these.
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/unittest/commands)

set(nvalchemi_script_runner ${PROJECT_SOURCE_DIR}/unittest/script_runner.py)

cmake_host_system_information(RESULT nvalchemi_cores QUERY NUMBER_OF_LOGICAL_CORES)

# Properties that every test has.
function(nvalchemi_set_test_properties name labels timeout ranks)
    if(NOT timeout)
        set(timeout 120)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
    # One thread each: tests run beside one another, and threads that wait for a busy core are slow.
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT OMP_NUM_THREADS=1 ${nvalchemi_sanitizer_options}
        NVALCHEMI_TEST_REPORT=${PROJECT_BINARY_DIR}/unittest/reports/${name}.xml)
    if(NVALCHEMI_TEST_MODELS_DIR)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT NVALCHEMI_TEST_MODELS=${NVALCHEMI_TEST_MODELS_DIR})
    endif()
    if("command" IN_LIST labels)
        file(WRITE ${PROJECT_BINARY_DIR}/unittest/commands/${name} "")
    endif()
    if("mpi" IN_LIST labels)
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK mpi PROCESSORS ${nvalchemi_cores})
    endif()
    # Ranks that wait must yield the core to ranks that work. For tests only: it costs speed otherwise.
    if(ranks AND ranks GREATER nvalchemi_cores)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi)
    endif()
endfunction()

# nvalchemi_add_test(NAME name LABELS label... SOURCES file... LIBS target... [TIMEOUT seconds] [RANKS n])
#
# Build one GoogleTest program and register it. With RANKS it runs under mpiexec and brings its own main().
# The macro NVALCHEMI_SOURCE_DIR holds the top folder of this repository.
function(nvalchemi_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT;RANKS" "LABELS;SOURCES;LIBS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_LABELS OR NOT arg_SOURCES)
        message(FATAL_ERROR "nvalchemi_add_test: got '${ARGV}', expected NAME, LABELS, SOURCES, LIBS and optionally TIMEOUT, RANKS")
    endif()
    add_executable(${arg_NAME} ${arg_SOURCES})
    set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittest/bin)
    target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${arg_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)  # quicker to build, and quick enough
    target_compile_definitions(${arg_NAME} PRIVATE NVALCHEMI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if("nvalchemi::torch" IN_LIST arg_LIBS)
        nvalchemi_precompile(${arg_NAME} torch nvalchemi::torch)
    else()
        nvalchemi_precompile(${arg_NAME} gtest GTest::gtest)
    endif()
    set(launcher "")
    if(arg_RANKS)
        target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} nvalchemi_counted_tests nvalchemi::mpi)
        set(launcher ${NVALCHEMI_MPIEXEC} -n ${arg_RANKS})
    else()
        target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} nvalchemi_counted_main)
    endif()
    add_test(NAME ${arg_NAME} COMMAND ${launcher} $<TARGET_FILE:${arg_NAME}>)
    nvalchemi_set_test_properties(${arg_NAME} "${arg_LABELS}" "${arg_TIMEOUT}" "${arg_RANKS}")
endfunction()

# nvalchemi_add_script_test(NAME name LABELS label... SCRIPT file [ARGS argument...] [TIMEOUT seconds] [RANKS n]
#                           [PYTHON program | EXPORT [EXPORT_FAMILY name]])
#
# Register a script of Python's unittest (or, labelled `command`, any script), run as after `. env.sh`: exit status 0
# passes, 77 is skipped. RANKS says how many ranks it starts itself, at most. With EXPORT it runs in the export
# environment, and is skipped without one; a family whose package needs an environment of its own is named too.
function(nvalchemi_add_script_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "EXPORT" "NAME;SCRIPT;TIMEOUT;RANKS;PYTHON;EXPORT_FAMILY" "LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_LABELS OR NOT arg_SCRIPT)
        message(FATAL_ERROR "nvalchemi_add_script_test: got '${ARGV}', expected NAME, LABELS, SCRIPT and optionally ARGS, TIMEOUT, RANKS, PYTHON, EXPORT")
    endif()
    cmake_path(ABSOLUTE_PATH arg_SCRIPT BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(NOT EXISTS ${arg_SCRIPT})
        message(FATAL_ERROR "nvalchemi_add_script_test(${arg_NAME}): ${arg_SCRIPT} does not exist")
    endif()
    set(python python3)
    if(arg_EXPORT)
        nvalchemi_export_launcher(python "${arg_EXPORT_FAMILY}")
    elseif(arg_PYTHON)
        set(python ${arg_PYTHON})
    endif()
    set(runner ${nvalchemi_script_runner})
    if("command" IN_LIST arg_LABELS)
        set(runner "")
    endif()
    add_test(NAME ${arg_NAME}
        COMMAND sh ${PROJECT_BINARY_DIR}/with_env.sh ${python} ${runner} ${arg_SCRIPT} ${arg_ARGS})
    nvalchemi_set_test_properties(${arg_NAME} "${arg_LABELS}" "${arg_TIMEOUT}" "${arg_RANKS}")
endfunction()

# Set `result` to the command that runs a Python script in the environment that exports models of `family` (default:
# sevennet), or in that of `interfaces`, and skips it without one.
function(nvalchemi_export_launcher result family)
    if(NOT family)
        set(family sevennet)
    endif()
    set(${result} bash ${PROJECT_SOURCE_DIR}/unittest/with_export_python.sh ${family} PARENT_SCOPE)
endfunction()
