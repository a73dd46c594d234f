# SPDX-License-Identifier: BSD-3-Clause
# WebAssembly for browsers, Node.js and Deno: clang with the C and C++ libraries of Emscripten 3.1.6, which have threads.
# Neither emcc nor its JavaScript is used: sdk/web/src has the functions that these libraries import; other releases of
# Emscripten import other functions. Debian 12 has the packages: clang-19 lld-19 llvm-19 emscripten. EMSCRIPTEN_SYSROOT names the
# libraries elsewhere (cache/sysroot of an Emscripten).
set(CMAKE_SYSTEM_NAME Emscripten)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")  # Platform/Emscripten.cmake
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EMSCRIPTEN_SYSROOT)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(NOT EMSCRIPTEN_SYSROOT)
  set(EMSCRIPTEN_SYSROOT "$ENV{EMSCRIPTEN_SYSROOT}")
endif()
if(NOT EMSCRIPTEN_SYSROOT)
  set(EMSCRIPTEN_SYSROOT "/usr/share/emscripten/cache/sysroot")
endif()
set(emscripten_libraries "${EMSCRIPTEN_SYSROOT}/lib/wasm32-emscripten")
if(NOT EXISTS "${emscripten_libraries}/libc-mt.a" OR NOT EXISTS "${EMSCRIPTEN_SYSROOT}/include/c++/v1/vector")
  message(FATAL_ERROR "Expected the libraries of Emscripten 3.1.6 in ${EMSCRIPTEN_SYSROOT}, found no lib/wasm32-emscripten/libc-mt.a "
    "or no include/c++/v1. Install Debian 12's `emscripten`, or set EMSCRIPTEN_SYSROOT to the folder cache/sysroot of that release.")
endif()
foreach(name clang clang++ llvm-ar llvm-ranlib llvm-nm wasm-ld)
  string(MAKE_C_IDENTIFIER "${name}" variable)
  find_program(EMSCRIPTEN_${variable} NAMES ${name}-19 ${name} REQUIRED)
  mark_as_advanced(EMSCRIPTEN_${variable})
endforeach()
set(CMAKE_C_COMPILER "${EMSCRIPTEN_clang}")
set(CMAKE_CXX_COMPILER "${EMSCRIPTEN_clang__}")
set(CMAKE_AR "${EMSCRIPTEN_llvm_ar}")
set(CMAKE_RANLIB "${EMSCRIPTEN_llvm_ranlib}")
set(CMAKE_NM "${EMSCRIPTEN_llvm_nm}")
set(CMAKE_SYSROOT "${EMSCRIPTEN_SYSROOT}")
# Features that every browser has had since 2023.
set(emscripten_features "-isystem ${EMSCRIPTEN_SYSROOT}/include/compat -pthread -matomics -msimd128 -mbulk-memory -mmutable-globals -mnontrapping-fptoint -msign-ext")
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET wasm32-unknown-emscripten)
  set(CMAKE_${language}_FLAGS_INIT "${emscripten_features}")
endforeach()
string(APPEND CMAKE_C_FLAGS_INIT " -D_GNU_SOURCE")  # as clang does for C++
# Emscripten builds its C++ libraries with ABI version 2. The variants named noexcept end the program where others would throw.
string(APPEND CMAKE_CXX_FLAGS_INIT " -nostdinc++ -isystem ${EMSCRIPTEN_SYSROOT}/include/c++/v1 -D_LIBCPP_ABI_VERSION=2 -fno-exceptions")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=${EMSCRIPTEN_wasm_ld} -nostdlib ${emscripten_libraries}/crt1_reactor.o")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT
  "-lc++-mt-noexcept -lc++abi-mt-noexcept -lc-mt -ldlmalloc-mt -lcompiler_rt-mt -lstubs")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT} -L${emscripten_libraries}")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
