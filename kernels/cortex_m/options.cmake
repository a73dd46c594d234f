# SPDX-License-Identifier: BSD-3-Clause
executorch_option(EXECUTORCH_BUILD_CORTEX_M OFF "The int8 operators that sdk.backends.cortex_m lowers to" GROUP kernels
  TARGETS cortex_m_ops_lib IN kernels/cortex_m)
