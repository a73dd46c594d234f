# SPDX-License-Identifier: BSD-3-Clause
"""Computes graphs in PyTorch: in integers if `integer` has a rule, and otherwise in floats, whose result is quantised
as in the PyTorch model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

from sdk.backends.npu.graph import ASSUME, DEQUANTIZE, QUANTIZE, Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.integer import Computation, Rescale, Rule, aten, clamped, rule_of
from sdk.backends.npu.operators import can_compute
from sdk.backends.npu.rescale import rescale

_quantized = torch.ops.quantized_decomposed


class Interpreter:
    """A graph that can be computed.

    Args:
        graph: The graph, which must not change afterwards.
        rescale: The function that multiplies sums by fixed-point factors.
        rules: Replacements, by name, for the rules of calls that the processor rounds differently.

    Raises ValueError for a call of an operator that graphs do not have.
    """

    def __init__(
        self, graph: Graph, rescale: Rescale = rescale, rules: Mapping[str, Callable[[Call, Graph], Rule | None]] = {}
    ) -> None:
        unknown = [call.name for call in graph.calls if not can_compute(call)]
        if unknown:
            raise ValueError(f"the graph calls {unknown[0]}, which is not an operator of graphs")
        self.graph = graph
        self._rescale = rescale
        self._rules = [rules.get(call.name, rule_of)(call, graph) for call in graph.calls]

    def input_count(self, method: str) -> int:
        """Returns the number of inputs of each call."""
        return len(self.graph.inputs)

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs.

        Raises ValueError if the inputs do not fit.
        """
        values = self.graph.values
        tensors = [value.data for value in values]
        if len(inputs) != len(self.graph.inputs):
            raise ValueError(f"the graph has {len(self.graph.inputs)} inputs; {len(inputs)} are given")
        for number, (position, given) in enumerate(zip(self.graph.inputs, inputs, strict=True)):
            expected = values[position]
            if given.dtype != expected.dtype or tuple(given.shape) != expected.shape:
                raise ValueError(
                    f"input {number} is {given.dtype} {list(given.shape)}; the graph expects {expected.dtype} "
                    f"{list(expected.shape)}"
                )
            tensors[position] = given.contiguous()
        with torch.no_grad():
            for call, rule in zip(self.graph.calls, self._rules, strict=True):
                if rule is None:
                    results = _in_floats(call, values, tensors)
                else:
                    computation = Computation(call, values, tensors, self._rescale)
                    made = rule(computation)
                    results = [
                        clamped(each, computation.out, call.low, call.high)
                        for each in (made if isinstance(made, list) else [made])
                    ]
                for position, result in zip(call.results, results, strict=False):
                    tensors[position] = result.to(values[position].dtype)
        return [_present(tensors[position]).contiguous() for position in self.graph.outputs]


class MethodInterpreter:
    """The graphs of a payload that several methods have in common. Each method calls its graph, or the one with the
    name "".

    Raises ValueError for a graph that cannot be computed, and in calls for a method without a graph.
    """

    def __init__(self, graphs: Mapping[str, Graph]) -> None:
        self._graphs = {method: Interpreter(graph) for method, graph in graphs.items()}

    def input_count(self, method: str) -> int:
        """Returns the number of inputs of each call in a method."""
        return self.of(method).input_count(method)

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs of a call in a method."""
        return self.of(method_name).run(method_name, inputs)

    def of(self, method: str) -> Interpreter:
        """The interpreter of a method's graph. Raises ValueError if it has none."""
        found = self._graphs.get(method) or self._graphs.get("")
        if found is None:
            raise ValueError(f"a payload has no graph for the method {method!r}; it has {', '.join(self._graphs)}")
        return found


def _present(tensor: torch.Tensor | None) -> torch.Tensor:
    assert tensor is not None, "a value is read before it is computed"
    return tensor


def _in_floats(call: Call, values: Sequence[Value], tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
    if call.name == ASSUME:
        return [_present(tensors[call.args[0].value])]

    def number_of(argument: Any) -> Any:
        if isinstance(argument, list):
            return [number_of(each) for each in argument]
        if not isinstance(argument, Ref):
            return argument
        given = values[argument.value].quantization
        tensor = _present(tensors[argument.value])
        return tensor if given is None else dequantized(tensor, given)

    args = [number_of(argument) for argument in call.args]
    made = args[0] if call.name in (QUANTIZE, DEQUANTIZE) else aten(call.name, args)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    if call.low is not None or call.high is not None:
        results = [result.clamp(call.low, call.high) for result in results]
    return [
        result if values[position].quantization is None else quantized(result, values[position])
        for position, result in zip(call.results, results, strict=False)
    ]


def dequantized(stored: torch.Tensor, given: Quantization) -> torch.Tensor:
    """The numbers that integers represent, in float32."""
    if given.axis is None:
        arguments = (given.scale, given.zero_point, given.low, given.high, stored.dtype)
        return _quantized.dequantize_per_tensor(stored, *arguments)
    shape = [-1 if dim == given.axis else 1 for dim in range(stored.dim())]
    scales = torch.tensor(given.scales, dtype=torch.float32).reshape(shape)
    return (stored - torch.tensor(given.zero_points).reshape(shape)).to(torch.float32) * scales


def quantized(numbers: torch.Tensor, value: Value) -> torch.Tensor:
    """Quantises real numbers to the integers of a value."""
    given = value.quantization
    assert given is not None
    arguments = (given.scale, given.zero_point, given.low, given.high, value.dtype)
    return _quantized.quantize_per_tensor(numbers.to(torch.float32), *arguments)
