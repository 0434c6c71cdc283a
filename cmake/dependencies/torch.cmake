# SPDX-License-Identifier: GPL-2.0-only
# nvalchemi::torch: LibTorch for the CPU library alone.
#
# TorchConfig.cmake of a CUDA build enables the CUDA language, needs nvcc and links libtorch_cuda. The code
# here needs neither: it links libtorch_cpu and libc10, and a GPU's libraries are opened at run time. So by
# default the two libraries are imported from the folder of the Python package or of a LibTorch archive;
# Torch_DIR asks for find_package(Torch) instead.
#
# Reads   Torch_DIR | NVALCHEMI_TORCH_DIR | NVALCHEMI_SITE_PACKAGES
# Sets    NVALCHEMI_TORCH_ROOT, NVALCHEMI_TORCH_VERSION

set(nvalchemi_torch_minimum 2.4)

# Version of the LibTorch whose headers are in `include_dir`, for example "2.11.0".
function(nvalchemi_read_torch_version include_dir out)
    set(parts "")
    foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
        if(NOT parts AND EXISTS ${include_dir}/${header})
            foreach(part MAJOR MINOR PATCH)
                file(STRINGS ${include_dir}/${header} line REGEX "#define TORCH_VERSION_${part} +[0-9]+")
                if(line MATCHES "([0-9]+) *$")
                    list(APPEND parts ${CMAKE_MATCH_1})
                endif()
            endforeach()
        endif()
    endforeach()
    list(JOIN parts . version)
    set(${out} "${version}" PARENT_SCOPE)
endfunction()

# Import lib<name>.so of the LibTorch in `root` as nvalchemi::<name>.
function(nvalchemi_import_torch_library root name)
    set(file ${root}/lib/lib${name}.so)
    if(NOT EXISTS ${file})
        message(FATAL_ERROR "LibTorch: ${file} does not exist, expected a folder with include/ and lib/. "
            "Set NVALCHEMI_TORCH_DIR, for example -DNVALCHEMI_TORCH_DIR=<site-packages>/torch")
    endif()
    add_library(nvalchemi::${name} SHARED IMPORTED)
    set_target_properties(nvalchemi::${name} PROPERTIES
        IMPORTED_LOCATION ${file}
        INTERFACE_INCLUDE_DIRECTORIES "${root}/include;${root}/include/torch/csrc/api/include")
endfunction()

# Stop unless a program can be linked with this LibTorch: otherwise the first tool would fail, at the end of the build.
function(nvalchemi_try_torch)
    if("${NVALCHEMI_TORCH_LINKS}" STREQUAL "${NVALCHEMI_TORCH_ROOT}")
        return()
    endif()
    set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/torch)
    # a function of libtorch_cpu.so that returns a string of the C++ library; no header of torch takes time
    file(WRITE ${folder}/program.cpp "#include <string>
namespace at { std::string get_openmp_version(); }
int main() { return at::get_openmp_version().empty(); }\n")
    try_compile(links ${folder} SOURCES ${folder}/program.cpp LINK_LIBRARIES nvalchemi::torch OUTPUT_VARIABLE output)
    if(links)
        set(NVALCHEMI_TORCH_LINKS "${NVALCHEMI_TORCH_ROOT}" CACHE INTERNAL "The LibTorch that a program was linked with")
        return()
    endif()
    string(REGEX MATCHALL "lib[^ ,]+, needed by" needed "${output}")
    list(TRANSFORM needed REPLACE ", needed by" "")
    list(REMOVE_DUPLICATES needed)
    list(JOIN needed ", " needed)
    if(needed)
        message(FATAL_ERROR "LibTorch: no program can be linked with ${NVALCHEMI_TORCH_ROOT}: it needs ${needed}, not found. "
            "A LibTorch for CUDA needs these even on CPUs. Install the Python packages that bring them (those of libcudart and "
            "libcupti are nvidia-cuda-runtime and nvidia-cuda-cupti) into the folder in which torch lies, of the CUDA release "
            "that this torch was built for; or set LD_LIBRARY_PATH to the folder that holds them, such as lib64 of a CUDA "
            "toolkit; or set NVALCHEMI_TORCH_DIR to a LibTorch for CPUs.")
    endif()
    message(FATAL_ERROR "LibTorch: no program can be linked with ${NVALCHEMI_TORCH_ROOT}; expected a LibTorch built with the C++ "
        "library of this compiler (its 'cxx11 ABI'). Set NVALCHEMI_TORCH_DIR to another one. The linker says:\n${output}")
endfunction()

add_library(nvalchemi::torch INTERFACE IMPORTED)
if(Torch_DIR)
    find_package(Torch REQUIRED CONFIG)
    get_filename_component(NVALCHEMI_TORCH_ROOT ${Torch_DIR}/../../.. ABSOLUTE)
    target_link_libraries(nvalchemi::torch INTERFACE torch_cpu c10)
    target_include_directories(nvalchemi::torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
else()
    set(NVALCHEMI_TORCH_ROOT "${NVALCHEMI_TORCH_DIR}")
    if(NOT NVALCHEMI_TORCH_ROOT AND EXISTS "${NVALCHEMI_SITE_PACKAGES}/torch/lib")
        set(NVALCHEMI_TORCH_ROOT ${NVALCHEMI_SITE_PACKAGES}/torch)
    endif()
    if(NOT NVALCHEMI_TORCH_ROOT)
        message(FATAL_ERROR "LibTorch: not found. Set NVALCHEMI_TORCH_DIR to a folder with include/ and lib/ "
            "(for example <site-packages>/torch), or Torch_DIR to the folder of its TorchConfig.cmake, "
            "or run unittest/run.sh, which installs one.")
    endif()
    nvalchemi_import_torch_library(${NVALCHEMI_TORCH_ROOT} c10)
    nvalchemi_import_torch_library(${NVALCHEMI_TORCH_ROOT} torch_cpu)
    # What libtorch_cpu.so itself needs; the linker must see it, nothing of ours uses it.
    cmake_path(GET NVALCHEMI_TORCH_ROOT PARENT_PATH nvalchemi_torch_beside)
    file(GLOB nvalchemi_torch_needs
        ${nvalchemi_torch_beside}/nvidia/*/lib/libcudart.so.* ${nvalchemi_torch_beside}/nvidia/*/lib/libcupti.so.*)
    set_target_properties(nvalchemi::torch_cpu PROPERTIES
        IMPORTED_LINK_DEPENDENT_LIBRARIES "${nvalchemi_torch_needs}")
    target_link_libraries(nvalchemi::torch INTERFACE nvalchemi::torch_cpu nvalchemi::c10)
endif()

nvalchemi_read_torch_version(${NVALCHEMI_TORCH_ROOT}/include NVALCHEMI_TORCH_VERSION)
if(NVALCHEMI_TORCH_VERSION VERSION_LESS nvalchemi_torch_minimum)
    message(FATAL_ERROR "LibTorch: ${NVALCHEMI_TORCH_ROOT} is version '${NVALCHEMI_TORCH_VERSION}', expected "
        "${nvalchemi_torch_minimum} or later. Set NVALCHEMI_TORCH_DIR to a newer one.")
endif()
# A version that an installed package was not built with is refused by that package: nothing need be linked first.
if(NOT NVALCHEMI_TORCH_EXPECTED OR NVALCHEMI_TORCH_VERSION VERSION_EQUAL NVALCHEMI_TORCH_EXPECTED)
    nvalchemi_try_torch()
endif()
