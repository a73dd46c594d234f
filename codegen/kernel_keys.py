# SPDX-License-Identifier: BSD-3-Clause
"""The keys by which the kernel registry chooses kernels (executorch/runtime/kernel/operator_registry.h)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KERNEL_KEY_VERSION = "v1"
DEFAULT_KEY = "default"  # in a selected_operators.yaml: all tensors
DTYPES_PREFIX = "dtypes/"
# The number of bits of the masks by which the generated header represents sets of dtypes.
MAX_DTYPES = 64
_TENSOR = re.compile(r"(?P<dtype>[0-9]{1,3});([0-9]{1,3}(,[0-9]{1,3})*)?")

# Values of ScalarType, as serialised, in their order.
SCALAR_TYPE_NAMES = (
    *("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"),
    *("ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16"),
    *("QUInt4x2", "QUInt2x4", "Bits1x8", "Bits2x4", "Bits4x2", "Bits8", "Bits16"),
    *("Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "UInt16", "UInt32", "UInt64"),
)
SCALAR_TYPES = {name: value for value, name in enumerate(SCALAR_TYPE_NAMES)}


@dataclass(frozen=True)
class TensorMeta:
    """The properties of a tensor by which a kernel is chosen."""

    dtype: int
    dim_order: tuple[int, ...]


def kernel_key(tensors: Sequence[TensorMeta]) -> str:
    """The key of the kernel for exactly these tensors: ``v1/6;0,1|6;0,1``."""
    parts = (f"{tensor.dtype};{','.join(map(str, tensor.dim_order))}" for tensor in tensors)
    return f"{KERNEL_KEY_VERSION}/{'|'.join(parts)}"


def dtypes_key(dtypes: Iterable[int]) -> str:
    """The key of the kernel for tensors of these dtypes, in any dim order: ``dtypes/`` and a 0 or 1 for each dtype."""
    wanted = set(dtypes)
    return DTYPES_PREFIX + "".join("1" if dtype in wanted else "0" for dtype in range(len(SCALAR_TYPE_NAMES)))


def dtypes_of_key(key: str) -> set[int]:
    """The dtypes in a key of either form. Raises ValueError for another text."""
    if key.startswith(DTYPES_PREFIX):
        places = key[len(DTYPES_PREFIX) :]
        if len(places) != len(SCALAR_TYPE_NAMES) or set(places) - {"0", "1"}:
            raise ValueError(f"'{key}' must have a 0 or 1 for each of the {len(SCALAR_TYPE_NAMES)} dtypes")
        return {dtype for dtype, place in enumerate(places) if place == "1"}
    version, separator, tensors = key.partition("/")
    if not separator or version != KERNEL_KEY_VERSION:
        raise ValueError(f"'{key}' is not a kernel key; expected '{KERNEL_KEY_VERSION}/dtype;dim,order|...'")
    matches = [_TENSOR.fullmatch(tensor) for tensor in tensors.split("|")]
    dtypes = {int(match["dtype"]) for match in matches if match}
    if None in matches or max(dtypes) >= MAX_DTYPES:
        raise ValueError(
            f"'{key[:100]}' is not a kernel key; expected '{KERNEL_KEY_VERSION}/dtype;dim,order|...', dtypes from 0 to "
            f"{MAX_DTYPES - 1}"
        )
    return dtypes


def dtype_name(dtype: int) -> str:
    """``Float`` for 6."""
    return SCALAR_TYPE_NAMES[dtype] if 0 <= dtype < len(SCALAR_TYPE_NAMES) else f"dtype {dtype}"
