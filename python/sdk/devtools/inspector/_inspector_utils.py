# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector's parts under the names that tools built on it import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import Node

from sdk.devtools.debug_format.base_schema import OperatorGraph, OperatorNode
from sdk.devtools.debug_format.et_schema import FXOperatorGraph
from sdk.devtools.etrecord import ETRecord
from sdk.devtools.inspector._compare_results import compare_results
from sdk.devtools.inspector._distance import (
    calculate_cosine_similarity,
    calculate_mse,
    calculate_snr,
    convert_to_float_tensor,
)
from sdk.devtools.inspector._graph_matching import (
    get_aot_debug_handle_to_op_name_mapping,
    propagate_back_debug_handle,
)
from sdk.devtools.inspector._intermediate_output_capturer import DebugHandle
from sdk.devtools.inspector._matching import EDGE_DIALECT_GRAPH_KEY, programs_of
from sdk.devtools.inspector._signatures import find_populated_event
from sdk.devtools.inspector._time_scale import TimeScale, calculate_time_scale_factor
from sdk.devtools.inspector._values import InferenceOutput, hashable, is_inference_output_equal
from sdk.devtools.inspector.numerical_comparator.numerical_comparator_base import find_op_names
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY

__all__ = [
    "EDGE_DIALECT_GRAPH_KEY",
    "RESERVED_FRAMEWORK_EVENT_NAMES",
    "DebugHandle",
    "InferenceOutput",
    "NodeFilter",
    "TimeScale",
    "calculate_cosine_similarity",
    "calculate_mse",
    "calculate_snr",
    "calculate_time_scale_factor",
    "compare_results",
    "convert_to_float_tensor",
    "create_debug_handle_to_op_node_mapping",
    "find_op_names",
    "find_populated_event",
    "gen_graphs_from_etrecord",
    "get_aot_debug_handle_to_op_name_mapping",
    "is_inference_output_equal",
    "map_runtime_aot_intermediate_outputs",
    "merge_runtime_overlapping_debug_handles",
    "propagate_back_debug_handle",
]

RESERVED_FRAMEWORK_EVENT_NAMES = ["Method::init", "Program::load_method", "Method::execute"]
"""The events that the runtime itself logs, which belong to no operator."""


class NodeFilter:
    """Chooses nodes by a metadata key and by kind (`call_function`, for instance), except nodes of some names."""

    def __init__(self, metadata_key: str, op_type: str, exclude_ops: list[str] | None = None) -> None:
        self.metadata_key = metadata_key
        self.op_type = op_type
        self.exclude_ops = exclude_ops or []

    def matches(self, node: Node) -> bool:
        """Whether the node is chosen. The names that are left out are parts of node names."""
        return (
            node.meta.get(self.metadata_key) is not None
            and node.op == self.op_type
            and all(name not in node.name for name in self.exclude_ops)
        )


def gen_graphs_from_etrecord(etrecord: ETRecord, enable_module_hierarchy: bool = False) -> dict[str, OperatorGraph]:
    """The graphs of the programs of an ETRecord: those that were added, by `NAME/METHOD`, and the edge program under
    `EDGE_DIALECT_GRAPH_KEY`, of methods other than `forward` under `EDGE_DIALECT_GRAPH_KEY/METHOD`.

    Args:
        etrecord: The record.
        enable_module_hierarchy: See `FXOperatorGraph.gen_operator_graph`.
    """
    programs = dict(etrecord.graph_map or {})
    edge = programs_of(etrecord)
    for method, program in edge.items():
        is_main = method == "forward" or len(edge) == 1
        programs[EDGE_DIALECT_GRAPH_KEY if is_main else f"{EDGE_DIALECT_GRAPH_KEY}/{method}"] = program
    return {
        name: FXOperatorGraph.gen_operator_graph(program.graph_module, enable_module_hierarchy=enable_module_hierarchy)
        for name, program in programs.items()
    }


def create_debug_handle_to_op_node_mapping(op_graph: OperatorGraph) -> dict[int, list[OperatorNode]]:
    """The operators of a graph by debug handle, those inside of delegates and modules included."""
    found: dict[int, list[OperatorNode]] = {}
    for node in op_graph.operators():
        handle = (node.metadata or {}).get(DEBUG_HANDLE_KEY)
        if handle is not None:
            found.setdefault(handle, []).append(node)
    return found


def merge_runtime_overlapping_debug_handles(
    runtime_intermediate_outputs: Mapping[DebugHandle, tuple[int, Any, int]],
) -> dict[DebugHandle, tuple[int, Any, int]]:
    """Merges entries that share a debug handle, directly or through other entries: the result has all handles, and the
    value of the last instruction.

    Args:
        runtime_intermediate_outputs: Debug handles to the number of the instruction, its value, and how many results
            it has.
    """
    merged: dict[DebugHandle, tuple[int, Any, int]] = {}
    for handles, entry in runtime_intermediate_outputs.items():
        overlapping = [known for known in merged if set(known) & set(handles)]
        latest = max([*(merged.pop(known) for known in overlapping), entry], key=lambda e: e[0])
        merged[tuple(sorted({*handles, *(h for known in overlapping for h in known)}))] = latest
    return merged


def map_runtime_aot_intermediate_outputs(
    aot_intermediate_outputs: Mapping[DebugHandle, Any],
    runtime_intermediate_outputs: Mapping[DebugHandle, tuple[Any, int]],
) -> dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]:
    """The values of eager mode, each with the value that the runtime computed for the same operators.

    A value of the runtime for several operators is paired with the last of them; if it has several results, each is
    paired with the last operator whose value has the same shape and is still unpaired. A value that covers an operator
    only in part is left out.

    Args:
        aot_intermediate_outputs: Debug handles to values, in the order of the graph.
        runtime_intermediate_outputs: Debug handles to a value, or a list of results, and how many results there are.
    """
    found: dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]] = {}
    for handles, (value, count) in runtime_intermediate_outputs.items():
        inside = {own: aot for own, aot in aot_intermediate_outputs.items() if set(own) & set(handles)}
        covered = {handle for own in inside for handle in own}
        if not inside or not covered <= set(handles):
            continue
        if count == 1 or not isinstance(value, (list, tuple)):
            last = list(inside.values())[-1]
            found[handles, hashable(last)] = (handles, hashable(value))
            continue
        pending = list(inside.values())
        for result in reversed(value[-count:]):
            same = [i for i, aot in enumerate(pending) if _shape(aot) == _shape(result)]
            if same:
                found[handles, hashable(pending.pop(same[-1]))] = (handles, hashable(result))
    return found


def _shape(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value)
