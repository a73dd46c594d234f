# SPDX-License-Identifier: BSD-3-Clause
"""`MPSBackend`: compiles one partition into a payload for the MPS runtime."""

from __future__ import annotations

from typing import Any, final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

import sdk.backends.apple.mps.operators  # noqa: F401 - registers the visitors
from sdk.backends.apple.mps.operators.node_visitor import NodeVisitor, get_node_visitors
from sdk.backends.apple.mps.serialization.graph import MPSGraph
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.mps_graph_serialize import serialize_mps_graph
from sdk.backends.graph.names import name_of
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import is_foldable, settled
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_loss

__all__ = ["MPSBackend", "use_fp16_of"]


def use_fp16_of(compile_specs: list[CompileSpec]) -> bool:
    """Reads the option `use_fp16`, one byte. The default is True.

    Raises:
        ValueError: there is another option, or the value is not a byte of 0 or 1.
    """
    use_fp16 = True
    for spec in compile_specs:
        if spec.key != "use_fp16":
            raise ValueError(f"MPS has the option use_fp16; {spec.key!r} is unknown")
        if bytes(spec.value) not in (b"\0", b"\1"):
            raise ValueError(f"use_fp16 is one byte, 0 or 1; found {bytes(spec.value)!r}")
        use_fp16 = bytes(spec.value) == b"\1"
    return use_fp16


@final
class MPSBackend(BackendDetails):
    """Metal Performance Shaders. With `use_fp16`, which is the default, float32 values are float16 on the GPU; inputs
    and outputs stay float32."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Raises RuntimeError for a node that MPS does not take, with the reason."""
        use_fp16 = use_fp16_of(compile_specs)
        graph = MPSGraph()
        handles: dict[int, tuple[Any, ...]] = {}
        with settled(edge_program):
            visitors = get_node_visitors(edge_program, use_fp16)
            for node in edge_program.graph.nodes:
                if node.op == "placeholder":
                    _add_input(node, visitors["placeholder"], graph)
            needed = _needed(edge_program, visitors)
            for node in edge_program.graph.nodes:
                if node.op == "call_function":
                    if node not in needed:
                        continue
                    before = len(graph.mps_nodes)
                    _visitor_of(node, visitors).lower(node, graph)
                    handle = node.meta.get("debug_handle")
                    if handle is not None:
                        handles.update(dict.fromkeys(range(before, len(graph.mps_nodes)), (handle,)))
                elif node.op == "output":
                    for result in node.args[0]:
                        _add_output(result, visitors["output"], graph)
                elif node.op != "placeholder":
                    raise RuntimeError(f"MPS does not take {node.name}, which is {node.op}")
        if use_fp16 and any(_is_float32(node) for node in edge_program.graph.nodes):
            declare_loss("downcast", "use_fp16: float32 tensors are float16 on the GPU")
        return PreprocessResult(serialize_mps_graph(graph), debug_handle_map=handles)


def fold(program: ExportedProgram, node: Node, visitors: Operators[NodeVisitor]) -> bool:
    """Replaces a call that MPS does not support by a constant, if the call computes one tensor only from constants.
    Quantised weights stay quantised.

    Returns:
        Whether it is a constant.
    """
    if name_of(node).startswith("quantized_decomposed.") or not is_foldable(program, node):
        return False
    visitors["placeholder"].folded.add(node)
    return True


def _needed(program: ExportedProgram, visitors: Operators[NodeVisitor]) -> set[Node]:
    """Returns the calls that the payload computes: calls that are not constants, and are not used only by constants."""
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    folded = {node for node in calls if visitors.refusal(node) is not None and fold(program, node, visitors)}
    needed: set[Node] = set(program.graph.output_node().all_input_nodes)
    for node in reversed(calls):
        if node in needed and node not in folded:
            needed.update(node.all_input_nodes)
    return needed - folded


def _visitor_of(node: Node, visitors: Operators[NodeVisitor]) -> NodeVisitor:
    reason = visitors.refusal(node)
    if reason is not None:
        raise RuntimeError(f"MPS does not take {node.name} ({name_of(node)}): {reason}")
    return visitors[name_of(node)]


def _add_input(node: Node, visitor: NodeVisitor, graph: MPSGraph) -> None:
    if visitor.constant(node) is not None:
        return
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise RuntimeError(f"MPS takes tensors; the input {node.name} is {type(value).__name__}")
    made = visitor.define_tensor(node, graph)
    graph.input_ids.append(made)
    if visitor.stored(value.dtype) != value.dtype:
        visitor.cast_in_place(made, torch.float16, graph)


def _add_output(node: Node, visitor: NodeVisitor, graph: MPSGraph) -> None:
    value = node.meta["val"]
    made = visitor.define_tensor(node, graph)
    declared = graph.mps_values[made].datatype == edge_dtype_to_mps_dtype(value.dtype)
    if not declared or made in (*graph.input_ids, *graph.constant_ids, *graph.output_ids):
        # Copies the result, because MPSGraph returns neither inputs nor the same tensor twice.
        made = visitor.cast(made, value.dtype, list(value.shape), graph)
    elif visitor.stored(value.dtype) != value.dtype:
        visitor.cast_in_place(made, value.dtype, graph)
    graph.output_ids.append(made)


def _is_float32(node: Node) -> bool:
    value = node.meta.get("val")
    return node.op != "output" and isinstance(value, torch.Tensor) and value.dtype == torch.float32
