# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of tests, and programs of graphs that are built by hand, for operators and forms that no lowering makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from device_program import DeviceProgram
from torch import nn

from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import serialize_vulkan_graph
from sdk.exir import to_edge
from sdk.exir.lowered_backend_module import LoweredBackendModule

_DATATYPES = {torch.float32: schema.VkDataType.FLOAT32, torch.int32: schema.VkDataType.INT32}


def numbers(*sizes: int, seed: int = 0) -> torch.Tensor:
    """Normally distributed numbers, equal for equal sizes and seeds."""
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed + sum(sizes)))


class GraphOf:
    """A graph and its constants. Each method returns the id of a value."""

    def __init__(self) -> None:
        self.graph = schema.VkGraph("0")
        self.constants: list[torch.Tensor | None] = []

    def value(self, value: Any) -> int:
        """A number, a text, None, or a list of ids."""
        kinds: dict[type, Callable[[Any], Any]] = {
            bool: schema.Bool,
            float: schema.Double,
            int: schema.Int,
            list: schema.ValueList,
            str: schema.String,
            type(None): lambda _: schema.Null(),
        }
        return self._append(kinds[type(value)](value))

    def symint(self) -> int:
        return self._append(schema.SymInt())

    def tensor(self, *sizes: int, dtype: torch.dtype = torch.float32) -> int:
        return self._append(schema.VkTensor(_DATATYPES[dtype], list(sizes), staging_datatype=_DATATYPES[dtype]))

    def constant(self, tensor: torch.Tensor) -> int:
        self.constants.append(tensor)
        kind = _DATATYPES[tensor.dtype]
        number = len(self.constants) - 1
        return self._append(schema.VkTensor(kind, list(tensor.shape), number, staging_datatype=kind))

    def input(self, *sizes: int, dtype: torch.dtype = torch.float32) -> int:
        self.graph.input_ids.append(self.tensor(*sizes, dtype=dtype))
        return self.graph.input_ids[-1]

    def call(self, name: str, *ids: int) -> int:
        """The last id is the result."""
        self.graph.chain.append(schema.OperatorCall(len(self.graph.chain), name, list(ids)))
        return ids[-1]

    def program(
        self, like: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...], *outputs: int
    ) -> DeviceProgram:
        """Loads a program with these inputs, and results of the sizes and dtypes that like(*inputs) has."""
        original, payload = self.parts(like, inputs, *outputs)
        return DeviceProgram(LoweredBackendModule(original, "VulkanBackend", payload, []).buffer())

    def parts(
        self, like: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...], *outputs: int
    ) -> tuple[torch.export.ExportedProgram, bytes]:
        """An exported program with the inputs and results of `program`, and the payload."""
        self.graph.output_ids = list(outputs)

        class Like(nn.Module):
            def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
                return like(*inputs)

        original = to_edge(torch.export.export(Like(), inputs)).exported_program()
        return original, serialize_vulkan_graph(self.graph, self.constants)

    def _append(self, value: Any) -> int:
        self.graph.values.append(schema.VkValue(value))
        return len(self.graph.values) - 1
