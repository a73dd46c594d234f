# SPDX-License-Identifier: BSD-3-Clause
"""Backends of Arm: TOSA, the operator set that they share, and VGF, its form for GPUs."""
