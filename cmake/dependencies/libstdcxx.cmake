# SPDX-License-Identifier: GPL-2.0-only
# One C++ library for the whole process. LAMMPS, LibTorch and the plugin hand strings, streams and exceptions to each
# other; a library that holds a copy of libstdc++ of its own crashes there ("free(): invalid pointer"). Some compilers,
# those of several GPU images among them, link such copies: they lack the link libstdc++.so, and find the archive.
#
# Sets    CMAKE_CXX_STANDARD_LIBRARIES and CMAKE_CUDA_STANDARD_LIBRARIES, where the compiler would link a copy

# Whether a shared library that is linked with `ARGN` uses the libstdc++.so.6 of its process: then it holds that name.
function(nvalchemi_uses_shared_libstdcxx out)
    set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/libstdcxx)
    set(library ${folder}/library.so)
    file(WRITE ${folder}/library.cpp "#include <iostream>\nvoid print(int n) { std::cout << n; }\n")
    set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_SHARED_LINKER_FLAGS}")
    try_compile(compiles ${folder} SOURCES ${folder}/library.cpp COMPILE_DEFINITIONS -fPIC LINK_OPTIONS -shared
        LINK_LIBRARIES ${ARGN} OUTPUT_VARIABLE output COPY_FILE ${library})
    if(NOT compiles)
        message(FATAL_ERROR "${CMAKE_CXX_COMPILER} makes no shared library:\n${output}")
    endif()
    file(STRINGS ${library} names REGEX "^libstdc\\+\\+\\.so\\.6$")
    set(${out} "${names}" PARENT_SCOPE)
endfunction()

# The libstdc++.so.6 that this compiler or the system has; empty if none.
function(nvalchemi_find_shared_libstdcxx out)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so.6 OUTPUT_VARIABLE file ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${file}" OR NOT EXISTS "${file}")
        find_file(nvalchemi_libstdcxx_of_system libstdc++.so.6 NO_CACHE
            PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib64 /usr/lib NO_DEFAULT_PATH)
        set(file "${nvalchemi_libstdcxx_of_system}")
    endif()
    set(${out} "${file}" PARENT_SCOPE)
endfunction()

nvalchemi_uses_shared_libstdcxx(nvalchemi_is_shared)
if(NOT nvalchemi_is_shared)
    nvalchemi_find_shared_libstdcxx(nvalchemi_libstdcxx)
    if(nvalchemi_libstdcxx)
        # before the compiler's own, which then finds nothing left to add
        nvalchemi_uses_shared_libstdcxx(nvalchemi_is_shared ${nvalchemi_libstdcxx})
    endif()
    if(NOT nvalchemi_is_shared)
        message(FATAL_ERROR "${CMAKE_CXX_COMPILER} gives every library a copy of the C++ library: a library that it made does "
            "not use libstdc++.so.6, expected one that does, as LibTorch and LAMMPS do. Programs of such libraries crash. "
            "Remove -static-libstdc++ or -stdlib=libc++ from CXXFLAGS and LDFLAGS, or set CXX to another g++ "
            "(on Debian and its relatives: apt-get install g++).")
    endif()
    message(STATUS "${CMAKE_CXX_COMPILER} would give every library a copy of the C++ library; linking ${nvalchemi_libstdcxx}")
    string(APPEND CMAKE_CXX_STANDARD_LIBRARIES " ${nvalchemi_libstdcxx}")
    string(APPEND CMAKE_CUDA_STANDARD_LIBRARIES " ${nvalchemi_libstdcxx}")
endif()
