# SPDX-License-Identifier: BSD-3-Clause
"""`VkGraphBuilder`: the graph of a payload from calls whose tensors have representations and memory."""

from __future__ import annotations

from typing import Any

import torch

from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.vulkan.graph.ir import Call, GpuGraph, Symbol, Tensor
from sdk.backends.vulkan.options import Options
from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.backends.vulkan.serialization.vulkan_graph_schema import VkDataType, VkGraph, VkMemoryLayout, VkStorageType
from sdk.exir._serialize._named_data_store import NamedDataStore, tensor_bytes

_DATATYPES = {
    torch.bool: VkDataType.BOOL,
    torch.uint8: VkDataType.UINT8,
    torch.int8: VkDataType.INT8,
    torch.int32: VkDataType.INT32,
    torch.int64: VkDataType.INT64,
    torch.float16: VkDataType.FLOAT16,
    torch.float32: VkDataType.FLOAT32,
    torch.float64: VkDataType.FLOAT64,
}
_NARROWED = {torch.int64: torch.int32, torch.float64: torch.float32}
_ALIGNMENT = 16


class VkGraphBuilder:
    """Gives ids to values and puts constants into named data, under a hash of their bytes, so that equal constants are
    stored once in each file. `constants` has the key and size of each, or None for an empty constant."""

    def __init__(self, options: Options, files: WeightFiles) -> None:
        self.options = options
        self._files = files
        self.handles: dict[int, Any] = {}
        """The debug handles of the nodes that each call computes, by its number."""
        self.store = NamedDataStore()
        self.constants: list[tuple[str, int] | None] = []
        self._graph = VkGraph("0")
        self._ids: dict[Tensor | Symbol, int] = {}
        self._numbers: dict[tuple[type, str], int] = {}

    def build(self, graph: GpuGraph) -> VkGraph:
        """The graph for `serialize_vulkan_graph`, with `constants`."""
        self._graph.input_ids = [self._id(value) for value in graph.inputs]
        for call in graph.calls:
            self._add(call)
        self._graph.output_ids = [self._id(value) for value in graph.outputs]
        if self.options.storage_type_override is not None:
            self._graph.storage_type_override = self.options.storage_type_override
        if self.options.memory_layout_override is not None:
            self._graph.memory_layout_override = self.options.memory_layout_override
        return self._graph

    def _add(self, call: Call) -> None:
        ids = [self._id(argument) for argument in call.args]
        ids.append(self._id(call.result))
        number = len(self._graph.chain)
        handles = {node.meta.get("debug_handle") for node in call.nodes} - {None}
        self.handles[number] = tuple(sorted(handles))
        self._graph.chain.append(schema.OperatorCall(number, call.name, ids))

    def _id(self, value: Any) -> int:
        if isinstance(value, Tensor | Symbol):
            if value not in self._ids:
                one = self._tensor(value) if isinstance(value, Tensor) else schema.SymInt(value.largest)
                self._ids[value] = self._append(one)
            return self._ids[value]
        if isinstance(value, list | tuple):
            return self._append(self._list(list(value)))
        if value is None:
            return self._number(schema.Null())
        if isinstance(value, bool):
            return self._number(schema.Bool(value))
        if isinstance(value, int):
            return self._number(schema.Int(value))
        if isinstance(value, float):
            return self._number(schema.Double(value))
        if isinstance(value, str):
            return self._number(schema.String(value))
        raise RuntimeError(f"a payload for Vulkan cannot hold the argument {value!r} of type {type(value).__name__}")

    def _list(self, items: list[Any]) -> Any:
        if all(isinstance(item, bool) for item in items) and items:
            return schema.BoolList(items)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            return schema.IntList(items)
        if all(isinstance(item, int | float) and not isinstance(item, bool) for item in items):
            return schema.DoubleList([float(item) for item in items])
        return schema.ValueList([self._id(item) for item in items])

    def _number(self, value: Any) -> int:
        """Adds a number or a text, unless an equal one exists. Returns its id."""
        key = (type(value), repr(value))
        if key not in self._numbers:
            self._numbers[key] = self._append(value)
        return self._numbers[key]

    def _append(self, value: Any) -> int:
        self._graph.values.append(schema.VkValue(value))
        return len(self._graph.values) - 1

    def _tensor(self, tensor: Tensor) -> schema.VkTensor:
        narrow = _NARROWED.get(tensor.dtype, tensor.dtype) if self.options.downcast_64_bit else tensor.dtype
        stored = (
            torch.float16 if self.options.force_fp16 and narrow == torch.float32 and not tensor.is_exact else narrow
        )
        is_constant = tensor.constant is not None
        return schema.VkTensor(
            datatype=_DATATYPES[stored],
            dims=list(tensor.shape),
            constant_id=self._constant(tensor.constant, stored) if tensor.constant is not None else schema.NO_CONSTANT,
            mem_obj_id=tensor.memory,
            storage_type=tensor.repr.storage_type if tensor.repr else VkStorageType.DEFAULT_STORAGE,
            memory_layout=tensor.repr.memory_layout if tensor.repr else VkMemoryLayout.DEFAULT_LAYOUT,
            staging_datatype=_DATATYPES[stored if is_constant else narrow],
        )

    def _constant(self, tensor: torch.Tensor, dtype: torch.dtype) -> int:
        if tensor.dtype != dtype:
            if dtype.is_floating_point:
                # Numbers beyond the range of the smaller type stay finite; infinities stay infinite.
                limits = torch.finfo(dtype)
                tensor = torch.where(tensor.isinf(), tensor, tensor.clamp(limits.min, limits.max))
            tensor = tensor.to(dtype)
        data = tensor_bytes(tensor.detach().contiguous())
        entry: tuple[str, int] | None = None
        if data:
            key, file = self._files.place_of(tensor, data)
            entry = (key, len(data))
            self.store.add_named_data(key, data, alignment=_ALIGNMENT, external_tag=file)
        if entry not in self.constants:
            self.constants.append(entry)
        return self.constants.index(entry)
