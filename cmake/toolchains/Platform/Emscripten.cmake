# SPDX-License-Identifier: BSD-3-Clause
# What CMake needs to know of the system that cmake/toolchains/wasm32-emscripten.cmake compiles for. EMSCRIPTEN is not set:
# third-party projects replace their threads by loops where it is.
set(UNIX 1)
set(CMAKE_EXECUTABLE_SUFFIX ".wasm")
# Shared libraries are declared as elsewhere, and not built.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)
