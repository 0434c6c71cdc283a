# SPDX-License-Identifier: GPL-2.0-only
# Compiles and links with the sanitizers that NVALCHEMI_SANITIZERS names, and wraps the programs that load what is built
# here: a sanitizer's library must come before all others in a process, and LAMMPS is not linked to it.

add_compile_options(-fsanitize=${NVALCHEMI_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
add_link_options(-fsanitize=${NVALCHEMI_SANITIZERS})

set(nvalchemi_sanitizer_options "")
set(nvalchemi_sanitizer_libraries "")
set(nvalchemi_suppressions ${PROJECT_SOURCE_DIR}/unittest/sanitizers)
string(REPLACE "," ";" nvalchemi_sanitizers "${NVALCHEMI_SANITIZERS}")
foreach(sanitizer IN LISTS nvalchemi_sanitizers)
    if(sanitizer STREQUAL "address")
        set(name asan)
        # LibTorch, LAMMPS and MPI are not compiled so: a vector that grows in them and is read here looks wrong.
        list(APPEND nvalchemi_sanitizer_options
            "ASAN_OPTIONS=detect_container_overflow=0:detect_stack_use_after_return=1:handle_segv=0:handle_abort=0:protect_shadow_gap=0"
            "LSAN_OPTIONS=suppressions=${nvalchemi_suppressions}/leaks.txt:print_suppressions=0")
    elseif(sanitizer STREQUAL "thread")
        set(name tsan)
        list(APPEND nvalchemi_sanitizer_options
            "TSAN_OPTIONS=suppressions=${nvalchemi_suppressions}/threads.txt:ignore_noninstrumented_modules=1:print_suppressions=0")
    else()
        set(name ubsan)
        list(APPEND nvalchemi_sanitizer_options "UBSAN_OPTIONS=print_stacktrace=1")
    endif()
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.so OUTPUT_STRIP_TRAILING_WHITESPACE
        OUTPUT_VARIABLE library)
    list(APPEND nvalchemi_sanitizer_libraries ${library})
endforeach()
list(JOIN nvalchemi_sanitizer_libraries : nvalchemi_preloaded)

# Sets the variable `program` to the path of a script that runs it with the sanitizers. What LAMMPS and MPI leave behind
# at the end is not looked for: the search itself ends at memory of libraries that are gone by then.
function(nvalchemi_run_sanitized program name)
    if(NOT ${program})
        return()
    endif()
    set(script ${PROJECT_BINARY_DIR}/sanitized/${name})
    file(WRITE ${script} "#!/bin/sh\nexec env \"ASAN_OPTIONS=\${ASAN_OPTIONS}:detect_leaks=0\" \"LD_PRELOAD=${nvalchemi_preloaded}\" \"${${program}}\" \"$@\"\n")
    file(CHMOD ${script} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    set(${program} ${script} PARENT_SCOPE)
endfunction()
nvalchemi_run_sanitized(NVALCHEMI_LAMMPS_EXECUTABLE lmp)
nvalchemi_run_sanitized(NVALCHEMI_KOKKOS_LAMMPS_EXECUTABLE lmp_kokkos)
