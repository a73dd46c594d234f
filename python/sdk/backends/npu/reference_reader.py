# SPDX-License-Identifier: BSD-3-Clause
"""Reads numbers from bytes that may be damaged."""

from __future__ import annotations

import struct
from typing import Any


class Reader:
    """Reads values from bytes, and keeps the position."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self.offset = 0

    def bytes(self, size: int) -> bytes:
        """The next bytes. Raises ValueError if there are fewer."""
        if size > len(self._data) - self.offset:
            raise ValueError(
                f"the payload ends after {len(self._data)} bytes; {size} were expected at offset {self.offset}"
            )
        self.offset += size
        return bytes(self._data[self.offset - size : self.offset])

    def numbers(self, form: str) -> tuple[Any, ...]:
        """The next numbers, in a form of `struct` without its byte order."""
        form = "<" + form
        return struct.unpack(form, self.bytes(struct.calcsize(form)))

    def text(self) -> str:
        (size,) = self.numbers("H")
        try:
            return self.bytes(size).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"a text in the payload is not UTF-8, before offset {self.offset}") from error

    def count(self) -> int:
        """Reads the number of elements that follow. Raises ValueError if there are fewer bytes."""
        (found,) = self.numbers("I")
        if found > len(self._data) - self.offset:
            raise ValueError(f"the payload announces {found} elements at offset {self.offset}, and is shorter")
        return int(found)

    def position(self, values: int) -> int:
        """The position of one of `values` values."""
        (found,) = self.numbers("I")
        if found >= values:
            raise ValueError(f"the payload refers to value {found} of {values}, before offset {self.offset}")
        return int(found)
