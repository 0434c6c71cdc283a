# SPDX-License-Identifier: GPL-2.0-only
# NVALCHEMI_BUILD_CUDA: whether CUDA code is built; NVALCHEMI_CUDA_RUNTIME: the runtime library that it needs. LibTorch
# brings that library into a process; where it brings another one, the code is left alone at run time.

set(NVALCHEMI_BUILD_CUDA OFF)
set(NVALCHEMI_CUDA_RUNTIME libcudart.so.13)
if(NVALCHEMI_ENABLE_CUDA)
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            set(CMAKE_CUDA_ARCHITECTURES 80 90)
        endif()
        enable_language(CUDA)
        string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CUDA_COMPILER_VERSION}")
        set(NVALCHEMI_BUILD_CUDA ON)
        set(NVALCHEMI_CUDA_RUNTIME libcudart.so.${compiler_major})
    elseif(NOT NVALCHEMI_ENABLE_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "NVALCHEMI_ENABLE_CUDA: got ${NVALCHEMI_ENABLE_CUDA}, but there is no CUDA compiler, expected "
            "one; set CMAKE_CUDA_COMPILER, or NVALCHEMI_ENABLE_CUDA=OFF (exchanges between GPUs are slower then)")
    endif()
endif()
