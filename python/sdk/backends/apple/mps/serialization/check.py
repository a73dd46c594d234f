# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the parts of a graph refer to each other correctly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization import shape_nodes as s
from sdk.backends.apple.mps.serialization.graph import MPSGraph, MPSTensor, OpType
from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType, torch_dtype
from sdk.backends.apple.mps.serialization.mps_graph_serialize import PayloadError
from sdk.backends.apple.mps.serialization.nodes import ABSENT

MOST_ELEMENTS = 1 << 31
"""Values have fewer elements than this."""

_OPTIONAL = {
    s.MPSConv2D: ("input3_id",),
    s.MPSDepthwiseConv2D: ("input3_id",),
    s.MPSBatchNorm: ("weight_id", "bias_id"),
    s.MPSLayerNorm: ("weight_id", "bias_id"),
    s.MPSIndexTensor: ("indices_id",),
    s.MPSIndexPut: ("indices_id",),
    s.MPSDequantizePerChannelGroup: ("zero_points_id",),
}
_UNUSED = {
    n.MPSReLU: ("input2_id",),
    s.MPSFull: ("input1_id",),
    s.MPSAvgPool2D: ("output2_id",),
    s.MPSBatchNorm: ("output2_id", "output3_id"),
}


def operands_of(operation: Any) -> list[int | list[int]]:
    """The ids of the operands in the order of their fields, with absent ones."""
    return [value for _, value in _fields(operation, output=False)]


def results_of(operation: Any) -> list[int]:
    """Returns the ids of the results. Only the first result of a normalisation is used."""
    found: list[int] = []
    for _, value in _fields(operation, output=True):
        found += value if isinstance(value, list) else [value]
    return found


def check_graph(graph: MPSGraph, constants_size: int) -> None:
    """Checks that every id refers to a value that is computed before it is read, and that every value has a valid size.

    Raises:
        PayloadError: a part of the graph is wrong; the message names it.
    """
    for number, value in enumerate(graph.mps_values):
        _check_value(number, value)
    known: set[int] = set()
    for what, ids in (("input", graph.input_ids), ("constant", graph.constant_ids)):
        for each in ids:
            _check_id(each, graph, f"the {what}s")
            if each in known:
                raise PayloadError(f"the value {each} is twice among the inputs and constants")
            known.add(each)
    for each in graph.constant_ids:
        _check_constant(each, graph.mps_values[each], constants_size)
    if graph.graph_type == OpType.metal_kernel and len(graph.mps_nodes) != 1:
        raise PayloadError(f"a graph that is a kernel has one node; this one has {len(graph.mps_nodes)}")
    for number, node in enumerate(graph.mps_nodes):
        where = f"node {number} ({type(node.mpsnode_union).__name__})"
        for each in _operand_ids(node.mpsnode_union):
            _check_id(each, graph, where)
            if each not in known:
                raise PayloadError(f"{where} reads the value {each} before it is computed")
        for each in results_of(node.mpsnode_union):
            _check_id(each, graph, where)
            known.add(each)
    for each in graph.output_ids:
        _check_id(each, graph, "the outputs")
        if each not in known:
            raise PayloadError(f"the output {each} is not computed")


def constant_bytes(value: MPSTensor) -> int:
    """The bytes that the elements of a constant need."""
    elements = math.prod(value.dims)
    if value.datatype == MPSDataType.mps_data_type_int4:
        return (elements + 1) // 2
    dtype = torch_dtype(value.datatype)
    return elements * (dtype.itemsize if dtype is not None else 0)


def _fields(operation: Any, output: bool) -> Iterator[tuple[str, int | list[int]]]:
    unused = _UNUSED.get(type(operation), ())
    for name, value in vars(operation).items():
        if name.endswith(("_id", "_ids")) and name.startswith("output") == output and name not in unused:
            yield name, value


def _operand_ids(operation: Any) -> Iterator[int]:
    optional = _OPTIONAL.get(type(operation), ())
    for name, value in _fields(operation, output=False):
        for each in value if isinstance(value, list) else [value]:
            if each != ABSENT or name not in optional:
                yield each


def _check_id(each: int, graph: MPSGraph, where: str) -> None:
    if not 0 <= each < len(graph.mps_values):
        raise PayloadError(f"{where} have the id {each}; the payload has {len(graph.mps_values)} values")


def _check_value(number: int, value: MPSTensor) -> None:
    if value.num_dims != len(value.dims):
        raise PayloadError(f"the value {number} has {len(value.dims)} sizes, but num_dims is {value.num_dims}")
    if any(size < 0 for size in value.dims) or math.prod(value.dims) >= MOST_ELEMENTS:
        raise PayloadError(f"the value {number} cannot have the sizes {value.dims}")
    if torch_dtype(value.datatype) is None and value.datatype != MPSDataType.mps_data_type_int4:
        raise PayloadError(f"the value {number} has the dtype {value.datatype.name}, which MPS does not have")


def _check_constant(number: int, value: MPSTensor, constants_size: int) -> None:
    size, inline = value.constant_buffer_size, value.constant_buffer
    end = size + value.segment_offset
    limit = len(inline.storage) if inline is not None and inline.storage else constants_size
    if end > limit:
        raise PayloadError(f"the constant {number} ends at {end}; the payload has {limit} bytes of constants")
    if size < constant_bytes(value):
        raise PayloadError(
            f"the constant {number} has {size} bytes; its {math.prod(value.dims)} elements need {constant_bytes(value)}"
        )
