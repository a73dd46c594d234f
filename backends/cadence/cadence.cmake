# SPDX-License-Identifier: BSD-3-Clause
# The toolchain file for Cadence's Xtensa compiler: cmake -DCMAKE_TOOLCHAIN_FILE=backends/cadence/cadence.cmake. The
# environment says where it is:
#   XTENSA_TOOLCHAIN  the folder with the versions of the tools, .../XtDevTools/install/tools
#   TOOLCHAIN_VER     the version, such as RI-2023.11-linux
#   XTENSA_CORE       the core, such as VANILLA_HIFI, VANILLA_G3 or VANILLA_VISION
foreach(variable XTENSA_TOOLCHAIN TOOLCHAIN_VER XTENSA_CORE)
  if("$ENV{${variable}}" STREQUAL "")
    message(FATAL_ERROR "backends/cadence/cadence.cmake: expected ${variable} in the environment, found none. "
      "docs/cadence.md says what it is")
  endif()
endforeach()
set(xtensa_tools "$ENV{XTENSA_TOOLCHAIN}/$ENV{TOOLCHAIN_VER}/XtensaTools")
if(NOT EXISTS "${xtensa_tools}/bin/xt-clang++")
  message(FATAL_ERROR "backends/cadence/cadence.cmake: expected the compiler ${xtensa_tools}/bin/xt-clang++, found no "
    "file. Check XTENSA_TOOLCHAIN and TOOLCHAIN_VER")
endif()

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR xtensa)
set(CMAKE_CROSSCOMPILING TRUE)
set(CMAKE_C_COMPILER "${xtensa_tools}/bin/xt-clang")
set(CMAKE_CXX_COMPILER "${xtensa_tools}/bin/xt-clang++")
set(CMAKE_AR "${xtensa_tools}/bin/xt-ar")
set(CMAKE_OBJCOPY "${xtensa_tools}/bin/xt-objcopy")
set(CMAKE_RANLIB "${xtensa_tools}/bin/xt-ranlib")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# The compiler takes the core from XTENSA_CORE.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT "-stdlib=libc++ -mtext-section-literals -mlongcalls")
endforeach()
