# SPDX-License-Identifier: BSD-3-Clause
"""Bias correction (Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, 2019):
quantised weights move the mean of a layer's results, and a bias moves it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from sdk.backends.quantizer.patterns import CONVOLUTIONS, LINEAR

_LAYERS = (*CONVOLUTIONS, *LINEAR)


class BiasCorrection:
    """Compares each convolution and linear layer of the quantised model with the layer of the same name in the float
    model, for the inputs that the float model gives that layer."""

    def __init__(self, model: GraphModule, quantized: GraphModule) -> None:
        self._model, self._quantized = model, quantized
        self._layers = {
            node.name: node
            for node in quantized.graph.nodes
            if node.op == "call_function" and node.target in _LAYERS and _bias(node) is not None
        }
        self._errors: dict[str, tuple[torch.Tensor, int]] = {}

    def apply(self, samples: Iterable[tuple[Any, ...]]) -> None:
        """Changes the biases of the quantised model."""
        for sample in samples:
            _Recorder(self._model, self._compare).run(*sample)
        for name, (error, count) in self._errors.items():
            bias = _bias(self._layers[name])
            assert bias is not None
            value = _tensor(self._quantized, bias)
            with torch.no_grad():
                value.copy_(value + error / count)

    def _compare(self, node: Node, args: tuple[Any, ...], result: torch.Tensor) -> None:
        layer = self._layers.get(node.name)
        if layer is None:
            return
        quantized = _Values(self._quantized, args[0]).layer(layer)
        channels = -1 if layer.target in LINEAR else 1
        difference = (result - quantized).double().movedim(channels, 0).flatten(1).mean(1).to(result.dtype)
        before, count = self._errors.get(node.name, (torch.zeros_like(difference), 0))
        self._errors[node.name] = before + difference, count + 1


class _Recorder(Interpreter):
    """Runs the float model and shows each call."""

    def __init__(self, module: GraphModule, show: Any) -> None:
        super().__init__(module)
        self._show = show

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.op == "call_function" and n.target in _LAYERS:
            args, _ = self.fetch_args_kwargs_from_env(n)
            self._show(n, args, result)
        return result


class _Values:
    """Computes the values of a layer's operands in the quantised model, given its input."""

    def __init__(self, module: GraphModule, source: torch.Tensor) -> None:
        self._module, self._source = module, source

    def layer(self, node: Node) -> torch.Tensor:
        source, *others = node.args
        dequantize: Any = source
        quantize = dequantize.args[0] if isinstance(dequantize, Node) and dequantize.args else None
        value = self._source
        if isinstance(quantize, Node) and "quantize_per" in str(quantize.target):
            value = self._call(dequantize, {0: self._call(quantize, {0: value})})
        return node.target(value, *(self._operand(other) for other in others), **node.kwargs)

    def _operand(self, argument: Any) -> Any:
        if not isinstance(argument, Node):
            return argument
        return _tensor(self._module, argument) if argument.op == "get_attr" else self._call(argument, {})

    def _call(self, node: Node, given: dict[int, Any]) -> Any:
        args = [given.get(i, self._operand(a) if i not in given else None) for i, a in enumerate(node.args)]
        return node.target(*args, **node.kwargs)


def _bias(node: Node) -> Node | None:
    bias = node.args[2] if len(node.args) > 2 else None
    return bias if isinstance(bias, Node) and bias.op == "get_attr" else None


def _tensor(module: GraphModule, node: Node) -> torch.Tensor:
    value: Any = module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return value
