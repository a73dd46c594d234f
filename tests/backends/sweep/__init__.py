# SPDX-License-Identifier: BSD-3-Clause
"""Calls with sizes around every boundary of the kernels, by operator, in addition to those of backends.cases."""

from __future__ import annotations

from backends.sweep import convolution, indexing, matrix, normalization, pointwise, reduction, shape, window
from backends.sweep.declare import SWEEPS, Dynamic, Program, cases_of, programs_of, sample_of

FAMILIES = (convolution, indexing, matrix, normalization, pointwise, reduction, shape, window)

__all__ = ["FAMILIES", "SWEEPS", "Dynamic", "Program", "cases_of", "programs_of", "sample_of"]
