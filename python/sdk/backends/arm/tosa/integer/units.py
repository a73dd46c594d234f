# SPDX-License-Identifier: BSD-3-Clause
"""Units: what PT2E means by one quantised operator.

Its operands are dequantised, and its result, after an activation function that only limits it, is quantised. A unit is
lowered to integers as a whole; the floats in it exist nowhere. A comparison is a unit alone: its result is bool. So is
a position. A softmax may read its operand with a mask: a choice, or a sum with a constant.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.arm.tosa.builder import Builder
from sdk.backends.arm.tosa.errors import UnsupportedError
from sdk.backends.arm.tosa.graph import Value
from sdk.backends.arm.tosa.integer.call import IntegerCall
from sdk.backends.arm.tosa.integer.masking import CHOICE, SUM
from sdk.backends.arm.tosa.integer.parameters import Parameters, parameters_of
from sdk.backends.arm.tosa.integer.registry import INTEGER, UNQUANTIZED
from sdk.backends.arm.tosa.lowering.call import Placed
from sdk.backends.arm.tosa.schema import DType
from sdk.backends.arm.tosa.types import FLOATS, numpy_type, to_tosa
from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_quantize

_SOFTMAXES = ("aten._softmax.default", "aten._safe_softmax.default")
_LIMITS = ("aten.relu.default", "aten.hardtanh.default", "aten.clamp.default")
_RANGES = {DType.INT8: (-128, 127), DType.INT16: (-32768, 32767)}


@dataclass(frozen=True)
class Unit:
    """The nodes of a unit.

    Attributes:
        call: The operator.
        mask: The choice or the sum that it reads, or None.
        index: Which of its results; None if it has one.
        limit: The activation function after it, or None.
        last: The node that has the result: it quantises it, or it is the operator, if its result is not quantised.
        members: All of these, with the getitem node between them.
    """

    call: Node
    mask: Node | None
    index: int | None
    limit: Node | None
    last: Node
    members: tuple[Node, ...]

    @property
    def operands(self) -> list[Node]:
        """The nodes that dequantise what the operator reads."""
        return [node for node in (self.mask or self.call).all_input_nodes if is_any_dequantize(node)]


def find_units(nodes: Iterable[Node]) -> dict[Node, Unit]:
    """The units among nodes, by each of their members."""
    found: dict[Node, Unit] = {}
    for node in nodes:
        unit = _unit_of(node) if is_quantize(node) else _unquantized(node)
        if unit is not None:
            found.update(dict.fromkeys(unit.members, unit))
    return found


def _unquantized(node: Node) -> Unit | None:
    if node.op != "call_function" or name_of(node) not in UNQUANTIZED:
        return None
    unit = Unit(node, None, None, None, node, (node,))
    return unit if unit.operands == node.all_input_nodes else None


def _unit_of(quantize: Node) -> Unit | None:
    source = quantize.args[0]
    limit = None
    if name_of(source) in _LIMITS and not is_any_dequantize(source.args[0]):
        limit, source = source, source.args[0]
    members = [each for each in (limit, quantize) if each is not None]
    index = None
    if isinstance(source, Node) and source.target is operator.getitem:
        members.insert(0, source)
        source, index = source.args
    if not isinstance(source, Node) or source.op != "call_function" or name_of(source) not in INTEGER:
        return None
    members.insert(0, source)
    mask = source.args[0] if name_of(source) in _SOFTMAXES and name_of(source.args[0]) in (CHOICE, SUM) else None
    if mask is not None:
        members.insert(0, mask)
    if index is None and any(list(node.users) != [after] for node, after in itertools.pairwise(members)):
        return None  # something else reads the floats
    if index is not None and any(len(each.users) != 1 for each in members[1:-1]):
        return None
    unit = Unit(source, mask, index, limit, quantize, tuple(members))
    return unit if unit.operands else None


def lower_unit(builder: Builder, unit: Unit, resolve: Callable[[Node], Placed], program: ExportedProgram) -> Placed:
    """The integers of a unit. Raises UnsupportedError for what has no lowering to integers."""
    bare = UNQUANTIZED.get(name_of(unit.call))
    out = parameters_of(unit.operands[0] if bare is not None else unit.last, program)
    if out.dtype not in _RANGES:
        raise UnsupportedError(f"its result is {out.dtype.name.lower()}; int8 and int16 are lowered")
    call = IntegerCall(builder, unit.call, resolve, program, out)
    result = INTEGER[name_of(unit.call)](call)
    if isinstance(result, list):
        if unit.index is None or unit.index >= len(result):
            raise UnsupportedError("another than its first result is read")
        result = result[unit.index]
    if not isinstance(result, Placed):
        order = call.order if call.order is not None and len(call.order) == result.rank else None
        result = Placed.plain(result) if order is None else Placed(result, order)
    if result.value.dtype != (out.dtype if bare is None else bare):
        raise UnsupportedError(f"its result would be {result.value.dtype.name.lower()}")
    shape = tuple(unit.last.meta["val"].shape[dim] for dim in result.order)
    assert result.value.shape == shape, (name_of(unit.call), result.value.shape, shape)
    if bare is not None:
        return result
    return Placed(_limited(builder, result.value, unit.limit, out), result.order)


def _limited(builder: Builder, value: Any, limit: Node | None, out: Parameters) -> Any:
    """Integers within the range of the quantisation, and within that of an activation function."""
    low, high = out.low, out.high
    if limit is not None:
        bounds = (0.0, None) if name_of(limit) == "aten.relu.default" else _bounds(limit)
        low = low if bounds[0] is None else max(low, int(out.quantized(np.float32(bounds[0]))))
        high = high if bounds[1] is None else min(high, int(out.quantized(np.float32(bounds[1]))))
    lowest, highest = _RANGES[out.dtype]
    return value if (low, high) == (lowest, highest) else builder.clamp(value, low, high)


def _bounds(limit: Node) -> tuple[float | None, float | None]:
    named = dict(zip(("self", "low", "high"), limit.args, strict=False))
    defaults = (-1.0, 1.0) if name_of(limit) == "aten.hardtanh.default" else (None, None)
    low = named.get("low", limit.kwargs.get("min_val", limit.kwargs.get("min", defaults[0])))
    high = named.get("high", limit.kwargs.get("max_val", limit.kwargs.get("max", defaults[1])))
    return low, high


def quantized_floats(builder: Builder, value: Any, out: Parameters) -> Any:
    """Floats as integers: the sequence of operators that PyTorch computes."""
    inverse = float(np.float32(1.0) / np.float32(out.scale))
    shifted = builder.add(builder.round(builder.mul(value, inverse)), float(out.zero_point))
    return builder.convert(builder.clamp(shifted, out.low, out.high), out.dtype)


def dequantized(builder: Builder, source: Placed, given: Parameters, dtype: DType) -> Value:
    """Integers as floats, in the layout that they have."""
    floats = builder.cast(source.value, dtype)
    if given.zero_point:
        floats = builder.sub(floats, float(given.zero_point))
    if given.axis is None:
        return builder.mul(floats, given.scale)
    shape = [given.scales.size if dim == given.axis else 1 for dim in source.order]
    return builder.mul(floats, builder.constant(given.scales.astype(numpy_type(dtype)).reshape(shape), dtype))


def lower_conversion(
    builder: Builder, node: Node, resolve: Callable[[Node], Placed], program: ExportedProgram
) -> Placed:
    """A node that quantises or dequantises and is not a part of a unit, in floats."""
    parameters = parameters_of(node, program)
    source = resolve(node.args[0])
    if is_quantize(node):
        if source.value.dtype not in FLOATS:
            raise UnsupportedError("it quantises what is not a float")
        return Placed(quantized_floats(builder, source.value, parameters), source.order)
    return Placed(dequantized(builder, source, parameters, to_tosa(node.meta["val"].dtype)), source.order)
