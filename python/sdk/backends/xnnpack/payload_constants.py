# SPDX-License-Identifier: BSD-3-Clause
"""The constants of a payload: named data of the program, each stored once under a hash of its bytes."""

from __future__ import annotations

import hashlib

import torch

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import ConstantDataOffset
from sdk.exir._serialize._named_data_store import NamedDataStore, tensor_bytes

_NAMED = 2**64 - 1  # the offset of constants that have a name


class PayloadConstants:
    """`entries` are the payload's constants, numbered from 1. `store` holds their bytes, in the data file `file` if
    given, else in the program."""

    def __init__(self, file: str | None = None) -> None:
        self._file = file
        self.store = NamedDataStore()
        self.entries = [ConstantDataOffset()]  # 0 means none
        self._numbers: dict[str, int] = {}

    def add(self, tensor: torch.Tensor) -> int:
        """The number of a constant."""
        data = tensor_bytes(tensor.detach().contiguous())
        key = hashlib.sha256(data).hexdigest()
        if key not in self._numbers:
            self.store.add_named_data(key, data, alignment=16, external_tag=self._file)
            self._numbers[key] = len(self.entries)
            self.entries.append(ConstantDataOffset(_NAMED, len(data), key))
        return self._numbers[key]
