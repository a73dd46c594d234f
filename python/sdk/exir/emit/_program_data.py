# SPDX-License-Identifier: BSD-3-Clause
"""Data that the methods of a program share: constants, initial state, external tensors and compiled delegates.

Equal data is stored once, whichever method it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensor

from sdk.exir._serialize._tensor_data import Data, DataPool, TensorBuffer, TensorData
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.schema import BackendDelegateInlineData, Buffer


def tensor_data(tensor: torch.Tensor, dim_order: Sequence[int], name: str) -> TensorData:
    """The elements of a tensor, dimensions from outermost to innermost as in `dim_order`."""
    if isinstance(tensor, FakeTensor) or tensor.device.type == "meta":
        raise ExportError(
            ExportErrorType.INVALID_INPUT_TYPE,
            f"constant {name!r} has no data (it is a {type(tensor).__name__} on {tensor.device}); "
            "export the model with its real weights",
        )
    return TensorData(tensor, dim_order, name)


def _buffer(data: Data) -> Buffer:
    return TensorBuffer(data) if isinstance(data, TensorData) else Buffer(data)


class ProgramData:
    """Collects data while methods are emitted. Index 0 of constants and of initial state is a placeholder."""

    def __init__(self) -> None:
        self._constants, self._state = DataPool(), DataPool()
        for pool in (self._constants, self._state):
            pool.items.append(b"")
        self._external, self._delegates = DataPool(), DataPool()
        self.external_map: dict[str, dict[str, int]] = {}
        # Find tied weights by their memory, without hashing their data again.
        self._seen: dict[tuple[object, ...], int] = {}
        self._keep_alive: list[torch.Tensor] = []

    def add_constant(self, tensor: torch.Tensor, dim_order: Sequence[int], name: str) -> int:
        """The index in the constant buffer of a tensor's data."""
        memory = None
        if not isinstance(tensor, FakeTensor) and tensor.layout == torch.strided and tensor.numel():
            memory = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tuple(dim_order))
            if memory in self._seen:
                return self._seen[memory]
        index = self._constants.add(tensor_data(tensor, dim_order, name))
        if memory is not None:
            self._seen[memory] = index
            self._keep_alive.append(tensor)
        return index

    def add_state(self, tensor: torch.Tensor, dim_order: Sequence[int], name: str) -> int:
        """Returns the index of a buffer's initial value in the mutable data; 0 for zeros, which are not stored."""
        # Copy the value, because running the module changes its state.
        data = bytes(tensor_data(tensor, dim_order, name))
        return self._state.add(data) if data.count(0) < len(data) else 0

    def add_external(self, tensor: torch.Tensor, dim_order: Sequence[int], tag: str, name: str) -> int:
        """The index of a tensor's data that is stored as `name` in the file `tag`."""
        keys = self.external_map.setdefault(tag, {})
        data = tensor_data(tensor, dim_order, name)
        index = self._external.add(data)
        if keys.setdefault(name, index) != index:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"two methods store different data as {name!r} in {tag!r}; give one of the weights another tag",
            )
        return index

    def add_delegate(self, processed: bytes) -> int:
        """The index, in the delegate data, of a payload that `preprocess` has returned."""
        return self._delegates.add(bytes(processed))

    @property
    def constant_buffer(self) -> list[Buffer]:
        return [_buffer(data) for data in self._constants.items]

    @property
    def mutable_data(self) -> list[Buffer] | None:
        return [_buffer(data) for data in self._state.items] if len(self._state.items) > 1 else None

    @property
    def external_buffers(self) -> list[Data]:
        return self._external.items

    @property
    def delegate_data(self) -> list[BackendDelegateInlineData]:
        return [BackendDelegateInlineData(bytes(data)) for data in self._delegates.items]
