# SPDX-License-Identifier: GPL-2.0-only
# What keeps the build short: headers that are compiled once for many targets, sources that are compiled in groups, and
# code off the step's path that is not worth the optimizer's time.

option(NVALCHEMI_PRECOMPILED_HEADERS "Compile LibTorch's, GoogleTest's and the standard library's headers once" ON)
option(NVALCHEMI_GROUPED_SOURCES "Compile sources that include LibTorch several at once" ON)

set(nvalchemi_headers_standard
    <algorithm> <array> <cmath> <functional> <map> <memory> <optional> <set> <sstream> <stdexcept> <string>
    <string_view> <unordered_map> <utility> <vector>)
set(nvalchemi_headers_torch
    <ATen/ATen.h> <ATen/Parallel.h> <torch/csrc/autograd/autograd.h> <torch/csrc/autograd/custom_function.h>
    <torch/library.h> <torch/script.h>)
set(nvalchemi_headers_gtest ${nvalchemi_headers_standard} <gtest/gtest.h>)

# nvalchemi_set_precompiled_options(target): what must be the same where headers are compiled and where they are used.
# Optimization may differ. -fPIC for programs, too: CMake would take -fPIE for them.
function(nvalchemi_set_precompiled_options target)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
endfunction()

# nvalchemi_precompile(target kind [library...]): compile the sources of `target` after the headers of that kind. They
# are compiled once, with the libraries that the first target of the kind names, for all targets of that kind. Sources
# must include what they use all the same: the test check_plain_compilation compiles without this and without groups.
function(nvalchemi_precompile target kind)
    if(NOT NVALCHEMI_PRECOMPILED_HEADERS)
        return()
    endif()
    set(owner nvalchemi_headers_${kind})
    if(NOT TARGET ${owner})
        set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
        file(CONFIGURE OUTPUT ${source} CONTENT "// holds the headers of this kind\n")
        add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
        nvalchemi_set_precompiled_options(${owner})
        target_link_libraries(${owner} PRIVATE ${ARGN})
        target_precompile_headers(${owner} PRIVATE ${nvalchemi_headers_${kind}})
    endif()
    nvalchemi_set_precompiled_options(${target})
    target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# nvalchemi_compile_in_groups(target size [source...]): compile so many sources at once, without the sources named. Even
# after precompiled headers, LibTorch takes 4 s in each file, for templates that its inline functions use.
# Names in the unnamed namespaces of a target's sources must differ.
function(nvalchemi_compile_in_groups target size)
    if(NVALCHEMI_GROUPED_SOURCES)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
        set_property(SOURCE ${ARGN} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
endfunction()

# nvalchemi_compile_quickly(target [source...]): code that runs once, at setup: less optimization takes half the time
# to compile. Without sources: all of the target.
function(nvalchemi_compile_quickly target)
    set(option $<$<CONFIG:Release>:-O1>)
    if(ARGN)
        set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${option})
    else()
        target_compile_options(${target} PRIVATE ${option})
    endif()
endfunction()
