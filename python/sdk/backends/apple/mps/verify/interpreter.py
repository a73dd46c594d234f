# SPDX-License-Identifier: BSD-3-Clause
"""The interpreter of payloads. float16 values are computed in float32 and rounded after each operation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from sdk.backends.apple.mps.serialization import nodes as n
from sdk.backends.apple.mps.serialization.check import check_graph, constant_bytes, operands_of, results_of
from sdk.backends.apple.mps.serialization.graph import MPSGraph, MPSNode, MPSTensor
from sdk.backends.apple.mps.serialization.mps_data_type import MPSDataType, torch_dtype
from sdk.backends.apple.mps.serialization.mps_graph_serialize import PayloadError
from sdk.backends.apple.mps.verify.operations import OPERATIONS, OWN_DTYPE

_ROUNDED = (torch.float16, torch.bfloat16)


class MPSExecutionError(ValueError):
    """A call that fails with the inputs given. The message names the node."""


class Interpreter:
    """A graph with its constants. Shapes and dtypes are checked when it is made."""

    def __init__(self, graph: MPSGraph, constants: memoryview) -> None:
        """Raises PayloadError for a graph that cannot be computed."""
        check_graph(graph, len(constants))
        self.graph = graph
        self._constants = {i: _constant(graph.mps_values[i], constants) for i in graph.constant_ids}
        self.inputs = [graph.mps_values[i] for i in graph.input_ids]
        self.outputs = [graph.mps_values[i] for i in graph.output_ids]
        try:
            self._compute([torch.empty(t.dims, dtype=torch_dtype(t.datatype), device="meta") for t in self.inputs])
        except MPSExecutionError as error:
            raise PayloadError(str(error)) from error

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs.

        Raises:
            ValueError: there are too few or too many inputs, or one has another shape or dtype.
            MPSExecutionError: an index is out of range.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the program has {len(self.inputs)} inputs; {len(inputs)} are given")
        for number, (given, declared) in enumerate(zip(inputs, self.inputs, strict=True)):
            expected = (declared.dims, torch_dtype(declared.datatype))
            if (list(given.shape), given.dtype) != expected:
                raise ValueError(
                    f"the input {number} has the shape {list(given.shape)} and is {given.dtype}; "
                    f"the program expects {expected[0]} and {expected[1]}"
                )
        with torch.no_grad():
            return [result.clone() for result in self._compute(inputs)]

    def _compute(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        device = inputs[0].device if inputs else torch.device("cpu")
        values: dict[int, torch.Tensor] = dict(zip(self.graph.input_ids, inputs, strict=True))
        values.update({i: constant.to(device) for i, constant in self._constants.items()})
        for number, node in enumerate(self.graph.mps_nodes):
            kind = type(node.mpsnode_union)
            try:
                results = _apply(node, values, device)
                for i, result in zip(results_of(node.mpsnode_union), results, strict=True):
                    values[i] = _as_declared(result, self.graph.mps_values[i])
            except Exception as error:  # whatever PyTorch raises for values that do not fit
                raise MPSExecutionError(f"node {number} ({kind.__name__}): {error}") from error
        found = []
        for number, (i, declared) in enumerate(zip(self.graph.output_ids, self.outputs, strict=True)):
            if values[i].dtype != torch_dtype(declared.datatype):
                raise MPSExecutionError(
                    f"the output {number} is {values[i].dtype}; the payload says {torch_dtype(declared.datatype)}"
                )
            found.append(_as_declared(values[i], declared))
        return found


def _apply(node: MPSNode, values: dict[int, torch.Tensor], device: torch.device) -> Iterable[torch.Tensor]:
    operation = node.mpsnode_union
    kind = type(operation)
    operands = [_operand(ids, values) for ids in operands_of(operation)]
    floats = [x.dtype for x in _flat(operands) if x.is_floating_point()]
    named = {} if operands else {"device": device}
    found = OPERATIONS[kind](
        node if kind is n.MPSClamp else operation, *(_widened(operand) for operand in operands), **named
    )
    results = [found] if isinstance(found, torch.Tensor) else list(found)
    if kind in OWN_DTYPE or not floats:
        return results
    common = floats[0]
    for dtype in floats[1:]:
        common = torch.promote_types(common, dtype)
    return [result.to(common) if result.is_floating_point() else result for result in results]


def _operand(ids: int | list[int], values: dict[int, torch.Tensor]) -> Any:
    return [values.get(i) for i in ids] if isinstance(ids, list) else values.get(ids)


def _flat(operands: Iterable[Any]) -> Iterable[torch.Tensor]:
    for operand in operands:
        if isinstance(operand, list):
            yield from _flat(operand)
        elif operand is not None:
            yield operand


def _widened(operand: Any) -> Any:
    if isinstance(operand, list):
        return [_widened(each) for each in operand]
    return operand.to(torch.float32) if operand is not None and operand.dtype in _ROUNDED else operand


def _as_declared(result: torch.Tensor, declared: MPSTensor) -> torch.Tensor:
    """Gives a result the shape that the payload declares. For rank 0 in PyTorch, Metal has one dimension of size 1."""
    if list(result.shape) == declared.dims:
        return result
    if result.numel() == 1 and math.prod(declared.dims) == 1 and max(result.dim(), len(declared.dims)) == 1:
        return result.reshape(declared.dims)
    raise ValueError(f"the result has the shape {list(result.shape)}; the payload says {declared.dims}")


def _constant(value: MPSTensor, constants: memoryview) -> torch.Tensor:
    inline = value.constant_buffer
    data = memoryview(inline.storage) if inline is not None and inline.storage else constants
    found = bytearray(data[value.segment_offset :][: constant_bytes(value)])
    if not found:
        return torch.empty(value.dims, dtype=torch_dtype(value.datatype) or torch.int8)
    if value.datatype == MPSDataType.mps_data_type_int4:
        pairs = torch.frombuffer(found, dtype=torch.uint8)
        nibbles = torch.stack((pairs & 0x0F, pairs >> 4), -1).reshape(-1)[: math.prod(value.dims)].to(torch.int8)
        return torch.where(nibbles > 7, nibbles - 16, nibbles).reshape(value.dims)
    dtype = torch_dtype(value.datatype)
    assert dtype is not None  # check_graph
    if dtype == torch.bool:  # any byte but 0 is true
        return (torch.frombuffer(found, dtype=torch.uint8) != 0).reshape(value.dims)
    return torch.frombuffer(found, dtype=dtype).reshape(value.dims)
