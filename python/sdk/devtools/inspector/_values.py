# SPDX-License-Identifier: BSD-3-Clause
"""Converts recorded values in a debug buffer to tensors and numbers."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, Union

import torch

from sdk.devtools.etdump import schema_flatcc as flatcc
from sdk.exir.scalar_type import ScalarType
from sdk.exir.tensor import get_scalar_type

InferenceOutput: TypeAlias = Union[torch.Tensor, list[Any], int, float, str, bool, None]  # noqa: UP007


_MAX_BYTES = 1 << 48
# torch cannot view bytes as quantised dtypes or as dtypes of less than a byte.
_RECORDED = frozenset(kind for kind in ScalarType if not kind.name.startswith(("Q", "BITS")))


class DebugBuffer:
    """The elements of recorded tensors. Without bytes, tensors are None."""

    def __init__(self, data: bytes | None, name: str = "the debug buffer") -> None:
        self._data = None if data is None else bytearray(data)
        self._name = name

    def tensor(self, recorded: flatcc.Tensor) -> torch.Tensor | None:
        """The tensor that an event describes; None without a buffer. Raises ValueError where a buffer does not hold
        it."""
        sizes, strides = list(recorded.sizes), list(recorded.strides)
        if recorded.scalar_type not in _RECORDED:
            raise ValueError(f"the ETDump has a tensor of dtype {recorded.scalar_type!r}, which no kernel computes")
        dtype = get_scalar_type(recorded.scalar_type)
        count = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))
        size = count * dtype.itemsize
        sound = len(sizes) == len(strides) and all(n >= 0 for n in (*sizes, *strides)) and size < _MAX_BYTES
        if not sound or math.prod(sizes) > count:  # the runtime records no element twice
            raise ValueError(f"the ETDump has a tensor of sizes {sizes} and strides {strides}: the file is damaged")
        if self._data is None:
            return None
        start = recorded.offset or 0
        if start < 0 or start + size > len(self._data):
            raise ValueError(
                f"{self._name} has {len(self._data)} bytes, the ETDump has a tensor of {size} bytes at byte {start}: "
                "the buffer is cut off or of another ETDump; pass the one that was written with this ETDump"
            )
        if count == 0:
            return torch.zeros(sizes, dtype=dtype)
        flat = torch.frombuffer(self._data, dtype=dtype, count=count, offset=start)
        return flat.as_strided(sizes, strides).clone()

    def value(self, recorded: flatcc.Value) -> InferenceOutput:
        """The value that an event describes; None for one that the runtime does not record."""
        if recorded.val == flatcc.ValueType.TENSOR.value:
            return None if recorded.tensor is None else self.tensor(recorded.tensor)
        if recorded.val == flatcc.ValueType.TENSOR_LIST.value:
            tensors = [] if recorded.tensor_list is None else recorded.tensor_list.tensors
            return [self.tensor(tensor) for tensor in tensors]
        numbers: dict[str, Any] = {
            flatcc.ValueType.INT.value: recorded.int_value and recorded.int_value.int_val,
            flatcc.ValueType.FLOAT.value: recorded.float_value and recorded.float_value.float_val,
            flatcc.ValueType.DOUBLE.value: recorded.double_value and recorded.double_value.double_val,
            flatcc.ValueType.BOOL.value: recorded.bool_value and recorded.bool_value.bool_val,
        }
        return numbers.get(recorded.val)


def is_inference_output_equal(output1: InferenceOutput, output2: InferenceOutput) -> bool:
    """Whether two recorded values are equal; NaN equals NaN. Raises ValueError if their types differ."""
    if type(output1) is not type(output2):
        raise ValueError(f"expected values of one type, found {type(output1).__name__} and {type(output2).__name__}")
    if isinstance(output1, torch.Tensor) and isinstance(output2, torch.Tensor):
        return (
            output1.dtype == output2.dtype
            and output1.shape == output2.shape
            and bool(((output1 == output2) | ((output1 != output1) & (output2 != output2))).all())
        )
    if isinstance(output1, list) and isinstance(output2, list):
        return len(output1) == len(output2) and all(map(is_inference_output_equal, output1, output2))
    return output1 == output2


def hashable(value: Any) -> Any:
    """A value as a dict key: lists become tuples; tensors are compared by identity."""
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value
