# SPDX-License-Identifier: BSD-3-Clause
"""The arithmetic of LiteRT's reference kernels; NXP's converter takes models of LiteRT. Multiplication by a factor
rounds twice, except that of linear layers, which rounds once. Averages that keep the scale round ties away from
zero."""

from __future__ import annotations

import dataclasses

import torch

from sdk.backends.npu.graph import Call, Graph
from sdk.backends.npu.integer import Computation, Rule, rule_of
from sdk.backends.npu.interpreter import Interpreter
from sdk.backends.npu.rescale import rescale, rescale_twice


def interpreter_of(graph: Graph) -> Interpreter:
    """The interpreter of a graph of Neutron."""
    return Interpreter(graph, rescale_twice, {**dict.fromkeys(_AVERAGES, _average_rule), _LINEAR: _linear_rule})


_LINEAR = "aten.linear.default"
_AVERAGES = ("aten._adaptive_avg_pool2d.default", "aten.avg_pool2d.default")


def _average_rule(call: Call, graph: Graph) -> Rule | None:
    rule = rule_of(call, graph)
    given, out = (graph.values[each].quantization for each in (call.args[0].value, call.results[0]))
    return _average if rule is not None and given == out else rule


def _linear_rule(call: Call, graph: Graph) -> Rule | None:
    rule = rule_of(call, graph)
    return None if rule is None else lambda computation: rule(dataclasses.replace(computation, rescale=rescale))


def _average(c: Computation) -> torch.Tensor:
    """Averages the integers themselves, because operand and result have the same scale."""
    source = c.stored(c.call.args[0]).to(torch.float64)
    if c.call.name == "aten._adaptive_avg_pool2d.default":
        sizes = [size // out for size, out in zip(source.shape[-2:], c.call.args[1], strict=True)]
        padding, stride = [0, 0], sizes
    else:
        sizes, stride, padding = ([*each] * 2 if len(each) == 1 else [*each] for each in _window(c.call))
    zero = c.given(c.call.args[0]).zero_point
    padded = torch.constant_pad_nd(source, (padding[1], padding[1], padding[0], padding[0]), zero)
    windows = padded.unfold(-2, sizes[0], stride[0]).unfold(-2, sizes[1], stride[1])
    count = sizes[0] * sizes[1]
    sums = windows.sum((-2, -1)).to(torch.int64)
    return torch.div(sums + torch.where(sums > 0, count // 2, -(count // 2)), count, rounding_mode="trunc")


def _window(call: Call) -> tuple[list[int], list[int], list[int]]:
    kernel, stride, padding = call.args[1:4]
    return list(kernel), list(stride or kernel), list(padding)
