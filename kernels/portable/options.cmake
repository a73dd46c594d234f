# SPDX-License-Identifier: BSD-3-Clause
include_guard()
executorch_option(EXECUTORCH_BUILD_PORTABLE_OPS ON "All operators, without dependencies" GROUP kernels TARGETS portable_ops_lib
  IN kernels/portable)
