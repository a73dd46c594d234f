# SPDX-License-Identifier: BSD-3-Clause
"""Names and sizes of the element types of a program."""

from __future__ import annotations

from sdk.exir.scalar_type import ScalarType

BYTES = {
    **dict.fromkeys((ScalarType.BYTE, ScalarType.CHAR, ScalarType.BOOL), 1),
    **dict.fromkeys((ScalarType.SHORT, ScalarType.HALF, ScalarType.BFLOAT16, ScalarType.UINT16), 2),
    **dict.fromkeys((ScalarType.INT, ScalarType.FLOAT, ScalarType.UINT32), 4),
    **dict.fromkeys((ScalarType.LONG, ScalarType.DOUBLE, ScalarType.UINT64), 8),
}
"""Bytes of an element. Types that no tensor in memory can have are missing."""

_NAMES = {
    ScalarType.BYTE: "uint8",
    ScalarType.CHAR: "int8",
    ScalarType.SHORT: "int16",
    ScalarType.INT: "int32",
    ScalarType.LONG: "int64",
    ScalarType.HALF: "float16",
    ScalarType.FLOAT: "float32",
    ScalarType.DOUBLE: "float64",
}


def type_name(scalar: ScalarType) -> str:
    """NumPy's name: FLOAT is `float32`."""
    return _NAMES.get(scalar, scalar.name.lower())
