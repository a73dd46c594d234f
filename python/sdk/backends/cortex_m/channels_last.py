# SPDX-License-Identifier: BSD-3-Clause
"""Converts images of a captured program to the memory format that the kernels require."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, Node

_clone = torch.ops.aten.clone.default


def _in_format(graph: Graph, value: Node, format: torch.memory_format) -> Node:
    """A copy of the value in the format. Capturing the program again updates the formats of later values."""
    copied = graph.call_function(_clone, (value,), {"memory_format": format})
    copied.meta["val"] = value.meta["val"].contiguous(memory_format=format)
    return copied


def _is_contiguous_image(node: object) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    is_image = isinstance(value, Tensor) and value.dim() == 4 and value.is_floating_point()
    return is_image and value.is_contiguous()  # type: ignore[union-attr]


def with_channels_last(program: ExportedProgram) -> ExportedProgram:
    """The program with float inputs of rank 4 copied to channels_last, and outputs of rank 4 copied back, so that the
    operators between them compute in this format. The inputs and the outputs themselves keep their formats."""
    graph = program.graph_module.graph
    inputs = set(program.graph_signature.user_inputs)
    for node in graph.find_nodes(op="placeholder"):
        if node.name in inputs and _is_contiguous_image(node):
            users = [user for user in node.users if user.op != "output"]
            with graph.inserting_after(node):
                copied = _in_format(graph, node, torch.channels_last)
            for user in users:
                user.replace_input_with(node, copied)
    _copy_outputs(program)
    graph.lint()
    program.graph_module.recompile()
    return program


def _copy_outputs(program: ExportedProgram) -> None:
    graph, signature = program.graph_module.graph, program.graph_signature
    (output,) = graph.find_nodes(op="output")
    values = list(output.args[0])
    for at, (value, spec) in enumerate(zip(values, signature.output_specs, strict=True)):
        if spec.kind is not OutputKind.USER_OUTPUT or not _is_contiguous_image(value) or value.op == "placeholder":
            continue
        with graph.inserting_before(output):
            values[at] = _in_format(graph, value, torch.contiguous_format)
        spec.arg.name = values[at].name
    output.args = (tuple(values),)
