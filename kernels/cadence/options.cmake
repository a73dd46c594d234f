# SPDX-License-Identifier: BSD-3-Clause
executorch_option(EXECUTORCH_BUILD_CADENCE OFF "The operators that sdk.backends.cadence lowers to" GROUP kernels
  TARGETS cadence_ops_lib IN kernels/cadence)
