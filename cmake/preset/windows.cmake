# SPDX-License-Identifier: BSD-3-Clause
# Windows: the runtime, the portable and quantized kernels, and what applications use with them. The optimized kernels
# are not built there yet, nor is any of this repository's backends.
executorch_preset(EXECUTORCH_BUILD_BACKENDS windows)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_DATA_LOADER ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_MODULE ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_NAMED_DATA_MAP ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_RUNNER_UTIL ON)
executorch_preset(EXECUTORCH_BUILD_EXTENSION_TENSOR ON)
executorch_preset(EXECUTORCH_BUILD_KERNELS_OPTIMIZED OFF)
executorch_preset(EXECUTORCH_BUILD_KERNELS_QUANTIZED ON)
executorch_preset(EXECUTORCH_BUILD_EXECUTOR_RUNNER ON)
executorch_preset(EXECUTORCH_BUILD_TESTS OFF)
