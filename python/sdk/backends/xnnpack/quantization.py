# SPDX-License-Identifier: BSD-3-Clause
"""Finds the quantised parts of a graph, as PT2E and torchao write them.

Static: an operator between `dequantize_per_tensor` and `quantize_per_tensor` computes in int8 (`IntegerCall`) if it
can; otherwise these two are conversions. Dynamic: `choose_qparams`, `quantize` and `dequantize` before a layer with
quantised weights become one conversion that computes a scale for each row (`dynamic_source`).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE_AFFINE, DYNAMIC, dynamic_source, is_dequantize, is_quantize
from sdk.backends.transforms.constants import is_constant

if TYPE_CHECKING:
    from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig

LOWEST, HIGHEST = -128, 127

DYNAMIC_NAMES = frozenset(name for names in DYNAMIC for name in names) - {DEQUANTIZE_AFFINE}


@dataclass(frozen=True)
class Scale:
    """int8 values that represent `(integer - zero_point) * scale`."""

    scale: float
    zero_point: int

    def integer(self, number: float) -> float:
        """The quantised number, before it is clamped to int8."""
        return number if math.isinf(number) else round(number / self.scale) + self.zero_point


@dataclass(frozen=True)
class IntegerCall:
    """An operator that computes in int8.

    Attributes:
        covered: The nodes that it replaces, from the operator to the one before `result`.
        result: The `quantize_per_tensor` after it.
        scale: The scale of the result.
        keeps_scale: Whether its operands have the scale of the result.
        limits: The range to which real values are clamped; None if the range of int8 is enough.
    """

    covered: tuple[Node, ...]
    result: Node
    scale: Scale
    keeps_scale: bool
    limits: tuple[float, float] | None


def scale_of(node: Node) -> Scale:
    """The scale of a `quantize_per_tensor` or `dequantize_per_tensor`."""
    return Scale(float(node.args[1]), int(node.args[2]))


def is_narrow(node: Node) -> bool:
    """Whether a call uses only -127 to 127, as quantisers do for a symmetric range."""
    return tuple(node.args[3:6]) == (LOWEST + 1, HIGHEST, torch.int8)


def refusal_of_scale(node: Node, may_be_narrow: bool = False) -> str | None:
    """Returns why XNNPACK does not support the range of a quantize or dequantize, or scales that differ, or None if it
    does. A dequantize may have the range from -127."""
    low, high, dtype = node.args[3:6]
    is_range = is_narrow(node) and (may_be_narrow or is_dequantize(node))
    if not is_range and (dtype is not torch.int8 or low != LOWEST or high != HIGHEST):
        return f"its integers are {dtype} from {low} to {high}, and XNNPACK takes torch.int8 from -128 to 127"
    scale, source = scale_of(node), node.args[0]
    assert isinstance(source, Node)
    if is_dequantize(node):
        writers = [source] if is_quantize(source) else []
        for other in (*writers, *filter(is_dequantize, source.users)):
            if scale_of(other) != scale:
                return f"its scale differs from that of {other}"
    return None


def integer_operands(node: Node, program: ExportedProgram, weights: tuple[int, ...]) -> list[Node] | None:
    """The `dequantize_per_tensor` nodes that a call reads, except for its weights; None if another operand is a
    tensor."""
    found = []
    for position, argument in enumerate(node.args):
        if position in weights:
            continue
        for item in argument if isinstance(argument, (list, tuple)) else [argument]:
            if isinstance(item, Node):
                if not is_dequantize(item) or refusal_of_scale(item) is not None:
                    return None
                found.append(item)
    return found or None


def integer_call(node: Node, program: ExportedProgram, config: XNNPartitionerConfig) -> IntegerCall | None:
    """Returns a call as it is computed in int8, or None if it must be computed in floats."""
    operands = integer_operands(node, program, config.weights)
    if operands is None or all(is_constant(program, operand) for operand in operands):
        return None
    covered, last, limits = [node], node, (-math.inf, math.inf)
    while True:
        readers = list(last.users)
        if len(readers) != 1:
            return None
        reader = readers[0]
        if reader.target is operator.getitem and reader.args[1] == 0 and last is node:
            covered.append(reader)
        elif is_quantize(reader):
            break
        elif math.isinf(limits[0]) and math.isinf(limits[1]) and (found := limits_of(reader)) is not None:
            limits = found
            covered.append(reader)
        else:
            return None
        last = reader
    if refusal_of_scale(reader) is not None:
        return None
    scale = scale_of(reader)
    if config.refusal_in_integers(node, program, [scale_of(operand) for operand in operands], scale) is not None:
        return None
    # Operands with another scale than the result are converted.
    if config.keeps_scale and not all(2**-8 <= scale_of(o).scale / scale.scale <= 2**7 for o in operands):
        return None
    low, high = (scale.integer(limit) for limit in limits)
    is_limited = low > LOWEST or high < HIGHEST
    return IntegerCall(tuple(covered), reader, scale, config.keeps_scale, limits if is_limited else None)


def is_dynamic(node: Node) -> bool:
    """Whether a node is part of dynamic quantisation, or reads its result."""
    chosen = node.args[0] if name_of(node) == "getitem" else node
    if name_of(chosen) in DYNAMIC_NAMES or dynamic_source(node) is not None:
        return True
    return any(dynamic_source(operand) is not None for operand in node.all_input_nodes)


def limits_of(node: Node) -> tuple[float, float] | None:
    """The limits of relu, hardtanh and clamp; None for other nodes."""
    name = name_of(node)
    if name == "aten.relu.default":
        return 0.0, math.inf
    if name not in ("aten.hardtanh.default", "aten.clamp.default"):
        return None
    defaults = (-1.0, 1.0) if name == "aten.hardtanh.default" else (None, None)
    low, high = (*node.args[1:3], *defaults[len(node.args) - 1 :])[:2]
    low, high = node.kwargs.get("min", low), node.kwargs.get("max", high)
    bounds = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return bounds if bounds[0] < bounds[1] else None
