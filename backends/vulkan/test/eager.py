# SPDX-License-Identifier: BSD-3-Clause
"""Programs on the device against eager PyTorch. Exporting takes most of a test's time, so that one program has many
operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from device_program import DeviceProgram
from torch import nn

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes

Inputs = tuple[torch.Tensor, ...]


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class Together(nn.Module):
    """A model of several functions or modules, each with the given number of inputs."""

    def __init__(self, parts: Mapping[str, tuple[Callable[..., Any], int]]) -> None:
        super().__init__()
        self.parts = [(name, part, count) for name, (part, count) in parts.items()]
        self.modules_of_parts = nn.ModuleList(part for part, _ in parts.values() if isinstance(part, nn.Module))

    def results(self, inputs: Inputs) -> Iterator[tuple[str, torch.Tensor]]:
        """Yields each result with the name of its part."""
        for name, part, count in self.parts:
            found = part(*inputs[:count])
            inputs = inputs[count:]
            for result in [found] if isinstance(found, torch.Tensor) else found:
                yield name, result

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(result for _, result in self.results(inputs))


def check(
    model: nn.Module | Callable[..., Any],
    *cases: Inputs,
    half: bool = False,
    dynamic: Any = None,
) -> None:
    """Lowers the model for the first inputs and runs it on all, and on the first again."""
    module = (model if isinstance(model, nn.Module) else Call(model)).eval()
    exported = torch.export.export(module, cases[0], dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner({"force_fp16": half})])
    left = [node for node in get_non_lowered_nodes(edge.exported_program().graph) if "getitem" not in node.name]
    assert not left, left
    program = DeviceProgram(edge.to_executorch().buffer)
    tolerance = 2e-2 if half else 1e-4
    for inputs in (*cases, cases[0]):
        with torch.no_grad():
            if isinstance(module, Together):
                names, expected = zip(*module.results(inputs), strict=True)
            else:
                names, expected = (), module(*inputs)
        program.check(inputs, expected, tolerance, tolerance, names=names)


def check_together(parts: Mapping[str, tuple[Callable[..., Any], Inputs]], half: bool = False) -> None:
    """Runs functions or modules with their inputs, all in one program."""
    together = Together({name: (part, len(inputs)) for name, (part, inputs) in parts.items()})
    # A tensor that is passed twice would become one input.
    check(together, tuple(tensor.clone() for _, inputs in parts.values() for tensor in inputs), half=half)
