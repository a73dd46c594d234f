# SPDX-License-Identifier: BSD-3-Clause
"""Quantizers, and what fuses their annotations into the operators `cadence::quantized_*`."""
