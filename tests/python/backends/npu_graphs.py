# SPDX-License-Identifier: BSD-3-Clause
"""Quantised calls for the tests of `sdk.backends.npu`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed
from torch import Tensor
from torch.export import export

from sdk.backends.npu.graph import Graph
from sdk.backends.npu.partitioner import graph_of
from sdk.exir import EdgeCompileConfig, to_edge

_ops = torch.ops.quantized_decomposed
RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767)}


class Parameters:
    """A scale and a zero point."""

    def __init__(self, scale: float, zero_point: int, dtype: torch.dtype = torch.int8) -> None:
        self.given = (scale, zero_point, *RANGES[dtype], dtype)
        self.scale = scale

    def __call__(self, numbers: Tensor) -> Tensor:
        """Quantises and dequantises."""
        stored = _ops.quantize_per_tensor(numbers, *self.given)
        return _ops.dequantize_per_tensor(stored, *self.given)


class Quantized(torch.nn.Module):
    """`function` of quantised operands, whose result is quantised; None leaves it in floats."""

    def __init__(self, function: Callable[..., Any], operands: Sequence[Parameters], result: Parameters | None) -> None:
        super().__init__()
        self.function, self.operands, self.result = function, operands, result

    def forward(self, *inputs: Tensor) -> Tensor:
        operands = [given(x) for given, x in zip(self.operands, inputs, strict=False)]
        made = self.function(*operands, *inputs[len(operands) :])
        return made if self.result is None else self.result(made)


class Weighted(torch.nn.Module):
    """A layer whose weight is int8 with a scale for each output channel."""

    def __init__(self, layer: torch.nn.Module, source: Parameters, result: Parameters, zero_points: bool) -> None:
        super().__init__()
        weight = layer.weight.detach()
        scales = weight.flatten(1).abs().amax(1).double() / (100 if zero_points else 127)
        zeros = torch.arange(len(scales)) % 7 - 3 if zero_points else torch.zeros(len(scales), dtype=torch.int64)
        self.layer, self.source, self.result = layer, source, result
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", zeros)
        stored = _ops.quantize_per_channel(weight, scales, zeros, 0, -128, 127, torch.int8)
        self.register_buffer("stored", stored)

    def forward(self, x: Tensor) -> Tensor:
        weight = _ops.dequantize_per_channel(self.stored, self.scales, self.zeros, 0, -128, 127, torch.int8)
        return self.result(torch.func.functional_call(self.layer, {"weight": weight}, (self.source(x),)))


def graph(model: torch.nn.Module, inputs: tuple[Tensor, ...]) -> Graph:
    """Returns the graph of a model that is one partition."""
    config = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=[torch.ops.aten.linear.default])
    return graph_of(to_edge(export(model.eval(), inputs), compile_config=config).exported_program())
