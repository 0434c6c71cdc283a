# SPDX-License-Identifier: GPL-2.0-only
# nvalchemi::mpi: the MPI that the host LAMMPS was built with (its C interface).
#
# Reads   NVALCHEMI_ENV_DIR, or what CMake's FindMPI reads
# Sets    NVALCHEMI_MPIEXEC, NVALCHEMI_MPI_NAME

add_library(nvalchemi::mpi INTERFACE IMPORTED)
target_compile_definitions(nvalchemi::mpi INTERFACE MPICH_SKIP_MPICXX=1 OMPI_SKIP_MPICXX=1)
if(NVALCHEMI_ENV_DIR AND EXISTS ${NVALCHEMI_ENV_DIR}/include/mpi.h AND EXISTS ${NVALCHEMI_ENV_DIR}/lib/libmpi.so)
    add_library(nvalchemi::mpi_library SHARED IMPORTED)
    set_target_properties(nvalchemi::mpi_library PROPERTIES
        IMPORTED_LOCATION ${NVALCHEMI_ENV_DIR}/lib/libmpi.so
        INTERFACE_INCLUDE_DIRECTORIES ${NVALCHEMI_ENV_DIR}/include)
    target_link_libraries(nvalchemi::mpi INTERFACE nvalchemi::mpi_library)
    set(NVALCHEMI_MPIEXEC ${NVALCHEMI_ENV_DIR}/bin/mpiexec)
    set(NVALCHEMI_MPI_NAME "${NVALCHEMI_ENV_DIR}/lib/libmpi.so")
else()
    find_package(MPI QUIET COMPONENTS CXX)
    if(NOT MPI_CXX_FOUND)
        message(FATAL_ERROR "MPI: not found. The plugin must be built with the MPI of the LAMMPS that loads it: "
            "put its mpicxx on the path, or set MPI_CXX_COMPILER (for example -DMPI_CXX_COMPILER=/opt/mpich/bin/mpicxx).")
    endif()
    target_link_libraries(nvalchemi::mpi INTERFACE MPI::MPI_CXX)
    set(NVALCHEMI_MPIEXEC ${MPIEXEC_EXECUTABLE})
    set(NVALCHEMI_MPI_NAME "${MPI_CXX_COMPILER}")
endif()
