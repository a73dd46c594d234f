# SPDX-License-Identifier: BSD-3-Clause
"""Types of elements: PyTorch's dtypes in TOSA, and the types that each operator supports.

Source: the tables "Supported Data Types" of the operators in the TOSA specification 1.0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.backends.arm.tosa.specification import TosaSpecification

FLOATS = (DType.FP32, DType.FP16)

# int64 is kept in int32: partitions compute with indices only (sdk.backends.arm.tosa.support).
_TOSA: dict[torch.dtype, DType] = {
    torch.bool: DType.BOOL,
    torch.int8: DType.INT8,
    torch.int16: DType.INT16,
    torch.int32: DType.INT32,
    torch.int64: DType.INT32,
    torch.float32: DType.FP32,
    torch.float16: DType.FP16,
    torch.bfloat16: DType.BF16,
}
_NUMPY: dict[DType, str] = {
    DType.BOOL: "?",
    DType.INT4: "<i1",
    DType.INT8: "<i1",
    DType.INT16: "<i2",
    DType.INT32: "<i4",
    DType.INT48: "<i8",
    DType.FP32: "<f4",
    DType.FP16: "<f2",
}


def _names(text: str) -> list[str]:
    return text.split()


_BOOL, _I8, _I16, _I32 = DType.BOOL, DType.INT8, DType.INT16, DType.INT32
_INTS = (_I8, _I16, _I32)
_ANY = (_BOOL, *_INTS, *FLOATS)
# By operator: the types of its first operand. If the specification lists several operands, they have the same type.
_TYPES: dict[str, tuple[DType, ...]] = {
    **dict.fromkeys(_names("CONV2D CONV3D DEPTHWISE_CONV2D TRANSPOSE_CONV2D MATMUL"), (_I8, _I16, *FLOATS)),
    **dict.fromkeys(_names("ARGMAX AVG_POOL2D MAX_POOL2D CLAMP RESIZE"), (_I8, _I16, *FLOATS)),
    **dict.fromkeys(_names("ERF SIGMOID TANH POW CEIL COS EXP FLOOR LOG RECIPROCAL RSQRT SIN REDUCE_PRODUCT"), FLOATS),
    **dict.fromkeys(_names("ADD SUB MAXIMUM MINIMUM ABS EQUAL GREATER GREATER_EQUAL REDUCE_SUM"), (_I32, *FLOATS)),
    **dict.fromkeys(_names("INTDIV CLZ"), (_I32,)),
    **dict.fromkeys(_names("MUL NEGATE REDUCE_MAX REDUCE_MIN GATHER SCATTER"), (*_INTS, *FLOATS)),
    **dict.fromkeys(
        _names(
            "ARITHMETIC_RIGHT_SHIFT BITWISE_AND BITWISE_OR BITWISE_XOR BITWISE_NOT LOGICAL_LEFT_SHIFT "
            "LOGICAL_RIGHT_SHIFT"
        ),
        _INTS,
    ),
    **dict.fromkeys(_names("LOGICAL_AND LOGICAL_OR LOGICAL_XOR LOGICAL_NOT REDUCE_ALL REDUCE_ANY"), (_BOOL,)),
    "TABLE": (_I8, _I16),
}
# Operators that support int16 only with the extension `int16`.
_INT16_IS_EXTENSION = frozenset(
    _names(
        "CONV2D CONV3D DEPTHWISE_CONV2D TRANSPOSE_CONV2D MATMUL ARGMAX AVG_POOL2D MAX_POOL2D CLAMP RESIZE TABLE CONCAT"
    )
)
# Operators and types that an Ethos-U55, and an Ethos-U65, do not support.
_NOT_ON_U55 = frozenset(
    _names(
        "BITWISE_AND BITWISE_OR BITWISE_XOR BITWISE_NOT CONV3D EQUAL GATHER GREATER GREATER_EQUAL LOGICAL_AND "
        "LOGICAL_NOT LOGICAL_OR LOGICAL_XOR REDUCE_ALL REDUCE_ANY RESIZE REVERSE SCATTER SELECT"
    )
)
# Operators that accept integers without the profile INT, because they only move or choose elements, such as indices.
_MOVES = frozenset(
    _names("CONCAT PAD RESHAPE REVERSE SLICE TILE TRANSPOSE GATHER SCATTER SELECT CAST IDENTITY CONST CUSTOM")
)


def to_tosa(dtype: torch.dtype) -> DType:
    """Returns TOSA's type for a dtype of PyTorch. Raises UnsupportedError if TOSA does not have it."""
    if dtype not in _TOSA:
        raise UnsupportedError(f"a tensor is {str(dtype).removeprefix('torch.')}, which TOSA 1.0 does not have")
    return _TOSA[dtype]


def to_computed(dtype: torch.dtype) -> DType:
    """The type in which operators compute. As PyTorch does, they compute bfloat16 in float32 and round the result."""
    found = to_tosa(dtype)
    return DType.FP32 if found == DType.BF16 else found


def numpy_type(dtype: DType) -> np.dtype:
    """NumPy's type for constants of a type."""
    return np.dtype(_NUMPY[dtype])


def limits_of(dtype: DType) -> tuple[float, float]:
    """The lowest and the highest number of a type."""
    if dtype in FLOATS:
        return -math.inf, math.inf
    limits = np.iinfo(numpy_type(dtype))
    return int(limits.min), int(limits.max)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """The elements of a constant in the type of `to_computed`. Raises UnsupportedError for integers beyond int32."""
    dtype = to_computed(tensor.dtype)
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    array = tensor.detach().cpu().contiguous().numpy()
    if tensor.dtype == torch.int64:
        limits = np.iinfo(np.int32)
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise UnsupportedError("a constant has an int64 number beyond int32, which TOSA 1.0 does not have")
    return array.astype(numpy_type(dtype), copy=False)


def pack(array: np.ndarray, dtype: DType) -> bytes:
    """The bytes of a constant in a file: int4 in pairs, the first in the low bits; int48 in six bytes."""
    array = np.ascontiguousarray(array)
    if dtype == DType.INT48:
        return array.astype("<i8").reshape(-1, 1).view(np.uint8)[:, :6].tobytes()
    if dtype == DType.INT4:
        flat = array.reshape(-1).astype(np.uint8) & 15
        pairs = np.append(flat, np.uint8(0)) if flat.size % 2 else flat
        return (pairs[::2] | (pairs[1::2] << 4)).tobytes()
    return array.tobytes()


def check_types(specification: TosaSpecification, op: Op, operands: Sequence[DType], result: DType) -> None:
    """Raises UnsupportedError if an operator does not have the types of its operands with the specification."""
    first = operands[1] if op is Op["SELECT"] else operands[0] if operands else result
    if DType.BF16 in (first, result):
        if not specification.support_extension("bf16"):
            raise UnsupportedError(f"it is bfloat16, which TOSA has with the extension +bf16, not in {specification}")
        if op.name not in _MOVES - {"CUSTOM"}:
            raise UnsupportedError(f"bfloat16 operands of TOSA's {op.name} are cast to float32 first")
        return
    if first not in _TYPES.get(op.name, (*_ANY, DType.INT4, DType.INT48)):
        raise UnsupportedError(f"TOSA's {op.name} has no {first.name.lower()} operands")
    for dtype in (first, result):
        if dtype in FLOATS and not specification.support_float():
            raise UnsupportedError(f"it computes with {_words(dtype)}, and {specification} has no floats (+FP)")
    integer = first in (*_INTS, DType.INT4, DType.INT48)
    if integer and op.name not in _MOVES and not specification.support_integer():
        raise UnsupportedError(f"it computes with {_words(first)}, and {specification} has no integers (+INT)")
    if specification.is_U55_subset:
        if op.name in _NOT_ON_U55 or (op.name == "CAST" and _BOOL in (first, result)):
            raise UnsupportedError(
                f"an Ethos-U55 does not have TOSA's {op.name}{' of bool' if op.name == 'CAST' else ''}"
            )
        if op.name == "MATMUL" and first is not _I8:
            raise UnsupportedError("an Ethos-U55 multiplies matrices of int8 only")
        if op.name == "TRANSPOSE_CONV2D" and first is not _I8:
            raise UnsupportedError("an Ethos-U55 has transposed convolutions of int8 only")
    if first is _I16 and op.name in _INT16_IS_EXTENSION and not specification.support_extension("int16"):
        raise UnsupportedError(f"TOSA's {op.name} has int16 operands with the extension +int16, not in {specification}")


def _words(dtype: DType) -> str:
    return {DType.FP32: "float32", DType.FP16: "float16"}.get(dtype, dtype.name.lower())
