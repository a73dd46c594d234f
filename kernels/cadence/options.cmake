# SPDX-License-Identifier: BSD-3-Clause
executorch_option(EXECUTORCH_BUILD_CADENCE OFF "The operators that sdk.backends.cadence lowers to" GROUP kernels
  TARGETS cadence_ops_lib IN kernels/cadence)
executorch_option(EXECUTORCH_CADENCE_CPU_RUNNER OFF "cadence_runner: runs bundled programs of sdk.backends.cadence on a CPU"
  NEEDS EXECUTORCH_BUILD_CADENCE)

# Cadence's kernels for one family of DSPs, instead of the portable ones: docs/cadence.md.
executorch_option(EXECUTORCH_NNLIB_OPT OFF "cadence_ops_lib has Cadence's kernels for HiFi" NEEDS EXECUTORCH_BUILD_CADENCE)
executorch_option(EXECUTORCH_FUSION_G3_OPT OFF "cadence_ops_lib has Cadence's kernels for Fusion G3" NEEDS EXECUTORCH_BUILD_CADENCE)
executorch_option(EXECUTORCH_VISION_OPT OFF "cadence_ops_lib has Cadence's kernels for Vision" NEEDS EXECUTORCH_BUILD_CADENCE)
set(NN_LIB_BASE_DIR "" CACHE PATH "The library that Cadence's kernels call: nnlib-hifi4, nnlib-FuG3 or Vision's third-party folder")
set(CADENCE_KERNELS_DIR "" CACHE PATH "Cadence's kernels: a folder with operators/ and, for HiFi and Vision, kernels/")
if(EXECUTORCH_NNLIB_OPT OR EXECUTORCH_FUSION_G3_OPT OR EXECUTORCH_VISION_OPT)
  # It has the operators of ATen, too.
  set(executorch_native_ops cadence_ops_lib)
endif()
