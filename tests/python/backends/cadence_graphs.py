# SPDX-License-Identifier: BSD-3-Clause
"""Small graphs on which the passes of cadence are tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.graph_builder import GraphBuilder
from sdk.exir.dialects._ops import ops as exir_ops

aten, cadence = exir_ops.edge.aten, exir_ops.edge.cadence
decomposed = exir_ops.edge.quantized_decomposed
EDGE = (0.1, 3, -128, 127, torch.int8)
Call = Callable[[GraphBuilder, list[Any]], Any]


def graph(inputs: Sequence[torch.Tensor], build: Call) -> GraphModule:
    builder = GraphBuilder()
    found = build(builder, [builder.placeholder(f"x{at}", tensor) for at, tensor in enumerate(inputs)])
    builder.output([found])
    return builder.get_graph_module()


def chain(*calls: tuple[Any, ...]) -> Call:
    """Calls in sequence, each with the result of the one before as its first argument."""

    def build(builder: GraphBuilder, inputs: list[Any]) -> Any:
        found = inputs[0]
        for op, *args in calls:
            found = builder.call_operator(op, (found, *args))
        return found

    return build


def floats(*shape: int) -> list[torch.Tensor]:
    return [torch.randn(shape, generator=torch.Generator().manual_seed(1))]


def quantized(*shape: int) -> list[torch.Tensor]:
    return [torch.randint(-128, 128, shape, dtype=torch.int8, generator=torch.Generator().manual_seed(2))]


def full_of(builder: GraphBuilder, sizes: list[int], number: float) -> Any:
    return builder.call_operator(aten.full.default, (sizes, number))


def with_full(op: Any, number: float, sizes: list[int], first: bool = True) -> Call:
    def build(builder: GraphBuilder, inputs: list[Any]) -> Any:
        constant = full_of(builder, sizes, number)
        return builder.call_operator(op, (inputs[0], constant) if first else (constant, inputs[0]))

    return build


def chosen(builder: GraphBuilder, inputs: list[Any]) -> Any:
    negated = builder.call_operator(aten.logical_not.default, (inputs[0],))
    return builder.call_operator(aten.where.self, (negated, inputs[1], inputs[2]))


def where_scalar(builder: GraphBuilder, inputs: list[Any]) -> Any:
    numbers = [full_of(builder, [2, 3], number) for number in (0.5, -2.0)]
    return builder.call_operator(aten.where.self, (inputs[0], *numbers))


def add_to_product(builder: GraphBuilder, inputs: list[Any]) -> Any:
    product = builder.call_operator(aten.mm.default, (inputs[0], inputs[1]))
    return builder.call_operator(aten.add.Tensor, (product, inputs[2]))


def viewed_product(builder: GraphBuilder, inputs: list[Any]) -> Any:
    product = builder.call_operator(aten.mm.default, (inputs[0], inputs[1]))
    viewed = builder.call_operator(aten.view_copy.default, (product, [2, 2, 6]))
    return builder.call_operator(aten.add.Tensor, (viewed, inputs[2]))


def cat_with_empty(builder: GraphBuilder, inputs: list[Any]) -> Any:
    return builder.call_operator(aten.cat.default, ([inputs[0], inputs[1], inputs[0]], 1))


def slice_of_cat(builder: GraphBuilder, inputs: list[Any]) -> Any:
    joined = builder.call_operator(aten.cat.default, ([inputs[0], inputs[1]], 1))
    return builder.call_operator(aten.slice_copy.Tensor, (joined, 1, 4, 6))


def scaled_dequantize(builder: GraphBuilder, inputs: list[Any]) -> Any:
    real = builder.call_operator(cadence.dequantize_per_tensor.default, (inputs[0], *EDGE))
    return builder.call_operator(aten.mul.Tensor, (real, full_of(builder, [1], 0.25)))


def scaled_quantize(builder: GraphBuilder, inputs: list[Any]) -> Any:
    scaled = builder.call_operator(aten.mul.Tensor, (inputs[0], full_of(builder, [1], 0.25)))
    return builder.call_operator(cadence.quantize_per_tensor.default, (scaled, *EDGE))


def split_halves(builder: GraphBuilder, inputs: list[Any]) -> Any:
    parts = builder.call_operator(aten.split_with_sizes_copy.default, (inputs[0], [1, 3], 1))
    return builder.call_getitem(parts, 1)


def twice(builder: GraphBuilder, inputs: list[Any]) -> Any:
    first, second = (builder.call_operator(aten.neg.default, (inputs[0],)) for _ in range(2))
    return builder.call_operator(aten.add.Tensor, (first, second))


def late(builder: GraphBuilder, inputs: list[Any]) -> Any:
    """Builds a constant that is created early and used late, and a slice that is taken late."""
    constant = full_of(builder, [2], 3.0)
    negated = builder.call_operator(aten.neg.default, (inputs[0],))
    part = builder.call_operator(aten.slice_copy.Tensor, (inputs[0], 0, 0, 2))
    whole = builder.call_operator(aten.slice_copy.Tensor, (negated, 0, 1, 3))
    return builder.call_operator(aten.add.Tensor, (builder.call_operator(aten.mul.Tensor, (part, whole)), constant))


def convolved(op: Any, *tail: Any) -> Call:
    return lambda builder, inputs: builder.call_operator(op, (*inputs, *tail))


def transposed_int8(builder: GraphBuilder, inputs: list[Any]) -> Any:
    def constant(number: float, dtype: torch.dtype) -> Any:
        return builder.call_operator(aten.full.default, ([1], number), {"dtype": dtype})

    numbers = (constant(2, torch.int32), constant(0.003, torch.float32), 0.1, -7, *[constant(1, torch.int32)] * 2)
    places = ([2], [1], [1], [1], 1, 5)
    return builder.call_operator(cadence.quantized_transposed_conv.default, (*inputs, *places, *numbers, False))


def cat_quantized(builder: GraphBuilder, inputs: list[Any]) -> Any:
    joined = builder.call_operator(aten.cat.default, (list(inputs), 1))
    return builder.call_operator(cadence.quantize_per_tensor.default, (joined, *EDGE))


def cat_used_twice(builder: GraphBuilder, inputs: list[Any]) -> Any:
    """A concatenation that is quantised, and used in floats."""
    real = builder.call_operator(cadence.dequantize_per_tensor.default, (inputs[0], *EDGE))
    joined = builder.call_operator(aten.cat.default, ([real, inputs[1]], 0))
    rounded = builder.call_operator(cadence.quantize_per_tensor.default, (joined, *EDGE))
    back = builder.call_operator(cadence.dequantize_per_tensor.default, (rounded, *EDGE))
    return builder.call_operator(aten.add.Tensor, (back, builder.call_operator(aten.neg.default, (joined,))))


def slices_quantized(builder: GraphBuilder, inputs: list[Any]) -> Any:
    parts = [builder.call_operator(aten.slice_copy.Tensor, (inputs[0], 0, at, at + 2)) for at in (0, 2)]
    rounded = [builder.call_operator(cadence.quantize_per_tensor.default, (part, *EDGE)) for part in parts]
    return builder.call_operator(aten.cat.default, (rounded, 0))


def quantized_twice(*scales: float) -> Call:
    """Builds a call for each scale that quantises a view of the input with this scale, and a concatenation of the
    results."""

    def build(builder: GraphBuilder, inputs: list[Any]) -> Any:
        parts = []
        for scale in scales:
            parameters = (scale, *EDGE[1:])
            viewed = builder.call_operator(aten.view_copy.default, (inputs[0], [2, 2]))
            rounded = builder.call_operator(cadence.quantize_per_tensor.default, (viewed, *parameters))
            parts.append(builder.call_operator(cadence.dequantize_per_tensor.default, (rounded, *parameters)))
        return builder.call_operator(aten.cat.default, (parts, 0))

    return build


def quantized_and_real(builder: GraphBuilder, inputs: list[Any]) -> Any:
    """Returns real numbers that quantisation does not round, and the results of two users with different scales."""
    real = builder.call_operator(cadence.dequantize_per_tensor.default, (inputs[0], *EDGE))
    rounded = builder.call_operator(cadence.quantize_per_tensor.default, (real, *EDGE))
    back = builder.call_operator(cadence.dequantize_per_tensor.default, (rounded, *EDGE))
    other = builder.call_operator(cadence.dequantize_per_tensor.default, (rounded, 0.7, *EDGE[1:]))
    return builder.call_operator(aten.add.Tensor, (back, other))


def slice_of_sum(builder: GraphBuilder, inputs: list[Any]) -> Any:
    total = builder.call_operator(aten.add.Tensor, tuple(inputs))
    return builder.call_operator(aten.slice_copy.Tensor, (total, 1, 1, 4))


def signal() -> list[torch.Tensor]:
    return [*floats(2, 4, 9), *floats(6, 4, 3), *floats(6)]


def image(groups: int = 1) -> list[torch.Tensor]:
    weight = torch.randint(-128, 128, (4, 4 // groups, 3, 2), dtype=torch.int8)
    return [*quantized(1, 4, 6, 5), weight, torch.randint(-999, 999, (4,), dtype=torch.int32)]


def matmul() -> list[torch.Tensor]:
    return [*quantized(2, 3, 4), *quantized(2, 4, 5)]


QUANTIZED = (5, 3, 0.002, 0.1, -7, 1374389535, -5)
MATMUL = lambda builder, x: builder.call_operator(  # noqa: E731
    cadence.quantized_matmul.default, (x[0], 1, x[1], -2, None, 1374389535, -8, 3, False)
)
CONVOLUTION = ([1], [1], [1], False, [0], 1)
IMAGE = ([2, 1], [1, 0], [1, 1])
BOOLS = [torch.tensor([[True, False, True], [False, False, True]])]

Case = tuple[Any, list[torch.Tensor], Call, Any, int, Any]
"""The pass, the inputs, the calls, the operator that the pass replaces, its remaining calls, and the new operator."""
