# SPDX-License-Identifier: BSD-3-Clause
"""Tensor data that is written without a copy, and pools that store equal data once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.schema import Buffer

if TYPE_CHECKING:
    import torch  # reading files does not need it

_CHUNK = 1 << 20
"""Number of bytes of a tensor that are reordered at a time."""


class TensorData:
    """The elements of a tensor in the order of a file, read from the tensor's own memory whenever they are needed.

    The tensor must keep its values until then: reading it after it has been changed is an `ExportError`.
    """

    def __init__(self, tensor: torch.Tensor, dim_order: Sequence[int], name: str) -> None:
        self.name = name
        self._tensor = tensor.detach().permute(tuple(dim_order))
        self._version = _version(tensor)

    def __len__(self) -> int:
        return self._tensor.numel() * self._tensor.element_size()

    def __bytes__(self) -> bytes:
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[memoryview]:
        """The bytes in pieces; a tensor that is stored in the file's order is not copied."""
        if _version(self._tensor) != self._version:
            raise ExportError(
                ExportErrorType.VIOLATION_OF_SPEC,
                f"the weight {self.name!r} was changed after the program was made and before it was written; write the "
                "program first, or lower the model again",
            )
        if not len(self):
            return
        if self._tensor.is_contiguous():
            yield memory_of(self._tensor)
            return
        rows = self._tensor.flatten(0, -2) if self._tensor.dim() > 2 and _flattens(self._tensor) else self._tensor
        count = max(1, _CHUNK // max(1, len(self) // rows.shape[0]))
        for piece in rows.split(count):
            yield memory_of(piece.contiguous())


def _flattens(tensor: torch.Tensor) -> bool:
    """Whether all dimensions but the last can be flattened without a copy."""
    sizes, strides = tensor.shape[:-1], tensor.stride()[:-1]
    return all(strides[i] == sizes[i + 1] * strides[i + 1] for i in range(len(sizes) - 1))


def memory_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous tensor. A dimension of size 1 may have any stride, which `view` would refuse."""
    import torch

    elements = tensor.cpu().as_strided((tensor.numel(),), (1,))
    return memoryview(elements.view(torch.uint8).numpy()).toreadonly()


def _version(tensor: torch.Tensor) -> int | None:
    """Counts changes in place; tensors of inference mode do not."""
    return None if tensor.is_inference() else tensor._version


class TensorBuffer(Buffer):
    """A buffer with the data of a tensor. `storage` is a copy, made on each access."""

    def __init__(self, data: TensorData) -> None:
        self.data = data

    @property
    def storage(self) -> bytes:  # type: ignore[override]
        return bytes(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.storage == other.storage

    __hash__ = None  # type: ignore[assignment]


Data = bytes | TensorData


def chunks(data: Data) -> Iterator[bytes | memoryview]:
    """The bytes of `data` in pieces."""
    return data.chunks() if isinstance(data, TensorData) else iter((data,))


def same_content(a: Data, b: Data) -> bool:
    """Whether both have the same bytes."""
    if a is b or len(a) != len(b):
        return a is b
    if isinstance(a, bytes) and isinstance(b, bytes):
        return a == b
    return all(x == y for x, y in _aligned(chunks(a), chunks(b)))


def _aligned(a: Iterator[bytes | memoryview], b: Iterator[bytes | memoryview]) -> Iterator[tuple[bytes, bytes]]:
    """Splits both into pieces of equal lengths."""
    left, right = memoryview(b""), memoryview(b"")
    while True:
        left, right = left or memoryview(next(a, b"")), right or memoryview(next(b, b""))
        size = min(len(left), len(right), _CHUNK)
        if not size:
            return
        yield bytes(left[:size]), bytes(right[:size])
        left, right = left[size:], right[size:]


def _fingerprint(data: Data) -> tuple[int, int]:
    value = 1
    for chunk in chunks(data):
        value = zlib.adler32(chunk, value)
    return len(data), value


@dataclass
class DataPool:
    """Distinct data, by index."""

    items: list[Data] = field(default_factory=list)
    _indices: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def add(self, data: Data) -> int:
        """Returns the index of data with these bytes. Adds the data if it is new."""
        known = self._indices.setdefault(_fingerprint(data), [])
        for index in known:
            if same_content(self.items[index], data):
                return index
        known.append(len(self.items))
        self.items.append(data)
        return known[-1]
