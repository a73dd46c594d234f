# SPDX-License-Identifier: BSD-3-Clause
# Every option of the build, with the names the documents use. `cmake -B build -LH` lists them. What an option needs, and
# what this version does not have, is said once, here: executorch_check_options() turns it into one clear error.
include("${CMAKE_CURRENT_LIST_DIR}/OptionRules.cmake")

# A file of cmake/preset, or one of the user's own: values for options that are not set otherwise.
set(EXECUTORCH_BUILD_PRESET_FILE "${EXECUTORCH_BUILD_PRESET_FILE}" CACHE FILEPATH "Values of options: a file like those in cmake/preset")
executorch_include_preset()

# --- How our own code is built ---------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_ENABLE_LOGGING ON "Compile ET_LOG statements in")
executorch_option(EXECUTORCH_ENABLE_EVENT_TRACER OFF "Compile the calls of event tracers in")
executorch_option(EXECUTORCH_OPTIMIZE_SIZE OFF "Prefer small code to fast code (-Os)")
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
executorch_option(EXECUTORCH_BUILD_EXTENSION_DATA_LOADER OFF "Read programs from files" GROUP extensions TARGETS extension_data_loader)
# Lines that were written for versions whose Module read no data files name it without these two.
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
executorch_option(EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL OFF "Print EValues" GROUP extensions TARGETS extension_evalue_util)
executorch_option(EXECUTORCH_BUILD_EXTENSION_RUNNER_UTIL OFF "Prepare inputs for any method" GROUP extensions
  TARGETS extension_runner_util NEEDS EXECUTORCH_BUILD_EXTENSION_TENSOR)
executorch_option(EXECUTORCH_BUILD_EXTENSION_C_API OFF "The C interface: the static and the shared library executorch_c"
  GROUP extensions TARGETS extension_c_api NEEDS EXECUTORCH_BUILD_EXTENSION_MODULE)
executorch_option(EXECUTORCH_BUILD_EXTENSION_ATEN_UTIL OFF
  "extension_aten_util: PyTorch's tensors and kernels for PyTorch (needs PyTorch in Python; not installed)")
executorch_option(EXECUTORCH_BUILD_ATEN OFF
  "The runtime over PyTorch's at::Tensor (USE_ATEN_LIB): libraries named as the others with _aten behind (needs PyTorch in \
Python; not installed)")
executorch_option(EXECUTORCH_BUILD_EXTENSION_TRAINING OFF "Training (experimental)" GROUP extensions
  TARGETS extension_training IN sdk/cpp/executorch/extension/training
  NEEDS EXECUTORCH_BUILD_EXTENSION_MODULE EXECUTORCH_BUILD_EXTENSION_TENSOR)
executorch_option(EXECUTORCH_BUILD_EXTENSION_LLM OFF "Tokenizers and sampling" GROUP extensions TARGETS extension_llm
  IN sdk/cpp/executorch/extension/llm)
executorch_option(EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER OFF "Generate text" GROUP extensions TARGETS extension_llm_runner
  IN sdk/cpp/executorch/extension/llm/runner NEEDS EXECUTORCH_BUILD_EXTENSION_LLM EXECUTORCH_BUILD_EXTENSION_MODULE)
executorch_option(EXECUTORCH_BUILD_EXTENSION_APPLE OFF "Swift and Objective-C bindings" IN sdk/ios SYSTEM Apple)
executorch_option(EXECUTORCH_BUILD_EXTENSION_LLM_APPLE OFF "Swift and Objective-C bindings for language models" IN sdk/ios
  SYSTEM Apple NEEDS EXECUTORCH_BUILD_EXTENSION_APPLE EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER)

# --- Kernels ---------------------------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_BUILD_PORTABLE_OPS ON "All operators, without dependencies" GROUP kernels TARGETS portable_ops_lib)
executorch_option(EXECUTORCH_BUILD_KERNELS_QUANTIZED OFF "Operators that quantise" GROUP kernels TARGETS quantized_ops_lib)
# With it executorch::kernels has every operator once: the fast kernel where there is one, and the portable one elsewhere.
set(executorch_prefers_speed ${EXECUTORCH_BUILD_PORTABLE_OPS})
if(CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO|Zephyr)$" OR EXECUTORCH_OPTIMIZE_SIZE OR CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
  set(executorch_prefers_speed OFF)
endif()
executorch_option(EXECUTORCH_BUILD_KERNELS_OPTIMIZED ${executorch_prefers_speed} "Fast kernels for common CPUs (fetches Highway)"
  GROUP kernels TARGETS optimized_native_cpu_ops_lib IN kernels/optimized NEEDS EXECUTORCH_BUILD_PORTABLE_OPS)
# What our own programs and bindings link for the operators of ATen.
set(EXECUTORCH_NATIVE_CPU_OPS portable_ops_lib)
if(EXECUTORCH_BUILD_KERNELS_OPTIMIZED)
  set(EXECUTORCH_NATIVE_CPU_OPS optimized_native_cpu_ops_lib)
endif()
executorch_option(EXECUTORCH_BUILD_KERNELS_LLM OFF "Kernels for language models" GROUP kernels TARGETS custom_ops IN kernels/llm)
# One of the three at most: only these operators are in executorch::kernels.
set(EXECUTORCH_SELECT_OPS_LIST "" CACHE STRING "Operators of executorch::kernels: 'aten::add.out,aten::mm.out' (default: all)")
set(EXECUTORCH_SELECT_OPS_MODEL "" CACHE FILEPATH "Programs, or folders of them, whose operators executorch::kernels has")
set(EXECUTORCH_SELECT_OPS_YAML "" CACHE FILEPATH "A functions.yaml or selected_operators.yaml whose operators executorch::kernels has")
executorch_option(EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD OFF "Only the dtypes that the selected programs use")

# --- Backends --------------------------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_BUILD_CADENCE OFF "Cadence DSPs" GROUP backends IN backends/cadence TARGETS cadence_ops_lib)
executorch_option(EXECUTORCH_BUILD_COREML OFF "Apple Core ML" GROUP backends IN backends/apple/coreml TARGETS coremldelegate)
executorch_option(EXECUTORCH_BUILD_CORTEX_M OFF "Arm Cortex-M (CMSIS-NN)" GROUP backends IN backends/cortex_m TARGETS cortex_m_backend)
executorch_option(EXECUTORCH_BUILD_EXYNOS OFF "Samsung Exynos" GROUP backends IN backends/samsung TARGETS enn_backend)
executorch_option(EXECUTORCH_BUILD_MPS OFF "Apple Metal Performance Shaders" GROUP backends IN backends/apple/mps TARGETS mpsdelegate)
executorch_option(EXECUTORCH_BUILD_NEURON OFF "MediaTek Neuron" GROUP backends IN backends/mediatek TARGETS neuron_backend)
executorch_option(EXECUTORCH_BUILD_OPENVINO OFF "Intel OpenVINO" GROUP backends IN backends/openvino TARGETS openvino_backend)
executorch_option(EXECUTORCH_BUILD_QNN OFF "Qualcomm AI Engine" GROUP backends IN backends/qualcomm TARGETS qnn_executorch_backend)
executorch_option(EXECUTORCH_BUILD_VGF OFF "Arm VGF" GROUP backends IN backends/arm TARGETS vgf_backend)
executorch_option(EXECUTORCH_BUILD_VULKAN OFF "Vulkan GPUs" GROUP backends IN backends/vulkan TARGETS vulkan_backend)
executorch_option(EXECUTORCH_BUILD_XNNPACK OFF "CPUs with XNNPACK" GROUP backends IN backends/xnnpack TARGETS xnnpack_backend
  NEEDS EXECUTORCH_BUILD_PTHREADPOOL)
executorch_option(ENABLE_XNNPACK_PROFILING OFF "Accepted: event tracers always get the operators inside XNNPACK"
  NEEDS EXECUTORCH_BUILD_XNNPACK EXECUTORCH_ENABLE_EVENT_TRACER)
foreach(name NNLIB FUSION_G3 VISION)
  executorch_option(EXECUTORCH_${name}_OPT OFF "Cadence's ${name} kernels" NEEDS EXECUTORCH_BUILD_CADENCE)
endforeach()
# Third-party libraries of the thread pool and of backends.
set(executorch_has_threads OFF)
if(EXECUTORCH_BUILD_XNNPACK OR EXECUTORCH_BUILD_KERNELS_OPTIMIZED
    OR (PROJECT_IS_TOP_LEVEL AND NOT CMAKE_SYSTEM_NAME MATCHES "^(Generic|PICO)$"))
  set(executorch_has_threads ON)
endif()
executorch_option(EXECUTORCH_BUILD_PTHREADPOOL ${executorch_has_threads} "extension_threadpool (fetches pthreadpool)"
  IN sdk/cpp/executorch/extension/threadpool)
executorch_option(EXECUTORCH_BUILD_CPUINFO OFF "cpuinfo" IN backends/xnnpack)

# --- Programs, bindings, tests ---------------------------------------------------------------------------------------
executorch_option(EXECUTORCH_BUILD_SIZE_TEST OFF "size_test: the smallest program with the runtime")
executorch_option(EXECUTORCH_BUILD_EXECUTOR_RUNNER ${PROJECT_IS_TOP_LEVEL} "executor_runner: runs any program")
set(executorch_devtools bundled_program etdump)
if(EXECUTORCH_BUILD_EXTENSION_MODULE)
  list(APPEND executorch_devtools bundled_module)
endif()
executorch_option(EXECUTORCH_BUILD_DEVTOOLS OFF "bundled_program, etdump, and bundled_module where there is Module"
  GROUP extensions TARGETS ${executorch_devtools} IN sdk/cpp/executorch/devtools)
executorch_option(ET_BUNDLE_IO OFF "The Arm runner takes bundled programs" IN examples/arm NEEDS EXECUTORCH_BUILD_DEVTOOLS)
executorch_option(EXECUTORCH_BUILD_ARM_ETDUMP OFF "ETDump in the Arm runner" IN examples/arm
  NEEDS EXECUTORCH_BUILD_DEVTOOLS EXECUTORCH_ENABLE_EVENT_TRACER)
executorch_option(EXECUTORCH_BUILD_ANDROID_JNI OFF "Java and Kotlin bindings" IN sdk/android/jni)
executorch_option(EXECUTORCH_BUILD_LLAMA_JNI OFF "Java and Kotlin bindings for language models" IN sdk/android/jni
  NEEDS EXECUTORCH_BUILD_ANDROID_JNI EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER)
executorch_option(EXECUTORCH_BUILD_PYBIND OFF "The Python bindings (need pybind11)")
executorch_option(EXECUTORCH_BUILD_TESTS ${PROJECT_IS_TOP_LEVEL} "The C++ tests (need GoogleTest)")
executorch_option(EXECUTORCH_BUILD_DEMO_BACKENDS ${EXECUTORCH_BUILD_TESTS} "The backends that tests and the tutorial delegate to")
executorch_option(EXECUTORCH_BUILD_FUZZERS OFF "The libFuzzer targets (need clang)")
set(ET_PTE_FILE_PATH "" CACHE FILEPATH "Program for the firmware of examples/cortex_m")

executorch_check_options()

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
  endif()
endif()
