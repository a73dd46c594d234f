# SPDX-License-Identifier: BSD-3-Clause
"""Conversions by coremltools in little memory."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LARGEST = 65504.0  # of float16
_INFINITE = 1e38  # coremltools treats larger values as infinity, which float16 can represent
_PART = 1 << 16  # elements


def overflows(values: Any) -> bool:
    """Whether a finite element of an array of float32 is outside of float16's range."""
    import numpy as np

    flat = np.asarray(values).reshape(-1)
    for start in range(0, flat.size, _PART):
        sizes = np.abs(flat[start : start + _PART])
        if ((sizes > _LARGEST) & (sizes < _INFINITE)).any():
            return True
    return False


@contextmanager
def separate_garbage() -> Iterator[None]:
    """While active, the garbage collector visits new objects only, not the modules and the model."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def give_back() -> None:
    """Frees reference cycles, such as the operations of a program, and returns the heap's free memory to the system.
    Otherwise the heap would keep it, because the constants of a program are small."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)


@contextmanager
def checked_in_parts() -> Iterator[None]:
    """While active, coremltools looks for constants beyond float16's range with `overflows`. Its own search makes an
    index of 8 bytes for each element and dimension of a constant, which dominates the memory of a conversion."""
    from coremltools.converters.mil.mil.passes.defs.quantization import FP16ComputePrecision

    def fp16_overflow(op: Any) -> bool:
        operands = (each for given in op.inputs.values() for each in (given if _is_list(given) else [given]))
        return any(
            overflows(operand.op.val.val)
            for operand in operands
            if operand.op is not None and operand.op.op_type == "const" and operand.is_tensor_or_scalar_of(dtype="fp32")
        )

    theirs = FP16ComputePrecision.fp16_overflow
    FP16ComputePrecision.fp16_overflow = staticmethod(fp16_overflow)
    try:
        yield
    finally:
        FP16ComputePrecision.fp16_overflow = staticmethod(theirs)


def _is_list(given: Any) -> bool:
    return isinstance(given, (list, tuple))
