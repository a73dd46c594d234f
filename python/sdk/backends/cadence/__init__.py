# SPDX-License-Identifier: BSD-3-Clause
"""Quantised models for Cadence's DSPs: quantizers, passes, and a memory plan with several memories, which lower to the
operators `cadence::*`. There is no delegate."""
