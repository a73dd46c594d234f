# SPDX-License-Identifier: BSD-3-Clause
# Every option of the build, with the names the documents use. `cmake -B build -LH` lists the ones that most projects choose
# from and those of backends, which are in their manifests; -LAH lists all. executorch_check_options() turns what is wrong
# with them into one error.
include("${CMAKE_CURRENT_LIST_DIR}/OptionRules.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/Backends.cmake")

# A file of cmake/preset, or one of the user's own: values for options that are not set otherwise.
set(EXECUTORCH_BUILD_PRESET_FILE "${EXECUTORCH_BUILD_PRESET_FILE}" CACHE FILEPATH "Values of options: a file like those in cmake/preset")
executorch_include_preset()

# --- How our own code is built ---------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_ENABLE_LOGGING ON "Compile ET_LOG statements in")
executorch_option(EXECUTORCH_ENABLE_EVENT_TRACER OFF "Compile the calls of event tracers in")
executorch_option(EXECUTORCH_OPTIMIZE_SIZE OFF "Prefer small code to fast code (-Os)")
executorch_option(EXECUTORCH_WASM_RELAXED_SIMD OFF "Use WebAssembly's relaxed SIMD for multiplications; only the newest engines have it")
executorch_option(EXECUTORCH_ENABLE_WERROR ${PROJECT_IS_TOP_LEVEL} "Treat warnings in our own code as errors")
executorch_option(EXECUTORCH_INSTALL ${PROJECT_IS_TOP_LEVEL} "Make rules for `cmake --install`")
executorch_choice(EXECUTORCH_LOG_LEVEL "info" "Least severe log statements that are compiled in" debug info error fatal)
set(executorch_platforms posix minimal)
if(EXISTS "${EXECUTORCH_SOURCE_ROOT}/sdk/cpp/executorch/runtime/platform/default/android.cpp")
  list(APPEND executorch_platforms android)
endif()
executorch_choice(EXECUTORCH_PAL_DEFAULT "posix" "Platform layer" ${executorch_platforms})
set(EXECUTORCH_SANITIZE "" CACHE STRING "Sanitizers, for example 'address,undefined'")
set(EXECUTORCH_MAX_KERNEL_NUM "" CACHE STRING "Capacity of the kernel table, 28 of it for the prim operators (default 2000)")

# --- Extensions: whether they are part of `all`, of executorch::extensions and of what is installed. Off by default, as
# an embedded system may not support them; linking one by its own name needs no option. ---------------------------------
# The documents of the runner name the options MODULE and TENSOR, but not the options that Module needs: this turns them on.
set(executorch_runs_text OFF)
if(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER)
  set(executorch_runs_text ON)
endif()
executorch_option(EXECUTORCH_BUILD_EXTENSION_DATA_LOADER ${executorch_runs_text} "Read programs from files" GROUP extensions TARGETS extension_data_loader)
# Command lines for earlier versions, whose Module read no data files, name MODULE without these two.
set(executorch_reads_data OFF)
if(EXECUTORCH_BUILD_EXTENSION_MODULE)
  set(executorch_reads_data ON)
endif()
executorch_option(EXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR ${executorch_reads_data} "Read and write .ptd files" GROUP extensions TARGETS extension_flat_tensor)
executorch_option(EXECUTORCH_BUILD_EXTENSION_NAMED_DATA_MAP ${executorch_reads_data} "Use several .ptd files as one"
  GROUP extensions TARGETS extension_named_data_map)
executorch_option(EXECUTORCH_BUILD_EXTENSION_MODULE OFF "The Module class" GROUP extensions TARGETS extension_module
  NEEDS EXECUTORCH_BUILD_EXTENSION_DATA_LOADER EXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR EXECUTORCH_BUILD_EXTENSION_NAMED_DATA_MAP)
executorch_option(EXECUTORCH_BUILD_EXTENSION_TENSOR OFF "TensorPtr" GROUP extensions TARGETS extension_tensor)
executorch_option(EXECUTORCH_BUILD_EXTENSION_TRAINING OFF "Train programs where they run" GROUP extensions
  TARGETS extension_training NEEDS EXECUTORCH_BUILD_EXTENSION_MODULE EXECUTORCH_BUILD_EXTENSION_TENSOR)
executorch_option(EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL OFF "Print EValues" GROUP extensions TARGETS extension_evalue_util)
executorch_option(EXECUTORCH_BUILD_EXTENSION_RUNNER_UTIL OFF "Prepare inputs for any method" GROUP extensions
  TARGETS extension_runner_util NEEDS EXECUTORCH_BUILD_EXTENSION_TENSOR)
executorch_option(EXECUTORCH_BUILD_EXTENSION_C_API OFF "The C interface: the static and the shared library executorch_c"
  GROUP extensions TARGETS extension_c_api NEEDS EXECUTORCH_BUILD_EXTENSION_MODULE)
executorch_option(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER OFF "Language models: text from a program" GROUP extensions
  TARGETS extension_llm_runner)
# xgrammar needs exceptions, which WebAssembly lacks by default, and takes more room than firmware and builds for size have.
set(executorch_has_grammars OFF)
if(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER AND NOT CMAKE_SYSTEM_NAME MATCHES "^(Emscripten|WASI|Generic|PICO)$" AND NOT EXECUTORCH_OPTIMIZE_SIZE)
  set(executorch_has_grammars ON)
endif()
executorch_option(EXECUTORCH_BUILD_LLM_GRAMMAR ${executorch_has_grammars}
  "Language models: answers by a JSON schema or a grammar (fetches xgrammar)")
executorch_option(EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER ${executorch_runs_text} "Speech: text from sound" GROUP extensions
  TARGETS extension_asr_runner NEEDS EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER)
executorch_option(EXECUTORCH_BUILD_EXTENSION_LLM ${executorch_runs_text}
  "Language models: tokenizers (fetches pcre2, utf8proc, yyjson)" GROUP extensions TARGETS extension_llm_tokenizers)
executorch_option(EXECUTORCH_BUILD_EXTENSION_ATEN_UTIL OFF
  "extension_aten_util: PyTorch's tensors and kernels for PyTorch (needs PyTorch in Python; not installed)")
executorch_option(EXECUTORCH_BUILD_ATEN OFF
  "The runtime over PyTorch's at::Tensor (USE_ATEN_LIB): libraries named as the others with the suffix _aten (needs PyTorch in \
Python; not installed)")

# --- Kernels ---------------------------------------------------------------------------------------------------------
file(GLOB executorch_kernel_options "${EXECUTORCH_SOURCE_ROOT}/kernels/*/options.cmake")
foreach(executorch_options_file IN LISTS executorch_kernel_options)
  include("${executorch_options_file}")
endforeach()
# The library with the ATen operators for our own programs and bindings.
set(EXECUTORCH_NATIVE_CPU_OPS portable_ops_lib)
if(EXECUTORCH_BUILD_KERNELS_OPTIMIZED)
  set(EXECUTORCH_NATIVE_CPU_OPS optimized_native_cpu_ops_lib)
endif()
if(executorch_native_ops)  # set by the options.cmake of a kernel library that has these operators, too
  set(EXECUTORCH_NATIVE_CPU_OPS ${executorch_native_ops})
endif()
# At most one of the three may be set: then executorch::kernels has only these operators.
set(EXECUTORCH_SELECT_OPS_LIST "" CACHE STRING "Operators of executorch::kernels: 'aten::add.out,aten::mm.out' (default: all)")
set(EXECUTORCH_SELECT_OPS_MODEL "" CACHE FILEPATH "Programs, or folders of them, whose operators executorch::kernels has")
set(EXECUTORCH_SELECT_OPS_YAML "" CACHE FILEPATH "A functions.yaml or selected_operators.yaml whose operators executorch::kernels has")
executorch_option(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD OFF "Only the dtypes that the selected programs use")

# --- Backends, with the options of their manifests --------------------------------------------------------------------
executorch_find_backends()
executorch_is_needed(executorch_has_threads EXECUTORCH_BUILD_PTHREADPOOL)
if(EXECUTORCH_BUILD_KERNELS_OPTIMIZED
    OR (PROJECT_IS_TOP_LEVEL AND NOT CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO)$"))
  set(executorch_has_threads ON)
endif()
executorch_option(EXECUTORCH_BUILD_PTHREADPOOL ${executorch_has_threads} "extension_threadpool (fetches pthreadpool)"
  IN sdk/cpp/executorch/extension/threadpool)
executorch_is_needed(executorch_has_cpuinfo EXECUTORCH_BUILD_CPUINFO)
executorch_option(EXECUTORCH_BUILD_CPUINFO ${executorch_has_cpuinfo} "cpuinfo, which backends link (fetched)")

# --- Programs, bindings, tests ---------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_BUILD_SIZE_TEST OFF "size_test: the smallest program with the runtime")
executorch_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER ${PROJECT_IS_TOP_LEVEL} "executor_runner: runs any program")
set(executorch_devtools bundled_program etdump)
if(EXECUTORCH_BUILD_EXTENSION_MODULE)
  list(APPEND executorch_devtools bundled_module)
endif()
executorch_option(EXECUTORCH_BUILD_DEVTOOLS OFF "bundled_program, etdump, and bundled_module where there is Module"
  GROUP extensions TARGETS ${executorch_devtools} IN sdk/cpp/executorch/devtools)
executorch_option(EXECUTORCH_BUILD_ARM_ETDUMP OFF "The firmware of examples/cortex_m writes an ETDump")
executorch_option(EXECUTORCH_BUILD_ANDROID_JNI OFF "Java and Kotlin bindings" IN sdk/android/jni)
executorch_option(EXECUTORCH_BUILD_WEB OFF "The WebAssembly module of the npm package" IN sdk/web/native
  NEEDS EXECUTORCH_BUILD_EXTENSION_C_API)
executorch_option(EXECUTORCH_BUILD_PYBIND OFF "The Python bindings (need pybind11)")
executorch_option(EXECUTORCH_BUILD_TESTS ${PROJECT_IS_TOP_LEVEL} "The C++ tests (need GoogleTest)")
executorch_option(EXECUTORCH_RELEASE_TESTS_ONLY OFF "Only the C++ tests whose results the optimiser may change; all others run with sanitizers")
executorch_option(EXECUTORCH_BUILD_DEMO_BACKENDS ${EXECUTORCH_BUILD_TESTS} "The backends that tests and the tutorial delegate to")
executorch_option(EXECUTORCH_BUILD_FUZZERS OFF "The libFuzzer targets (need clang)")
set(ET_PTE_FILE_PATH "" CACHE FILEPATH "Program for the firmware of examples/cortex_m")

executorch_check_options()
# All others are advanced: options that presets set, ExecuTorch's names that other options imply, and options for developers.
set(executorch_main_options
  EXECUTORCH_BUILD_PRESET_FILE
  EXECUTORCH_BUILD_BACKENDS
  EXECUTORCH_BUILD_EXECUTOR_RUNNER
  EXECUTORCH_BUILD_EXTENSION_C_API
  EXECUTORCH_BUILD_EXTENSION_LLM
  EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER
  EXECUTORCH_BUILD_EXTENSION_MODULE
  EXECUTORCH_BUILD_EXTENSION_TENSOR
  EXECUTORCH_BUILD_KERNELS_LLM
  EXECUTORCH_BUILD_KERNELS_OPTIMIZED
  EXECUTORCH_BUILD_KERNELS_QUANTIZED
  EXECUTORCH_BUILD_TESTS
  EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD
  EXECUTORCH_ENABLE_EVENT_TRACER
  EXECUTORCH_ENABLE_LOGGING
  EXECUTORCH_LOG_LEVEL
  EXECUTORCH_OPTIMIZE_SIZE
  EXECUTORCH_PAL_DEFAULT
  EXECUTORCH_SELECT_OPS_LIST
  EXECUTORCH_SELECT_OPS_MODEL)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  find_program(EXECUTORCH_CCACHE ccache)
  mark_as_advanced(EXECUTORCH_CCACHE)
  if(NOT EXECUTORCH_CCACHE)
    message(STATUS "ccache not found, builds will not be cached")
  elseif(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    message(STATUS "ccache found and enabled for faster builds")
    set(CMAKE_C_COMPILER_LAUNCHER "${EXECUTORCH_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${EXECUTORCH_CCACHE}")
    if(NOT DEFINED ENV{CCACHE_SLOPPINESS})
      # Without this, ccache does not cache files that use a precompiled header.
      list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
    endif()
  endif()
endif()
