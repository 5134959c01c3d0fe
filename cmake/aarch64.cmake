# For `cmake --preset aarch64`: Debian's cross compiler for 64-bit ARM, and the libraries that scripts/setup.sh --arm64 left
# in the folder .arm64 of this checkout.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../.arm64)
# MPI's links are made when it is installed, and its compiler and pkg-config speak of the host's.
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(PKG_CONFIG_EXECUTABLE "" CACHE FILEPATH "")
set(openmpi ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi)
set(MPI_C_HEADER_DIR ${openmpi}/include CACHE PATH "")
set(MPI_C_LIB_NAMES mpi CACHE STRING "")
set(MPI_mpi_LIBRARY ${openmpi}/lib/libmpi.so CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
