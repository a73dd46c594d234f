# SPDX-License-Identifier: BSD-3-Clause
"""A model under construction: its tensors in both orders of dimensions, and its operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from sdk.backends.npu.graph import ASSUME, Graph, Quantization, Ref, Value
from sdk.backends.nxp.neutron.tflite.layout import TO_FIRST, TO_LAST, channels_last
from sdk.backends.nxp.neutron.tflite.schema import (
    VERSION,
    Buffer,
    Code,
    Model,
    Operator,
    OperatorCode,
    QuantizationParameters,
    ReshapeOptions,
    SubGraph,
    Tensor,
)
from sdk.exir._serialize._named_data_store import tensor_bytes

_TYPES = {torch.float32: 0, torch.int32: 2, torch.uint8: 3, torch.int64: 4, torch.int8: 9}


class Builder:
    """Writes the calls of a graph in their order.

    Args:
        graph: The graph, whose tensors are quantised or constants.
        converts_formats: Whether inputs and outputs have PyTorch's order. Otherwise images have channels last.

    Attributes:
        graph: The graph.
        last: The values with channels last.
    """

    def __init__(self, graph: Graph, converts_formats: bool) -> None:
        # Values are copied, because inputs get scales.
        values = [dataclasses.replace(value) for value in graph.values]
        self.graph = Graph(values, graph.calls, graph.inputs, graph.outputs)
        self._converts = converts_formats
        self.last = channels_last(graph)
        self._aliases: dict[int, int] = {}
        self._made: dict[tuple[int, bool], int] = {}  # tensors, by the value and whether channels are last
        self._codes: dict[Code, int] = {}
        self.model = Model(VERSION, [], [SubGraph([], [], [], [])], "Neutron", [Buffer()])
        self._adopt_scales()
        for number, position in enumerate(graph.inputs):
            is_last = position in self.last and not converts_formats
            self._made[position, is_last] = index = self._declare(values[position], is_last, f"input_{number}")
            self.main.inputs.append(index)

    @property
    def main(self) -> SubGraph:
        """The only graph of the model."""
        return self.model.subgraphs[0]

    def finish(self) -> Model:
        """The model, with its outputs."""
        for number, position in enumerate(self.graph.outputs):
            source = self.resolve(position)
            index = self.stored(source, source in self.last and not self._converts)
            if index in self.main.inputs or index in self.main.outputs:
                index = self.reshaped(index, self.main.tensors[index].shape, self.value(source))
            self.main.tensors[index].name = f"output_{number}"
            self.main.outputs.append(index)
        return self.model

    def value(self, position: int) -> Value:
        return self.graph.values[self.resolve(position)]

    def resolve(self, position: int) -> int:
        """Returns the value that a value is an alias of."""
        while position in self._aliases:
            position = self._aliases[position]
        return position

    def alias(self, position: int, source: int) -> None:
        """Makes a value an alias of another one."""
        self._aliases[position] = self.resolve(source)

    def given(self, argument: Ref, is_last: bool | None = None) -> int:
        """The tensor of an operand, in the operand's order of dimensions unless `is_last` selects one."""
        position = self.resolve(argument.value)
        return self.stored(position, position in self.last if is_last is None else is_last)

    def stored(self, position: int, is_last: bool) -> int:
        """The tensor of a value in an order of dimensions."""
        value = self.graph.values[position]
        is_last = is_last and len(value.shape) == 4
        if (position, is_last) not in self._made:
            if value.data is not None:
                data = value.data.permute(TO_LAST) if is_last else value.data
                self._made[position, is_last] = self.constant(data, value.quantization)
            else:
                source = self._made[position, not is_last]
                self._made[position, is_last] = self.transposed(source, TO_LAST if is_last else TO_FIRST, value)
        return self._made[position, is_last]

    def result(self, position: int) -> int:
        """A new tensor for a result, in its order of dimensions."""
        is_last = position in self.last
        index = self._declare(self.graph.values[position], is_last, f"value_{position}")
        self._made[position, is_last] = index
        return index

    def plain_result(self, position: int) -> int:
        """A new tensor in PyTorch's order of dimensions, from which `finish_plain` makes a result."""
        if position not in self.last:
            return self.result(position)
        value = self.graph.values[position]
        return self.temporary(value, value.shape)

    def finish_plain(self, position: int, plain: int) -> None:
        """Makes the tensor of `plain_result` the result, transposed to channels last if necessary."""
        if position in self.last:
            self.call(Code.TRANSPOSE, [plain, self.integers(list(TO_LAST))], self.result(position))

    def temporary(self, like: Value, shape: Sequence[int]) -> int:
        """A new tensor with the dtype and the scale of a value."""
        if like.quantization is None and like.dtype.is_floating_point:
            raise ValueError("a tensor of a graph for Neutron is float32 and has no scale")
        index = len(self.main.tensors)
        given = _parameters(like.quantization)
        self.main.tensors.append(Tensor(list(shape), _TYPES[like.dtype], 0, f"temporary_{index}", given))
        return index

    def constant(self, data: torch.Tensor, given: Quantization | None = None, dimension: int | None = None) -> int:
        """Adds a tensor with data. `dimension` is the axis with several scales if it differs from that of `given`."""
        if data.dtype == torch.int64:
            data = data.to(torch.int32)
        content = tensor_bytes(data.contiguous())
        index = len(self.main.tensors)
        self.model.buffers.append(Buffer(content))
        parameters = _parameters(given, dimension)
        place = len(self.model.buffers) - 1
        self.main.tensors.append(Tensor(list(data.shape), _TYPES[data.dtype], place, f"constant_{index}", parameters))
        return index

    def integers(self, numbers: Sequence[int] | Sequence[Sequence[int]]) -> int:
        """A constant of int32."""
        return self.constant(torch.tensor(numbers, dtype=torch.int32))

    def call(self, code: Code, inputs: Sequence[int], output: int, options: Any = None) -> int:
        """Adds a call and returns its result."""
        if code not in self._codes:
            self._codes[code] = len(self._codes)
            self.model.operator_codes.append(OperatorCode(min(code, 127), None, 1, int(code)))
        self.main.operators.append(Operator(self._codes[code], list(inputs), [output], options))
        return output

    def transposed(self, source: int, order: Sequence[int], like: Value) -> int:
        """A tensor with its dimensions in another order."""
        shape = self.main.tensors[source].shape
        target = [shape[dim] for dim in order]
        moved = [dim for dim in order if shape[dim] != 1]
        if moved == sorted(moved):  # only dimensions of size 1 move
            return self.reshaped(source, target, like)
        return self.call(Code.TRANSPOSE, [source, self.integers(list(order))], self.temporary(like, target))

    def reshaped(self, source: int, shape: Sequence[int], like: Value, target: int | None = None) -> int:
        """A tensor with another shape."""
        assert prod(shape) == prod(self.main.tensors[source].shape)
        output = self.temporary(like, shape) if target is None else target
        return self.call(Code.RESHAPE, [source, self.integers(list(shape))], output, ReshapeOptions(list(shape)))

    def _declare(self, value: Value, is_last: bool, name: str) -> int:
        shape = [value.shape[dim] for dim in TO_LAST] if is_last else list(value.shape)
        index = self.temporary(value, shape)
        self.main.tensors[index].name = name
        return index

    def _adopt_scales(self) -> None:
        """Gives values without a scale, such as inputs, the scale that their `ASSUME` calls declare."""
        for call in self.graph.calls:
            if call.name != ASSUME:
                continue
            source, result = call.args[0].value, self.graph.values[call.results[0]]
            value = self.graph.values[source]
            if value.quantization is None:
                value.quantization = result.quantization
            if value.quantization == result.quantization:
                self.alias(call.results[0], source)


def _parameters(given: Quantization | None, dimension: int | None = None) -> QuantizationParameters | None:
    if given is None:
        return None
    axis = (given.axis or 0) if dimension is None else dimension
    return QuantizationParameters(list(given.scales), list(given.zero_points), axis)
