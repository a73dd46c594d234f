# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a format for data outside of the program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._tensor_data import Data
from sdk.exir.tensor_layout import TensorLayout


@dataclass
class DataEntry:
    """The data of a key: an index into a list of buffers, the alignment in bytes that its reader needs, and, for a
    tensor, the layout."""

    buffer_index: int
    alignment: int
    tensor_layout: TensorLayout | None


@dataclass
class DataPayload:
    """Buffers and the keys under which they are found. Several keys may share a buffer."""

    buffers: Sequence[Data]
    named_data: dict[str, DataEntry]


class DataSerializer(ABC):
    """Turns named data into the bytes of a file and back."""

    @abstractmethod
    def serialize(self, data: DataPayload) -> Cord:
        """The bytes of a file that holds `data`."""

    @abstractmethod
    def deserialize(self, blob: Cord) -> DataPayload:
        """The data in a file. Raises `ValueError` if the file is not valid."""
