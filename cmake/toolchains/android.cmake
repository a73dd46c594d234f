# SPDX-License-Identifier: BSD-3-Clause
# Android's own toolchain file, found through ANDROID_NDK: a variable of the environment or of CMake.
if(NOT ANDROID_NDK)
  set(ANDROID_NDK "$ENV{ANDROID_NDK}")
endif()
if(NOT EXISTS "${ANDROID_NDK}/build/cmake/android.toolchain.cmake")
  message(FATAL_ERROR "Building for Android needs its NDK: set ANDROID_NDK to the folder of one, in the environment or with "
    "-DANDROID_NDK=... (found '${ANDROID_NDK}'). https://developer.android.com/ndk/downloads has it.")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_NDK)
include("${ANDROID_NDK}/build/cmake/android.toolchain.cmake")
