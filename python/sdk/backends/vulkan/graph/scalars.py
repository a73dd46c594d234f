# SPDX-License-Identifier: BSD-3-Clause
"""Elements of integer tensors that determine shapes and positions, such as the position of the first token.

The runtime reads them on the CPU before the GPU runs, so they can come from inputs only. An
element that is computed from inputs, such as the first of `input_pos + arange(n)`, is computed with symbolic integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from sdk.backends.graph.shapes import tensor_of
from sdk.backends.graph.sums import sum_of
from sdk.backends.transforms.constants import get_constant
from sdk.backends.vulkan.graph.ir import Symbol, Value
from sdk.backends.vulkan.graph.lowering import Lowering, rule
from sdk.backends.vulkan.op_features import argument_of
from sdk.backends.vulkan.op_registry import called_operator

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_SAME_ELEMENTS = frozenset(
    f"{name}.default"
    for name in (
        "aten.clone",
        "aten.alias_copy",
        "aten._to_copy",
        "aten.lift_fresh_copy",
        "dim_order_ops._to_dim_order_copy",
        "dim_order_ops._clone_dim_order",
    )
)


@dataclass(frozen=True)
class _Read:
    """An element of an input with at most one dimension."""

    source: Node
    index: int


@dataclass(frozen=True)
class _Computed:
    """`left` and `right` are expressions: integers, nodes of symbolic integers, reads and results of expressions."""

    name: str
    left: Any
    right: Any


def scalar_refusal(node: Node, program: ExportedProgram) -> str | None:
    """Returns why the integer that `aten._local_scalar_dense` reads is not known before the GPU runs, or None if it
    is."""
    if _element(program, node.args[0], ()) is None:
        return "it reads an integer that the GPU computes"
    return None


@rule("aten._local_scalar_dense.default")
def _local_scalar(lowering: Lowering, node: Node) -> Value | None:
    found = _element(lowering.program, node.args[0], ())
    if found is None:
        raise RuntimeError(f"{node} reads an integer that the GPU computes")
    value = _written(lowering, found)
    if isinstance(value, int):
        return lowering.call("add", [value, 0], Symbol())
    return value if isinstance(value, Symbol) else lowering.value(value)


def _written(lowering: Lowering, expression: Any) -> Any:
    if isinstance(expression, _Read):
        return lowering.call("et_vk.select_as_symint.default", [expression.source, 0, expression.index], Symbol())
    if isinstance(expression, _Computed):
        operands = [_written(lowering, part) for part in (expression.left, expression.right)]
        return lowering.call(expression.name, operands, Symbol())
    return expression


def _element(program: ExportedProgram, node: Any, at: Sequence[int]) -> Any:
    """Returns the expression of an element of `node`, or None if it is not known."""
    if not isinstance(node, Node) or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    constant = get_constant(program, node)
    if constant is not None:
        return int(constant[tuple(at)]) if not constant.is_floating_point() else None
    if tensor_of(node).is_floating_point():
        return None
    if node.op == "placeholder":
        given = {s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT}
        return _Read(node, at[0] if at else 0) if node.name in given and len(at) <= 1 else None
    name, args = called_operator(node), node.args
    if name in _SAME_ELEMENTS:
        return _element(program, args[0], at)
    if name == "aten.select_copy.int":
        dim, index = args[1], args[2]
        assert isinstance(dim, int)
        dim %= tensor_of(args[0]).dim()
        size = tensor_of(args[0]).shape[dim]
        if not isinstance(index, int) or (index < 0 and not isinstance(size, int)):
            return None
        return _element(program, args[0], [*at[:dim], index % size if index < 0 else index, *at[dim:]])
    if name == "aten.arange.start_step":
        start, step = args[0], argument_of(node, 2, "step", 1)
        return _combined("add", start, step * at[0]) if isinstance(step, int) else None
    if name in ("aten.mul.Tensor", "aten.mul.Scalar"):
        return _combined("mul", *(_operand(program, operand, at) for operand in args[:2]))
    total = sum_of(node)
    if total is None or total.factor not in (1, -1):
        return None
    kind = "add" if total.factor == 1 else "sub"
    return _combined(kind, *(_operand(program, operand, at) for operand in (total.first, total.second)))


def _operand(program: ExportedProgram, operand: Any, at: Sequence[int]) -> Any:
    """The element of an operand that is broadcast."""
    if isinstance(operand, int):
        return operand
    shape = tensor_of(operand).shape
    own = at[len(at) - len(shape) :]
    return _element(program, operand, [0 if size == 1 else index for size, index in zip(shape, own, strict=True)])


def _combined(name: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return _ARITHMETIC[name](left, right)
    neutral = 1 if name == "mul" else 0
    if isinstance(right, int) and right == neutral:
        return left
    return right if name != "sub" and isinstance(left, int) and left == neutral else _Computed(name, left, right)
