# SPDX-License-Identifier: BSD-3-Clause
"""The operators `cortex_m::*`, with implementations that give each bit of the kernels."""
