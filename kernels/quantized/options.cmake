# SPDX-License-Identifier: BSD-3-Clause
executorch_option(EXECUTORCH_BUILD_KERNELS_QUANTIZED OFF "Operators that quantise" GROUP kernels TARGETS quantized_ops_lib
  IN kernels/quantized)
