# SPDX-License-Identifier: BSD-3-Clause
"""The constants of a payload: named data of the program or of data files. Each is named by a hash of its bytes, so that
equal constants are stored once in each file."""

from __future__ import annotations

import torch

from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import ConstantDataOffset
from sdk.exir._serialize._named_data_store import NamedDataStore, tensor_bytes

_NAMED = 2**64 - 1  # the offset of constants that have a name


class PayloadConstants:
    """`entries` are the payload's constants, numbered from 1. `store` holds their bytes, in the data file that
    `files` selects or in the program."""

    def __init__(self, files: WeightFiles) -> None:
        self._files = files
        self.store = NamedDataStore()
        self.entries = [ConstantDataOffset()]  # 0 means none
        self._numbers: dict[str, int] = {}

    def add(self, tensor: torch.Tensor) -> int:
        """The index of a constant, counted from 1.

        Raises:
            ValueError: It is computed from weights that are marked for different data files.
        """
        data = tensor_bytes(tensor.detach().contiguous())
        key, file = self._files.place_of(tensor, data)
        if key not in self._numbers:
            self.store.add_named_data(key, data, alignment=16, external_tag=file)
            self._numbers[key] = len(self.entries)
            self.entries.append(ConstantDataOffset(_NAMED, len(data), key))
        return self._numbers[key]
