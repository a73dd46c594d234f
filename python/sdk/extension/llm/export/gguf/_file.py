# SPDX-License-Identifier: BSD-3-Clause
"""Reads GGUF files: metadata, and where each tensor lies.

The format (ggml's `docs/gguf.md`, versions 2 and 3): a header, key-value pairs, the descriptions of all tensors,
padding, the tensors' bytes. All numbers are little-endian. Nothing in a file is trusted: each length is compared with
what is left of the file before anything is allocated.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdk.exir._serialize._regular_file import regular
from sdk.extension.llm.export.gguf._blocks import FORMATS, BlockFormat

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MOST_DIMENSIONS = 4
"""ggml's `GGML_MAX_DIMS`."""
_MOST_NESTED_ARRAYS = 8

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Code of `struct` for each `gguf_type` but strings and arrays."""

_FLOATS = {0: torch.float32, 1: torch.float16, 30: torch.bfloat16}
"""Dtypes by ggml's `ggml_type`."""
_QUANTIZED = {format.type_id: format for format in FORMATS.values()}


class GGUFError(ValueError):
    """A file that is not a valid GGUF file, or uses an unsupported feature. The message names the byte or the entry."""


@dataclass(frozen=True)
class GGUFTensor:
    """The place of a tensor in a file."""

    name: str
    shape: tuple[int, ...]
    """Sizes in PyTorch's order: the last dimension is contiguous."""
    type: torch.dtype | BlockFormat
    offset: int
    """Offset of the first byte from the beginning of the file."""
    size: int
    """Size in bytes."""


class _Cursor:
    """Reads from the beginning to the end of a buffer."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data, self._path, self.position = data, path, 0

    def error(self, what: str, position: int | None = None) -> GGUFError:
        return GGUFError(f"{self._path}, byte {self.position if position is None else position}: {what}")

    def bytes(self, count: int, what: str) -> bytes:
        left = len(self._data) - self.position
        if count > left:
            raise self.error(f"{what} takes {count} bytes, but only {left} are left in the file; is it cut off?")
        self.position += count
        return self._data[self.position - count : self.position]

    def number(self, code: str, what: str) -> Any:
        layout = struct.Struct("<" + code)
        return layout.unpack(self.bytes(layout.size, what))[0]

    def count(self, least_bytes: int, what: str) -> int:
        """Reads a number of items, each of which has at least `least_bytes` bytes."""
        at, count = self.position, self.number("Q", f"the number of {what}")
        left = len(self._data) - self.position
        if count * least_bytes > left:
            raise self.error(f"{count} {what} do not fit into the {left} bytes that are left in the file", at)
        return int(count)

    def string(self, what: str) -> str:
        at, size = self.position, self.number("Q", f"the length of {what}")
        try:
            return self.bytes(size, what).decode()
        except UnicodeDecodeError as error:
            raise self.error(f"{what} is not UTF-8: {error.reason}", at) from None

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        if code := _SCALARS.get(kind):
            return self.number(code, what)
        if kind == _STRING:
            return self.string(what)
        if kind != _ARRAY or depth == _MOST_NESTED_ARRAYS:
            raise self.error(
                f"{what} has the type {kind}; known are 0 to 12, and arrays nested {_MOST_NESTED_ARRAYS} times"
            )
        element = self.number("I", f"the element type of {what}")
        if code := _SCALARS.get(element):
            layout = struct.Struct("<" + code)
            count = self.count(layout.size, f"elements of {what}")
            return [number for (number,) in layout.iter_unpack(self.bytes(count * layout.size, what))]
        return [self.value(element, what, depth + 1) for _ in range(self.count(8, f"elements of {what}"))]


class GGUFPart:
    """One file of the format, mapped: tensors are read when they are used.

    Raises `GGUFError` for a file that is not valid, OSError for a file that cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with regular(self.path).open("rb") as file:
            try:
                # PyTorch shares only writable memory. A private mapping is writable, and the file does not change.
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            except ValueError:
                raise GGUFError(f"{self.path} is empty") from None
        cursor = _Cursor(self._data, self.path)
        tensors = self._read_header(cursor)
        self.metadata: dict[str, Any] = self._read_metadata(cursor)
        """Values by key, such as `general.architecture`: numbers, strings, booleans, and lists of them."""
        self.alignment = self._read_alignment(cursor)
        self.tensors: dict[str, GGUFTensor] = self._read_tensors(cursor, tensors)
        """Tensors by name, in the file's order."""

    def __getitem__(self, name: str) -> Tensor:
        """A tensor without a copy: floats in their shape, a quantised one as uint8 [rows, bytes of a row]."""
        tensor = self.tensors[name]
        if isinstance(tensor.type, torch.dtype):
            flat = torch.frombuffer(self._data, dtype=tensor.type, count=prod(tensor.shape), offset=tensor.offset)
            return flat.view(tensor.shape)
        raw = torch.frombuffer(self._data, dtype=torch.uint8, count=tensor.size, offset=tensor.offset)
        return raw.view(prod(tensor.shape[:-1]), -1)

    def _read_header(self, cursor: _Cursor) -> int:
        """Returns the number of tensors, and leaves the cursor at the number of key-value pairs."""
        if (magic := cursor.bytes(4, "the header")) != _MAGIC:
            raise GGUFError(f"{self.path} is not a GGUF file: it begins with {magic!r}, not with {_MAGIC!r}")
        version = cursor.number("I", "the version")
        if version not in _VERSIONS:
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            hint = "; it is big-endian, convert it to little-endian" if swapped in _VERSIONS else ""
            raise cursor.error(
                f"GGUF version {version} is not supported, {_VERSIONS[0]} and {_VERSIONS[1]} are{hint}", 4
            )
        at = cursor.position
        count: int = cursor.number("Q", "the number of tensors")
        least = 8 + 4 + 4 + 8  # name's length, dimensions, type, offset
        if count * least > len(self._data):
            raise cursor.error(f"{count} tensors do not fit into a file of {len(self._data)} bytes", at)
        return count

    def _read_metadata(self, cursor: _Cursor) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        for _ in range(cursor.count(8 + 4, "metadata entries")):
            at, key = cursor.position, cursor.string("a metadata key")
            if key in metadata:
                raise cursor.error(f"the metadata key {key!r} is there twice", at)
            metadata[key] = cursor.value(cursor.number("I", f"the type of {key!r}"), f"the value of {key!r}")
        return metadata

    def _read_alignment(self, cursor: _Cursor) -> int:
        alignment = self.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
            raise cursor.error(f"general.alignment is {alignment!r}, expected a positive multiple of 8")
        return alignment

    def _read_tensors(self, cursor: _Cursor, count: int) -> dict[str, GGUFTensor]:
        described: list[tuple[int, str, tuple[int, ...], int, int]] = []
        for _ in range(count):
            at, name = cursor.position, cursor.string("a tensor's name")
            dimensions = cursor.number("I", f"the number of dimensions of {name!r}")
            if not 1 <= dimensions <= _MOST_DIMENSIONS:
                raise cursor.error(f"{name!r} has {dimensions} dimensions, expected 1 to {_MOST_DIMENSIONS}", at)
            shape = tuple(cursor.number("Q", f"the shape of {name!r}") for _ in range(dimensions))[::-1]
            kind, offset = cursor.number("I", f"the type of {name!r}"), cursor.number("Q", f"the offset of {name!r}")
            described.append((at, name, shape, kind, offset))
        data = -(-cursor.position // self.alignment) * self.alignment
        tensors: dict[str, GGUFTensor] = {}
        for at, name, shape, kind, offset in described:
            if name in tensors:
                raise cursor.error(f"the tensor {name!r} is there twice", at)
            try:
                tensors[name] = self._tensor(name, shape, kind, data + offset)
            except ValueError as error:
                raise cursor.error(f"{name!r} {error}", at) from None
        return tensors

    def _tensor(self, name: str, shape: tuple[int, ...], kind: int, offset: int) -> GGUFTensor:
        """Raises ValueError, which says what is wrong with the tensor."""
        type = _FLOATS.get(kind) or _QUANTIZED.get(kind)
        if type is None:
            known = ", ".join(["f32", "f16", "bf16", *FORMATS])
            raise ValueError(f"has ggml's type {kind}, which is not supported; supported are {known}")
        if isinstance(type, torch.dtype):
            size = prod(shape) * type.itemsize
        elif shape[-1] % type.weights:
            raise ValueError(f"has rows of {shape[-1]} weights, but blocks of {type.name} have {type.weights}")
        else:
            size = prod(shape) // type.weights * type.bytes
        if not size:
            raise ValueError(f"has no elements: its shape is {list(shape)}")
        if offset % self.alignment:
            raise ValueError(f"begins at byte {offset}, which is not a multiple of the alignment, {self.alignment}")
        if offset + size > len(self._data):
            end = f"takes bytes {offset} to {offset + size}"
            raise ValueError(f"{end}, but the file has {len(self._data)}; is it cut off?")
        return GGUFTensor(name, shape, type, offset, size)
