# SPDX-License-Identifier: GPL-2.0-only
# What was configured, in one block.

message(STATUS "
  nvalchemi for LAMMPS ${PROJECT_VERSION}
    LAMMPS          ${NVALCHEMI_LAMMPS_VERSION_DATE}  ${NVALCHEMI_LAMMPS_INCLUDE_DIR}
    lmp             ${NVALCHEMI_LAMMPS_EXECUTABLE}
    LibTorch        ${NVALCHEMI_TORCH_VERSION}  ${NVALCHEMI_TORCH_ROOT}
    MPI             ${NVALCHEMI_MPI_NAME}
    compiler        ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, C++${CMAKE_CXX_STANDARD}, ${CMAKE_BUILD_TYPE}
    CUDA code       ${NVALCHEMI_BUILD_CUDA}
    tests           ${NVALCHEMI_ENABLE_TESTS}
    warnings fail   ${NVALCHEMI_WARNINGS_AS_ERRORS}
    sanitizers      ${NVALCHEMI_SANITIZERS}
")
