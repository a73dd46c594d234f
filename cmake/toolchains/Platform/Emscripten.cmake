# SPDX-License-Identifier: BSD-3-Clause
# CMake's description of the system that cmake/toolchains/wasm32-emscripten.cmake compiles for. EMSCRIPTEN is not set, because
# third-party projects would then replace their threads by loops.
set(UNIX 1)
set(CMAKE_EXECUTABLE_SUFFIX ".wasm")
# Shared libraries are declared as elsewhere, and not built.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)
