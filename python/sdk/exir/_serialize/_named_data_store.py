# SPDX-License-Identifier: BSD-3-Clause
"""`NamedDataStore`: data that backends and the emitter store under a key, each distinct content once."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdk.exir._serialize._tensor_data import Data, DataPool, memory_of, same_content
from sdk.exir._serialize.data_serializer import DataEntry
from sdk.exir.tensor_layout import TensorLayout

if TYPE_CHECKING:
    import torch  # reading files does not need it


@dataclass
class NamedDataStoreOutput:
    """Distinct buffers and the keys that refer to them: in the program file, and by the name of an external file."""

    buffers: list[Data]
    pte_data: dict[str, DataEntry]
    external_data: dict[str, dict[str, DataEntry]]


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    """The elements of a dense tensor in the order in which memory holds them."""
    tensor = tensor.detach()
    if not tensor.is_contiguous():
        order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim))
        tensor = tensor.permute(order).contiguous()
    if tensor.numel() == 0:
        return b""
    return bytes(memory_of(tensor))


class NamedDataStore:
    """Collects named data. Keys are unique across the program and all external files."""

    def __init__(self) -> None:
        self._pool = DataPool()
        self.buffers: list[Data] = self._pool.items
        self.pte_data: dict[str, DataEntry] = {}
        self.external_data: dict[str, dict[str, DataEntry]] = {}
        self.key_to_buffer_idx: dict[str, int] = {}

    def add_named_data(
        self,
        key: str,
        data: Data | torch.Tensor,
        alignment: int | None = 1,
        external_tag: str | None = None,
        tensor_layout: TensorLayout | None = None,
    ) -> None:
        """Stores `data` under `key`: in the program, or in the file `<external_tag>.ptd`.

        The data starts at a multiple of `alignment` bytes. A tensor's layout is recorded with it. Adding the same data
        under the same key again is allowed; other data is a `ValueError`.
        """
        alignment = 1 if alignment is None else alignment
        if alignment <= 0:
            raise ValueError(f"the alignment of {key!r} is {alignment}; expected a positive number of bytes")
        torch = sys.modules.get("torch")  # without it, nothing is a tensor
        if torch is not None and isinstance(data, torch.Tensor):
            found = TensorLayout.from_tensor(data)
            if tensor_layout not in (None, found):
                raise ValueError(f"the tensor of {key!r} has the layout {found}, tensor_layout says {tensor_layout}")
            tensor_layout = found
            data = tensor_bytes(data)
        entries = self.pte_data if external_tag is None else self.external_data.setdefault(external_tag, {})
        self._add(entries, key, data, alignment, tensor_layout)

    def _add(
        self, entries: dict[str, DataEntry], key: str, data: Data, alignment: int, tensor_layout: TensorLayout | None
    ) -> None:
        known = self.key_to_buffer_idx.get(key)
        if known is not None:
            if not same_content(self.buffers[known], data):
                raise ValueError(
                    f"the key {key!r} is already used for other data "
                    f"({len(self.buffers[known])} bytes, now {len(data)}); use a unique key, such as a hash"
                )
            if key in entries:
                entry = entries[key]
                entry.alignment = math.lcm(entry.alignment, alignment)
                if tensor_layout is not None and entry.tensor_layout not in (None, tensor_layout):
                    raise ValueError(f"the key {key!r} has the layout {entry.tensor_layout}, now {tensor_layout}")
            # A key is stored in one place only: data that is already stored elsewhere stays there.
            return
        index = self._pool.add(data)
        self.key_to_buffer_idx[key] = index
        entries[key] = DataEntry(index, alignment, tensor_layout)

    def get_named_data_store_output(self) -> NamedDataStoreOutput:
        """All that was added. Entries and buffers are shared with the store."""
        external = {tag: entries for tag, entries in self.external_data.items() if entries}
        return NamedDataStoreOutput(self.buffers, self.pte_data, external)

    def merge_named_data_store(self, other: NamedDataStoreOutput) -> None:
        """Adds everything of another store, with the same rules as `add_named_data`."""
        for key, entry in other.pte_data.items():
            self._add(self.pte_data, key, other.buffers[entry.buffer_index], entry.alignment, entry.tensor_layout)
        for tag, entries in other.external_data.items():
            mine = self.external_data.setdefault(tag, {})
            for key, entry in entries.items():
                self._add(mine, key, other.buffers[entry.buffer_index], entry.alignment, entry.tensor_layout)
