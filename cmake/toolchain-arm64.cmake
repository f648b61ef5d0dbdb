# SPDX-License-Identifier: Apache-2.0
#
# Cross-building for a Cortex-A53 board with Debian's own cross compiler.
#
# The headers and libraries come from a sysroot: a directory with Debian's arm64 -dev packages unpacked in it
# (multiarch layout, usr/lib/aarch64-linux-gnu). `tests/board/prepare.sh sysroot` makes one and prints its path.
# Another one is chosen with -DSLUICE_SYSROOT=DIR or the environment variable of the same name.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT SLUICE_SYSROOT)
  if(DEFINED ENV{SLUICE_SYSROOT})
    set(SLUICE_SYSROOT "$ENV{SLUICE_SYSROOT}")
  elseif(DEFINED ENV{SLUICE_CACHE})
    set(SLUICE_SYSROOT "$ENV{SLUICE_CACHE}/board/sysroot")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(SLUICE_SYSROOT "$ENV{XDG_CACHE_HOME}/sluice/board/sysroot")
  else()
    set(SLUICE_SYSROOT "$ENV{HOME}/.cache/sluice/board/sysroot")
  endif()
endif()
set(SLUICE_SYSROOT "${SLUICE_SYSROOT}" CACHE PATH "Root of the arm64 headers and libraries")
if(NOT EXISTS "${SLUICE_SYSROOT}/usr/include/liburing.h")
  message(FATAL_ERROR "no arm64 sysroot at ${SLUICE_SYSROOT}: run tests/board/prepare.sh sysroot, or set SLUICE_SYSROOT")
endif()

# try_compile reads this file again in a fresh cache; without this it would lose a -DSLUICE_SYSROOT.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SLUICE_SYSROOT)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-a53")
set(CMAKE_SYSROOT "${SLUICE_SYSROOT}")

set(CMAKE_FIND_ROOT_PATH "${SLUICE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# pkg-config of the build machine, looking only into the sysroot.
unset(ENV{PKG_CONFIG_PATH})
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${SLUICE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${SLUICE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SLUICE_SYSROOT}/usr/share/pkgconfig")
