# SPDX-License-Identifier: BSD-3-Clause
# Static libraries for Apple systems, compiled on Linux by clang with open headers: for checks. They are not for an App Store.
#   APPLE_TARGET    clang's target, such as arm64-apple-ios13.0-simulator
#   APPLE_HEADERS   the folder `lib` of the PyPI package ziglang, which has the headers of Darwin's libc and of libc++
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES APPLE_TARGET APPLE_HEADERS)
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
foreach(name clang clang++ llvm-ar llvm-ranlib llvm-install-name-tool)
  string(MAKE_C_IDENTIFIER "${name}" variable)
  find_program(APPLE_${variable} NAMES ${name}-19 ${name} REQUIRED)
endforeach()
set(CMAKE_C_COMPILER "${APPLE_clang}")
set(CMAKE_CXX_COMPILER "${APPLE_clang__}")
set(CMAKE_ASM_COMPILER "${APPLE_clang}")
set(CMAKE_AR "${APPLE_llvm_ar}")
set(CMAKE_RANLIB "${APPLE_llvm_ranlib}")
set(CMAKE_INSTALL_NAME_TOOL "${APPLE_llvm_install_name_tool}")  # which CMake requires, and nothing calls
foreach(language C CXX ASM)
  set(CMAKE_${language}_COMPILER_TARGET "${APPLE_TARGET}")
endforeach()
# Nothing is linked, and there is no SDK to look for.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "")
set(headers "-nostdlibinc -isystem ${APPLE_HEADERS}/libc/include/any-macos-any -isystem ${APPLE_HEADERS}/libc/include/any-darwin-any")
# With the macros that the configuration of a libc++ build defines.
set(libcxx "-nostdinc++ -isystem ${APPLE_HEADERS}/libcxx/include -isystem ${APPLE_HEADERS}/libcxxabi/include \
-D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1 -D_LIBCPP_DISABLE_AVAILABILITY -D_LIBCPP_PSTL_CPU_BACKEND_SERIAL \
-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE")
set(CMAKE_C_FLAGS_INIT "${headers}")
set(CMAKE_ASM_FLAGS_INIT "${headers}")
set(CMAKE_CXX_FLAGS_INIT "${libcxx} ${headers}")
