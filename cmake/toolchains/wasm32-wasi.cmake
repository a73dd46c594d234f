# SPDX-License-Identifier: BSD-3-Clause
# WebAssembly with files and a clock of the host (WASI), by clang: for Node.js, wasmtime and other runtimes. Debian has the
# packages: clang-19 lld-19 wasi-libc libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32. WASI_SDK_PREFIX names a WASI SDK instead.
set(CMAKE_SYSTEM_NAME Generic)  # older versions of CMake do not support WASI
set(WASI 1)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WASI_SDK_PREFIX)
if(NOT WASI_SDK_PREFIX)
  set(WASI_SDK_PREFIX "$ENV{WASI_SDK_PREFIX}")
endif()
foreach(name clang clang++ llvm-ar llvm-ranlib)
  string(MAKE_C_IDENTIFIER "${name}" variable)
  if(WASI_SDK_PREFIX)
    set(WASI_${variable} "${WASI_SDK_PREFIX}/bin/${name}")
  else()
    find_program(WASI_${variable} NAMES ${name}-19 ${name} REQUIRED)
  endif()
endforeach()
set(CMAKE_C_COMPILER "${WASI_clang}")
set(CMAKE_CXX_COMPILER "${WASI_clang__}")
set(CMAKE_AR "${WASI_llvm_ar}")
set(CMAKE_RANLIB "${WASI_llvm_ranlib}")
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET wasm32-wasi)
  # mmap() is emulated: mappings are copies.
  set(CMAKE_${language}_FLAGS_INIT "-D_WASI_EMULATED_MMAN")
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " -fno-exceptions")  # Debian's libc++ is built without exceptions
set(CMAKE_EXE_LINKER_FLAGS_INIT "-lwasi-emulated-mman -Wl,-z,stack-size=1048576")
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
