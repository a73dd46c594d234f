# SPDX-License-Identifier: BSD-3-Clause
"""int8 models for Arm Cortex-M: a quantizer, and passes that lower to the operators `cortex_m::*`, whose kernels
compute in the arithmetic of CMSIS-NN. There is no delegate."""
