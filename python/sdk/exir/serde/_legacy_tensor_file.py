# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `torch.save` wrote before PyTorch 1.6: pickles in a row, then the bytes of the storages.

`torch.load` takes the memory of a storage before it knows whether the file has its bytes. Here the storages together
are at most as large as the file.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path
from typing import Any

import torch

from sdk.exir.serde._tensor_file import LOCATION, Machine, TensorFileError

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_ADVICE = "load the file with a version of PyTorch that can, and save it again with torch.save"


def read_legacy_tensors(file: Path) -> Any:
    """The value in a file; its tensors are copies. Raises TensorFileError and OSError."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _read(content)
    except OSError:
        raise
    except Exception as error:  # raised by instructions on values of wrong types, and by torch on wrong sizes
        problem = str(error)[:200] if isinstance(error, TensorFileError) else f"{type(error).__name__}: {error!s:.200}"
        raise TensorFileError(
            f"the data is not what torch.save of PyTorch 1.6 or newer, or of an older one, writes: {problem}; {_ADVICE}"
        ) from error


def _read(content: mmap.mmap) -> Any:
    magic, protocol, system = (Machine({}, "").run(content) for _ in range(3))
    if magic != _MAGIC or protocol != _PROTOCOL or system.get("little_endian") is not True:
        raise TensorFileError("the file does not begin as torch.save of a little-endian machine writes it")
    machine = _LegacyMachine(len(content))
    result = machine.run(content)
    keys = Machine({}, "").run(content)
    if sorted(keys) != sorted(machine.sizes):
        raise TensorFileError("the file does not have the bytes of each storage")
    for key in keys:
        machine.fill(key, content)
    return result


class _LegacyMachine(Machine):
    """Makes the storages of a pickle; their bytes follow later in the file."""

    def __init__(self, most: int) -> None:
        super().__init__({}, "")
        self._left = most
        self.sizes: dict[str, tuple[int, torch.dtype]] = {}
        """The number of elements and the dtype of each storage."""

    def _read_storage(self, key: str, dtype: torch.dtype, location: str, elements: int) -> torch.UntypedStorage:
        if not LOCATION.fullmatch(location):
            raise TensorFileError(f"the data is for the device {location[:80]!r}")
        size = elements * dtype.itemsize
        if type(elements) is not int or not 0 <= size <= self._left:
            raise TensorFileError(f"the data has a storage of {str(elements)[:80]} elements, more than the file has")
        self._left -= size
        self.sizes[key] = elements, dtype
        return torch.UntypedStorage(size)

    def fill(self, key: str, content: mmap.mmap) -> None:
        """Copies the bytes of a storage, which follow the number of its elements."""
        elements, dtype = self.sizes[key]
        if int.from_bytes(content.read(8), "little") != elements:
            raise TensorFileError(f"the file has another number of elements for the storage {key[:80]!r}")
        data = content.read(elements * dtype.itemsize)
        if len(data) != elements * dtype.itemsize:
            raise TensorFileError(f"the file ends within the storage {key[:80]!r}")
        if not data:
            return
        storage = self._storages[key]
        storage.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8).untyped_storage())
        if sys.byteorder != "little" and dtype.itemsize > 1:
            storage.byteswap(dtype)
