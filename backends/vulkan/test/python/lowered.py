# SPDX-License-Identifier: BSD-3-Clause
"""Lowers models for Vulkan and compares them with eager PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from reference import ReferenceRunner, payloads, run_program

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals

__all__ = ["check", "left", "lower", "lower_program", "names", "run_program", "runners", "schema"]


def lower(
    model: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None, **partitioner: Any
) -> EdgeProgramManager:
    """Returns the edge program of a model. Keyword arguments are those of the partitioner."""
    return lower_program(torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic_shapes), **partitioner)


def lower_program(exported: torch.export.ExportedProgram, **partitioner: Any) -> EdgeProgramManager:
    """The edge program of an exported one."""
    return to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner(**partitioner)])


def runners(program: EdgeProgramManager) -> list[ReferenceRunner]:
    """A runner for each delegate."""
    return [ReferenceRunner(payload, data) for payload, data in payloads(program)]


def names(program: EdgeProgramManager) -> list[str]:
    """The operators that the payloads call."""
    return [name for runner in runners(program) for name in runner.names]


def left(program: EdgeProgramManager) -> Mapping[str, str]:
    """The calls outside of delegates, with the reason of the refusal."""
    nodes = get_non_lowered_nodes(program.exported_program().graph)
    return {node.name: get_refusals(node).get("VulkanBackend", "") for node in nodes if node.name[:7] != "getitem"}


def check(program: EdgeProgramManager, model: torch.nn.Module, inputs: Any, tolerance: float = 1e-5) -> None:
    """Compares a program with the eager model."""
    with torch.no_grad():
        expected = model(*inputs)
    found = run_program(program, *inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
