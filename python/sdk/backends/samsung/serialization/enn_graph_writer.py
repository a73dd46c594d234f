# SPDX-License-Identifier: BSD-3-Clause
"""Writes the graph of a partition in the form of Samsung's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from sdk.backends.npu.graph import ASSUME, DEQUANTIZE, QUANTIZE, Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.integer import MOVES
from sdk.backends.samsung.serialization.enn_graph_schema import DTYPES, QUANTIZED, EnnGraph
from sdk.backends.samsung.serialization.enn_operators import FORMS, SAYS_DTYPE, Form, Given, convolution, expansion

_FLOAT = {"quant_dtype": torch.float32, "scales": [1.0], "zero_points": [0]}
"""The quantisation parameters of a float tensor that a QUANTIZE reads or a DEQUANTIZE writes."""

_ACTIVATIONS = {(0.0, None): "RELU", (0.0, 6.0): "RELU6"}
"""The activation functions that a convolution can include, by their limits."""


def write(graph: Graph, into: EnnGraph) -> None:
    """Writes a graph and ends it.

    Raises ValueError for a call that Samsung's graphs do not have.
    """
    _Writer(graph, into).write()


class _Writer:
    def __init__(self, graph: Graph, into: EnnGraph) -> None:
        self._graph, self._into = graph, into
        self._ids: dict[int, int] = {}
        self._count = 0
        self._edges = {call.args[0].value for call in graph.calls if call.name == QUANTIZE}
        self._edges.update(call.results[0] for call in graph.calls if call.name == DEQUANTIZE)

    def write(self) -> None:
        for position in self._graph.inputs:
            self._id(position)
        for call in self._graph.calls:
            self._call(call)
        self._into.finish()

    def _call(self, call: Call) -> None:
        special = {
            "aten.addmm.default": self._addmm,
            "aten.cat.default": self._cat,
            "aten.convolution.default": self._convolution,
            "aten.expand_copy.default": self._expand,
            "aten.leaky_relu.default": self._leaky_relu,
            ASSUME: self._assume,
            DEQUANTIZE: self._convert,
            QUANTIZE: self._convert,
        }
        if call.name in special:
            special[call.name](call)
        elif call.name in FORMS:
            self._form(call, FORMS[call.name])
        else:
            raise ValueError(f"Samsung's graphs have no {call.name}")

    # --- tensors ---

    def _name(self) -> str:
        self._count += 1
        return f"tensor_{self._count}"

    def _id(self, position: int) -> int:
        """The tensor of a value, which is defined where it is first read or written."""
        if position not in self._ids:
            value = self._graph.values[position]
            is_float = position in self._edges and value.quantization is None and value.data is None
            self._ids[position] = self._define(value, self._kind(position), _FLOAT if is_float else None)
        return self._ids[position]

    def _kind(self, position: int) -> str:
        if self._graph.values[position].data is not None:
            return "CONSTANT"
        if position in self._graph.inputs:
            return "INPUT"
        return "OUTPUT" if position in self._graph.outputs else "FEATUREMAP"

    def _define(self, value: Value, kind: str = "FEATUREMAP", quant_param: Any = None) -> int:
        given = value.quantization
        if given is not None:
            quant_param = {
                "quant_dtype": value.dtype,
                "scales": list(given.scales),
                "zero_points": list(given.zero_points),
                "axis": given.axis,
            }
        if value.dtype not in DTYPES:
            raise ValueError(f"Samsung's graphs have no tensors of {value.dtype}")
        shape = list(value.shape) or [1]
        return self._into.define_tensor(self._name(), shape, DTYPES[value.dtype], kind, value.data, quant_param)

    def _constant(self, data: torch.Tensor, quantization: Quantization | None = None) -> int:
        return self._define(Value(data.dtype, tuple(data.shape), quantization, data.contiguous()), "CONSTANT")

    def _operand(self, call: Call, argument: Ref) -> int:
        """Returns the operand of a call. If it is quantised and the result is float, dequantises it first."""
        value = self._graph.values[argument.value]
        result = self._graph.values[call.results[0]]
        if value.quantization is None or value.data is not None or result.quantization is not None:
            return self._id(argument.value)
        if not result.dtype.is_floating_point:
            return self._id(argument.value)
        return self._float(self._id(argument.value), value.shape, value.quantization)

    # --- calls ---

    def _op(self, type: str, inputs: Sequence[int], output: int, params: dict[str, Any]) -> None:
        self._into.define_op(self._name(), type, inputs, [output], params)

    def _conversion(self, type: str, given: Quantization, source: int, result: int) -> None:
        self._op(type, [source], result, {"scales": list(given.scales), "zero_points": list(given.zero_points)})

    def _float(self, source: int, shape: tuple[int, ...], given: Quantization) -> int:
        """Dequantises a tensor."""
        made = self._define(Value(torch.float32, shape), quant_param=_FLOAT)
        self._conversion("DEQUANTIZE", given, source, made)
        return made

    def _given(self, call: Call) -> Given:
        shapes = {
            index: self._graph.values[argument.value].shape
            for index, argument in enumerate(call.args)
            if isinstance(argument, Ref)
        }
        result = self._graph.values[call.results[0]]
        return Given(call.args, shapes, result.shape, result.dtype)

    def _form(self, call: Call, form: Form) -> None:
        operands = [self._argument(call, index) for index in form.operands]
        self._finish(call, form.type, [each for each in operands if each is not None], form.params(self._given(call)))

    def _argument(self, call: Call, index: int) -> int | None:
        argument = call.args[index] if index < len(call.args) else None
        if isinstance(argument, Ref):
            return self._operand(call, argument)
        # A normalisation without weight or bias gets constants.
        norms = {"aten.native_layer_norm.default": 2, "aten._native_batch_norm_legit_no_training.default": 1}
        if call.name not in norms:
            return None
        shape = self._graph.values[call.args[0].value].shape
        size = shape[1] if norms[call.name] == 1 else shape[-1]
        return self._constant(torch.ones(size) if index == norms[call.name] else torch.zeros(size))

    def _finish(self, call: Call, type: str, operands: Sequence[int], params: dict[str, Any]) -> None:
        """Writes a call, the clamp of its result, and the conversion of a moved operand to another scale."""
        result = self._graph.values[call.results[0]]
        source = call.args[0]
        moved = self._graph.values[source.value].quantization if isinstance(source, Ref) else None
        given = result.quantization
        if call.name in SAYS_DTYPE:
            params = {**params, **_dtype_of(result)}
        if call.name in MOVES and moved is not None and given is not None and moved != given:
            before = self._define(replace(result, quantization=moved))
            self._op(type, operands, before, params)
            self._conversion("QUANTIZE", given, self._float(before, result.shape, moved), self._id(call.results[0]))
        elif call.low is None and call.high is None:
            self._op(type, operands, self._id(call.results[0]), params)
        else:
            before = self._define(result)
            self._op(type, operands, before, params)
            self._limit(call, before)

    def _limit(self, call: Call, before: int) -> None:
        dtype = _dtype_of(self._graph.values[call.results[0]])
        if (call.low, call.high) == (0.0, None):
            self._op("RELU", [before], self._id(call.results[0]), dtype)
        else:
            limits = FORMS["aten.clamp.default"].params(Given([None, call.low, call.high], {}, (), torch.float32))
            self._op("CLIP", [before], self._id(call.results[0]), {**limits, **dtype})

    def _convert(self, call: Call) -> None:
        source, result = call.args[0].value, call.results[0]
        before, after = self._graph.values[source], self._graph.values[result]
        operand = self._id(source)
        if call.name == QUANTIZE and before.quantization is not None:
            operand = self._float(operand, before.shape, before.quantization)
        given = after.quantization if call.name == QUANTIZE else before.quantization
        assert given is not None
        self._conversion(call.name.upper(), given, operand, self._id(result))

    def _assume(self, call: Call) -> None:
        raise ValueError(
            "Samsung's graphs cannot give the integers of a tensor another scale; quantise the model again"
        )

    def _addmm(self, call: Call) -> None:
        bias, source, weight = call.args[:3]
        matrix = self._graph.values[weight.value]
        assert matrix.data is not None
        given = matrix.quantization
        if given is not None and given.axis is not None:
            given = replace(given, axis=1 - given.axis)
        operands = [self._operand(call, source), self._constant(matrix.data.T, given), self._id(bias.value)]
        inside, out = matrix.shape
        self._finish(call, "FC", operands, {"in_channels": inside, "out_channels": out})

    def _cat(self, call: Call) -> None:
        parts, dim = call.args[:2]
        params = {"axis": dim % len(self._graph.values[call.results[0]].shape)}
        constants = [index for index, part in enumerate(parts) if self._graph.values[part.value].data is not None]
        if constants:
            params["constant_index"] = constants[0]
        self._finish(call, "CONCAT", [self._operand(call, part) for part in parts], params)

    def _expand(self, call: Call) -> None:
        type, count, params = expansion(self._given(call))
        self._finish(call, type, [self._operand(call, call.args[0])] * count, params)

    def _leaky_relu(self, call: Call) -> None:
        slope = self._constant(torch.tensor(float(call.args[1])))
        self._finish(call, "PRELU", [self._operand(call, call.args[0]), slope], {})

    def _convolution(self, call: Call) -> None:
        given = self._given(call)
        transposed = bool(call.args[6])
        weight = self._graph.values[call.args[1].value]
        assert weight.data is not None
        if len(weight.shape) == 3:
            self._convolution_1d(call, given)
            return
        kernel = self._id(call.args[1].value)
        if transposed:
            axis = None if weight.quantization is None else weight.quantization.axis
            swapped = weight.quantization
            if swapped is not None and axis in (0, 1):
                swapped = replace(swapped, axis=1 - axis)
            kernel = self._constant(weight.data.swapdims(0, 1), swapped)
        operands = [self._operand(call, call.args[0]), kernel]
        if isinstance(call.args[2], Ref):
            operands.append(self._id(call.args[2].value))
        activation = _ACTIVATIONS.get((call.low, call.high)) if call.low is not None else None
        params = convolution(given, activation)
        plain = call if activation is None else replace(call, low=None, high=None)
        self._finish(plain, _kind_of_convolution(given, transposed), operands, params)

    def _convolution_1d(self, call: Call, given: Given) -> None:
        """Writes a 1-D convolution as a 2-D convolution whose second spatial dimension has size 1."""
        values = self._graph.values
        source, weight, result = (
            values[position] for position in (call.args[0].value, call.args[1].value, call.results[0])
        )
        wide = [
            self._append(
                replace(each, shape=(*each.shape, 1), data=None if each.data is None else each.data[..., None])
            )
            for each in (source, weight, result)
        ]
        self._op("RESHAPE", [self._id(call.args[0].value)], self._id(wide[0]), {"new_shape": [*source.shape, 1]})
        stride, padding, dilation, transposed, output_padding, groups = call.args[3:9]
        args = [Ref(wide[0]), Ref(wide[1]), call.args[2], [*stride, 1], [*padding, 0], [*dilation, 1], transposed]
        args += [[*output_padding, 0], groups]
        self._convolution(Call(call.name, args, [wide[2]], call.low, call.high))
        self._op("RESHAPE", [self._id(wide[2])], self._id(call.results[0]), {"new_shape": list(result.shape)})

    def _append(self, value: Value) -> int:
        """Adds a value to a copy of the graph, which replaces the graph. Returns the value's position."""
        self._graph = replace(self._graph, values=[*self._graph.values, value])
        return len(self._graph.values) - 1


def _dtype_of(result: Value) -> dict[str, Any]:
    return {} if result.quantization is None else {"quant_dtype": QUANTIZED.get(result.dtype, "")}


def _kind_of_convolution(given: Given, transposed: bool) -> str:
    kernel = given.shapes[1]
    is_depthwise = kernel[1] == 1 and kernel[0] == given.args[8]
    return f"{'DW' if is_depthwise else ''}{'DECONV2D' if transposed else 'CONV2D'}"
