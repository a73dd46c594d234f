# SPDX-License-Identifier: BSD-3-Clause
"""Quantizers, and the fusion of annotated chains into the operators `cadence::quantized_*`."""
