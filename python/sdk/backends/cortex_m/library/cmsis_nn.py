# SPDX-License-Identifier: BSD-3-Clause
"""The instruction sets that kernels of this namespace are written for, with the names of CMSIS-NN."""

from __future__ import annotations

from enum import Enum

__all__ = ["Backend", "CortexM", "resolve_backend"]


class Backend(Enum):
    """The instructions that kernels use: vectors (Helium), pairs of int16 in a register, or neither."""

    MVE = 0
    DSP = 1
    SCALAR = 2


class CortexM(Enum):
    """A processor."""

    M0 = 0
    M0PLUS = 1
    M3 = 2
    M4 = 3
    M7 = 4
    M23 = 5
    M33 = 6
    M35P = 7
    M55 = 8
    M85 = 9


_BEST = {
    **dict.fromkeys((CortexM.M4, CortexM.M7, CortexM.M33, CortexM.M35P), Backend.DSP),
    **dict.fromkeys((CortexM.M55, CortexM.M85), Backend.MVE),
}


def resolve_backend(cpu: CortexM) -> Backend:
    """The best instructions of a processor that has all its options."""
    return _BEST.get(cpu, Backend.SCALAR)
