# SPDX-License-Identifier: BSD-3-Clause
"""The operators `cortex_m::*`, with implementations that are bit-exact with the kernels."""
