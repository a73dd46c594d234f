# SPDX-License-Identifier: BSD-3-Clause
"""`Cord`: bytes in pieces, so that a file with gigabytes of weights is assembled without copying them."""

from __future__ import annotations

import io

from sdk.exir._serialize._tensor_data import Data, TensorData, chunks


class Cord:
    """Byte strings that behave as their concatenation. Holds references to the appended bytes and never copies them."""

    def __init__(self, data: Data | Cord | None = None) -> None:
        self._buffers: list[Data] = []
        self._byte_size = 0
        if data is not None:
            self.append(data)

    def __len__(self) -> int:
        """Total bytes."""
        return self._byte_size

    def __bytes__(self) -> bytes:
        """Copies all data into one bytes object. Prefer `write_to_file` for large cords."""
        return b"".join(chunk for buffer in self._buffers for chunk in chunks(buffer))

    def append(self, data: Data | Cord) -> None:
        if isinstance(data, Cord):
            self._buffers.extend(data._buffers)
            self._byte_size += len(data)
        elif isinstance(data, (bytes, TensorData)):
            if len(data):
                self._buffers.append(data)
                self._byte_size += len(data)
        else:
            raise TypeError(
                f"expected bytes or a Cord to append, found {type(data).__name__}; convert it with bytes(...)"
            )

    def pad_to(self, size: int) -> None:
        """Appends zeros up to `size` bytes."""
        if size < self._byte_size:
            raise ValueError(f"cannot pad {self._byte_size} bytes to {size}")
        self.append(bytes(size - self._byte_size))

    def write_to_file(self, outfile: io.BufferedIOBase) -> None:
        """Writes the pieces to an open binary file."""
        for buffer in self._buffers:
            for chunk in chunks(buffer):
                outfile.write(chunk)
