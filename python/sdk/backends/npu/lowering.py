# SPDX-License-Identifier: BSD-3-Clause
"""Makes the quantised graph of a partition: quantise and dequantise calls become properties of values."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of
from sdk.backends.graph.quantized import DEQUANTIZE_CHANNELS, is_any_dequantize, is_quantize
from sdk.backends.graph.shapes import dtype_of, shape_of
from sdk.backends.npu.graph import ASSUME, DEQUANTIZE, QUANTIZE, Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.integer import MOVES, aten
from sdk.backends.transforms.constants import get_constant, is_constant

_KEEPS = MOVES | {
    f"aten.{name}"
    for name in (
        "cat.default", "clamp.default", "constant_pad_nd.default", "hardtanh.default",
        "max_pool2d_with_indices.default", "relu.default", "split_with_sizes_copy.default",
    )
}  # fmt: skip
"""Operators whose result gets the scale of the operand if the model gives it none, because they do not round. An
average would round."""

_FUSES = frozenset(
    f"aten.{name}"
    for name in ("add.Tensor", "bmm.default", "convolution.default", "linear.default", "mul.Tensor", "sub.Tensor")
)
"""Operators into which an activation function is fused."""

_ARITHMETIC = ("aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor")

_TRANSPOSES = ("aten.permute_copy.default", "aten.t_copy.default", "aten.transpose_copy.int")


class Lowering:
    """The graph of a program so far. The caller holds the context `transforms.constants.settled(program)`.

    Attributes:
        graph: The graph.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.graph = Graph()
        self._positions: dict[Node, list[int]] = {}

    def give(self, node: Node) -> None:
        """Makes a node an input of the graph."""
        position = self.graph.add(Value(dtype_of(node), shape_of(node)))
        self._positions[node] = [position]
        self.graph.inputs.append(position)

    def take(self, node: Node) -> None:
        """Makes the tensor of a node an output of the graph, with the dtype that it has in the program."""
        position = self.position(node)
        if self.graph.values[position].quantization is not None and dtype_of(node).is_floating_point:
            result = self.graph.add(Value(dtype_of(node), shape_of(node)))
            self.graph.calls.append(Call(DEQUANTIZE, [Ref(position)], [result]))
            position = result
        self.graph.outputs.append(position)

    def position(self, node: Node) -> int:
        """Returns the position of a node's tensor, which is an input, computed or a constant."""
        if node not in self._positions:
            if not is_constant(self.program, node):
                raise ValueError(f"{node.name} is neither computed in the partition nor an input of it")
            self._positions[node] = [self.graph.add(self._constant(node))]
        return self._positions[node][0]

    def alias(self, node: Node, positions: list[int]) -> None:
        """Records values that the graph already has as the results of a node."""
        self._positions[node] = positions

    def is_done(self, node: Node) -> bool:
        """Whether a call was fused into an earlier one."""
        return node in self._positions

    def item(self, node: Node) -> None:
        """Lowers `getitem`."""
        source, index = node.args[:2]
        assert isinstance(source, Node) and isinstance(index, int)
        self._positions[node] = [self._positions[source][index]]

    def quantize(self, node: Node) -> None:
        """Lowers a quantise call that was not fused."""
        source = node.args[0]
        assert isinstance(source, Node)
        result = self.graph.add(Value(node.args[5], shape_of(node), _parameters(node)))
        self.graph.calls.append(Call(QUANTIZE, [Ref(self.position(source))], [result]))
        self._positions[node] = [result]

    def dequantize(self, node: Node) -> None:
        """Lowers a dequantise call: its users read the integers."""
        source = node.args[0]
        assert isinstance(source, Node)
        position, given = self.position(source), _parameters(node)
        value = self.graph.values[position]
        if value.quantization != given:
            result = self.graph.add(Value(value.dtype, value.shape, given))
            self.graph.calls.append(Call(ASSUME, [Ref(position)], [result]))
            position = result
        self._positions[node] = [position]

    def emit(self, node: Node, name: str | None = None, args: list[Any] | None = None) -> None:
        """Lowers a call to an operator of ATen, which `npu.interpreter` can compute."""
        name = name or name_of(node)
        given = [self.argument(each) for each in (arguments_of(node).values() if args is None else args)]
        call = Call(name, given, [])
        activation = _activation(node, name, call)
        last = activation or node
        values = self._results(node, name, call, _quantize_after(last))
        if name in _ARITHMETIC and values[0].quantization is not None:
            call.args = [self._with_scale(argument) for argument in call.args]
        call.results = [self.graph.add(value) for value in values]
        self.graph.calls.append(call)
        for each in (node, last, *_quantizes(last)):
            self._positions[each] = call.results

    def argument(self, given: Any) -> Any:
        """Converts an argument of a node to an argument of the graph."""
        if isinstance(given, Node):
            return Ref(self.position(given))
        if isinstance(given, (list, tuple)):
            return [self.argument(each) for each in given]
        if isinstance(given, (torch.memory_format, torch.layout, torch.device)):
            return None
        return given

    def _with_scale(self, argument: Any) -> Any:
        """Converts a single number exactly to an integer whose scale is the number's magnitude. Other arguments do not
        change."""
        value = self.graph.values[argument.value] if isinstance(argument, Ref) else None
        if value is None or value.data is None or value.quantization is not None or value.data.numel() != 1:
            return argument
        number = float(value.data)
        if not math.isfinite(number):
            return argument
        data = torch.full(value.shape, (number > 0) - (number < 0), dtype=torch.int8)
        given = Quantization((abs(number) or 1.0,), (0,), -128, 127)
        return Ref(self.graph.add(Value(torch.int8, value.shape, given, data)))

    def _results(self, node: Node, name: str, call: Call, quantize: Node | None) -> list[Value]:
        tensors = node.meta["val"]
        several = isinstance(tensors, (tuple, list))
        values = [Value(each.dtype, tuple(each.shape)) for each in (tensors if several else [tensors])]
        given, dtype = None, None
        if quantize is not None:
            given, dtype = _parameters(quantize), quantize.args[5]
        elif name in _KEEPS:
            operands = [self.graph.values[position] for position in call.operands()]
            first = operands[0]
            alike = all((o.quantization, o.dtype) == (first.quantization, first.dtype) for o in operands)
            if first.quantization is not None and first.quantization.axis is None and alike:
                given, dtype = first.quantization, first.dtype
        if given is not None:
            assert isinstance(dtype, torch.dtype)
            for value in values:
                if value.dtype.is_floating_point:
                    value.dtype, value.quantization = dtype, given
        return values

    def _constant(self, node: Node) -> Value:
        if is_any_dequantize(node):
            data = get_constant(self.program, node.args[0])
            assert data is not None
            return Value(data.dtype, tuple(data.shape), self._weight_parameters(node), data.contiguous())
        name = name_of(node)
        if name in MOVES and isinstance(node.args[0], Node):
            moved = self._moved(node, name)
            if moved is not None:
                return moved
        data = get_constant(self.program, node)
        assert data is not None
        return Value(data.dtype, tuple(data.shape), None, data.detach().contiguous())

    def _moved(self, node: Node, name: str) -> Value | None:
        """Returns a quantised constant whose elements are moved, or None if the scales cannot be moved with them."""
        value = self.graph.values[self.position(node.args[0])]
        given = value.quantization
        if given is None or value.data is None or (given.axis is not None and name not in _TRANSPOSES):
            return None
        arguments = [self.argument(each) for each in arguments_of(node).values()]
        data = aten(name, [value.data, *arguments[1:]]).contiguous()
        if given.axis is not None:
            # Finds the new position of the axis by moving a tensor in which no two dimensions have the same size.
            sizes = range(2, value.data.dim() + 2)
            places = list(aten(name, [torch.empty(tuple(sizes), device="meta"), *arguments[1:]]).shape)
            given = dataclasses.replace(given, axis=places.index(sizes[given.axis]))
        return Value(value.dtype, tuple(data.shape), given, data)

    def _weight_parameters(self, node: Node) -> Quantization:
        if name_of(node) != DEQUANTIZE_CHANNELS:
            return _parameters(node)
        scales, zero_points = (get_constant(self.program, each) for each in node.args[1:3])
        assert scales is not None and isinstance(node.args[3], int)
        zeros = [0] * scales.numel() if zero_points is None else zero_points.tolist()
        low, high = node.args[4:6]
        axis = node.args[3] % len(shape_of(node))
        return Quantization(tuple(scales.tolist()), tuple(int(zero) for zero in zeros), int(low), int(high), axis)


def _parameters(node: Node) -> Quantization:
    """The parameters of a call that quantises or dequantises with one scale."""
    scale, zero_point, low, high = node.args[1:5]
    return Quantization((float(scale),), (int(zero_point),), int(low), int(high))


def _activation(node: Node, name: str, call: Call) -> Node | None:
    """The activation function that is fused into a call, whose limits the call gets; None without one."""
    if name not in _FUSES or len(node.users) != 1:
        return None
    (reader,) = node.users
    limits = _limits(reader)
    if limits is None or _quantize_after(reader) is None:
        return None
    call.low, call.high = limits
    return reader


def has_quantized_result(node: Node) -> bool:
    """Whether the result of a call is stored as integers. It is if the next call quantises it, if it keeps the scale of
    the call's operand, or if it is computed together with the activation function after it."""
    name = name_of(node)
    return (
        name in _KEEPS or _quantize_after(node) is not None or _activation(node, name, Call(name, [], [])) is not None
    )


def _quantize_after(node: Node) -> Node | None:
    """The call that quantises a result, possibly after its elements were moved, if nothing else reads the result."""
    while not (found := _quantizes(node)):
        readers = list(node.users)
        if len(readers) != 1 or name_of(readers[0]) not in MOVES or readers[0].args[0] is not node:
            return None
        node = readers[0]
    return found[0]


def _quantizes(node: Node) -> list[Node]:
    """The calls that quantise a result, if nothing else reads it and all have the same parameters."""
    readers = list(node.users)
    same = all(is_quantize(reader) and reader.args[1:] == readers[0].args[1:] for reader in readers)
    return readers if same else []


def _limits(node: Node) -> tuple[float | None, float | None] | None:
    """The limits of an activation function that only limits; None for others."""
    if name_of(node) == "aten.relu.default":
        return 0.0, None
    if name_of(node) not in ("aten.hardtanh.default", "aten.clamp.default"):
        return None
    _, low, high = arguments_of(node).values()
    return None if low is None else float(low), None if high is None else float(high)
