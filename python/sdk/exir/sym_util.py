# SPDX-License-Identifier: BSD-3-Clause
"""Bounds of symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import sympy
import torch
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from sdk.exir.error import ExportError, ExportErrorType

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx.experimental.symbolic_shapes import ShapeEnv


class UnboundedSizeError(ExportError):
    """A size has no upper bound, so memory for it cannot be planned."""

    def __init__(self, expr: object) -> None:
        super().__init__(
            ExportErrorType.NOT_SUPPORTED,
            f"size {expr} has no upper bound, so no memory can be planned for it. Give the dynamic dimension one "
            f"when exporting, for "
            'example torch.export.Dim("batch", min=1, max=64), or, for a size that depends on data or is an integer '
            "input, torch._check(n <= 64) in the model.",
        )


_LARGEST = 2**31 - 1


def upper_bound(size: int | torch.SymInt) -> int | None:
    """The largest value `size` can take; None if it is unbounded.

    A dimension of an input without a bound is bounded by its size in the example inputs, as in ExecuTorch: memory is
    planned for this size, and the runtime refuses larger inputs. `to_executorch` warns about it.
    """
    if isinstance(size, int):
        return size
    node = size.node
    expr = node.shape_env.replace(node.expr)
    if expr.is_Integer:
        return int(expr)
    # PyTorch's ranges of sizes begin at 2 even where 0 and 1 are allowed, so that tracing does not specialise on them.
    for least in (0, 1):
        ranges = _ranges(node, expr, least)
        for symbol, assumed in assumed_bounds(size).items():
            ranges[symbol] = ValueRanges(min(ranges[symbol].lower, assumed), assumed)
        bound = bound_sympy(expr, ranges).upper
        if _is_finite(bound):
            return int(bound)
    return None


def assumed_bounds(size: int | torch.SymInt) -> dict[sympy.Symbol, int]:
    """The symbols of `size` that are sizes of inputs without an upper bound, with their values in the example.

    Integer inputs are not among them: the runtime checks the sizes of tensors, but not the values of numbers.
    """
    if isinstance(size, int):
        return {}
    env, expr = size.node.shape_env, size.node.shape_env.replace(size.node.expr)
    unbounded = {
        symbol: int(env.backed_var_to_val[symbol])
        for symbol in expr.free_symbols
        if symbol in env.backed_var_to_val and not _is_finite(env.var_to_range[symbol].upper)
    }
    numbers = _numbers(env) if unbounded else set()
    return {symbol: assumed for symbol, assumed in unbounded.items() if symbol not in numbers}


def _numbers(env: ShapeEnv) -> set[sympy.Symbol]:
    """The symbols of integer inputs, except those that are sizes of tensors too."""
    from torch._dynamo.source import TensorPropertySource

    sizes: set[sympy.Symbol] = set()
    numbers: set[sympy.Symbol] = set()
    for symbol, sources in env.var_to_sources.items():
        is_size = any(isinstance(source, TensorPropertySource) for source in sources)
        (sizes if is_size else numbers).update(env.replace(symbol).free_symbols)
    return numbers - sizes


def record_numbers(program: ExportedProgram) -> None:
    """Records which symbols are integer inputs, in a program that `torch.export.load` read without their sources."""
    from torch._dynamo.source import ConstantSource

    values = {node.name: node.meta.get("val") for node in program.graph.find_nodes(op="placeholder")}
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    sizes = {
        symbol
        for tensor in tensors
        for size in tensor.shape
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }
    for name, value in values.items():
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol and value.node.expr not in sizes:
            value.node.shape_env.var_to_sources.setdefault(value.node.expr, [ConstantSource(name)])


def _is_finite(bound: object) -> bool:
    return isinstance(bound, (int, sympy.Integer)) and bound < _LARGEST


def lower_bound(size: int | torch.SymInt) -> int | None:
    """The smallest value `size` can take, where a dynamic dimension has at least one element; None if unknown."""
    if isinstance(size, int):
        return size
    expr = size.node.shape_env.replace(size.node.expr)
    lowest = bound_sympy(expr, _ranges(size.node, expr, 1)).lower
    return int(lowest) if isinstance(lowest, (int, sympy.Integer)) else None


def input_lower_bound(size: torch.SymInt, ranges: Mapping[sympy.Symbol, ValueRanges]) -> int:
    """The smallest size that an input may have in a program with these `range_constraints`: the declared one.

    PyTorch's ranges begin at 2 where nothing was declared, and its exported programs accept 0 and 1 even where `Dim`
    says 2. A program that `torch.export.save` wrote does not say which of the two it was.
    """
    node = size.node
    expr = node.shape_env.replace(node.expr)
    known = {}
    for symbol in expr.free_symbols:
        found = ranges.get(symbol) or node.shape_env.var_to_range.get(symbol)
        if found is not None:
            undeclared = found.lower == 2 and symbol not in _declared(node.shape_env)
            known[symbol] = ValueRanges(0, found.upper) if undeclared else found
    lowest = max(bound_sympy(expr, known).lower, 0 if expr.is_Symbol or expr not in ranges else ranges[expr].lower)
    return max(int(lowest), 0) if isinstance(lowest, (int, sympy.Integer)) else 0


def declare_lower_bound(exported: ExportedProgram, size: torch.SymInt, least: int) -> None:
    """Records in a program that PyTorch captured that a size of an input is `least` or larger."""
    env, expr = size.node.shape_env, size.node.expr
    known = exported.range_constraints.get(expr)
    if known is None or known.lower != 2 or least > 2:
        return
    exported.range_constraints[expr] = ValueRanges(least, known.upper)
    for source, symbol in env.source_to_var.items():
        if symbol == expr:
            env.source_name_to_debug_name.setdefault(source, str(symbol))


def _declared(env: ShapeEnv) -> set[sympy.Symbol]:
    """The sizes to which a `Dim` gave a name."""
    return {symbol for source, symbol in env.source_to_var.items() if source in env.source_name_to_debug_name}


def _ranges(node: torch.SymNode, expr: sympy.Expr, least: int) -> dict[sympy.Symbol, ValueRanges]:
    """The ranges of the symbols of `expr`, which begin at `least` where PyTorch's begin at 2."""
    known = {symbol: found for symbol in expr.free_symbols if (found := node.shape_env.var_to_range.get(symbol))}
    return {symbol: ValueRanges(least, found.upper) if found.lower == 2 else found for symbol, found in known.items()}


def may_be_zero(size: int | torch.SymInt) -> bool:
    """Whether `size` may be 0 as far as is known."""
    if isinstance(size, int):
        return size == 0
    expr = size.node.shape_env.replace(size.node.expr)
    lowest = bound_sympy(expr, _ranges(size.node, expr, 0)).lower
    return not isinstance(lowest, (int, sympy.Integer)) or lowest < 1


def may_be_zero_by_data(size: int | torch.SymInt) -> bool:
    """Whether `size` depends on data, and may be 0 as far as is known."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    if isinstance(size, int) or not free_unbacked_symbols(size):
        return False
    lowest = lower_bound(size)
    return lowest is None or lowest < 1


def is_largest_at_bounds(size: int | torch.SymInt) -> bool:
    """Whether `size` is largest when each of its symbols is largest.

    This is false for 16 - n, which is largest for the smallest n. Shapes that are computed from each other agree at the
    upper bounds of the symbols, but not necessarily at their own upper bounds.
    """
    if isinstance(size, int):
        return True
    expr, ranges = size.node.shape_env.replace(size.node.expr), size.node.shape_env.var_to_range
    uppers = {symbol: ranges[symbol].upper for symbol in expr.free_symbols if symbol in ranges}
    value = expr.xreplace({**uppers, **assumed_bounds(size)})
    return bool(value == upper_bound(size))


def eval_upper_bound(maybe_symint: int | torch.SymInt) -> int:
    """The largest value that a size can take. Raises `UnboundedSizeError` if it is unbounded."""
    bound = upper_bound(maybe_symint)
    if bound is None:
        raise UnboundedSizeError(maybe_symint)
    return bound


def eval_expr(symint: int | torch.SymInt) -> int | None:
    """The value a symbolic size had in the example inputs; None if it depends on data."""
    if isinstance(symint, int):
        return symint
    return None if symint.node.hint is None else int(symint.node.hint)


def eval_shape(shape: Iterable[int | torch.SymInt]) -> list[int | None]:
    """`eval_expr` of every size."""
    return [eval_expr(size) for size in shape]


def eval_shape_upper_bound(shape: Sequence[int | torch.SymInt]) -> list[int]:
    """`eval_upper_bound` of every size."""
    return [eval_upper_bound(size) for size in shape]


def is_symbolic(shape: Iterable[int | torch.SymInt]) -> bool:
    """Whether any size is symbolic."""
    return any(isinstance(size, torch.SymInt) for size in shape)


def are_same_sizes(some: Sequence[int | torch.SymInt], others: Sequence[int | torch.SymInt]) -> bool:
    """Whether sizes, or strides, are the same for every value of their symbols.

    `==` compares the values that the symbols have in the example inputs, and fails for sizes that depend on data.
    """
    return len(some) == len(others) and all(map(_is_same_number, some, others))


def _is_same_number(one: object, other: object) -> bool:
    expressions = [getattr(getattr(value, "node", None), "expr", value) for value in (one, other)]
    return bool(expressions[0] == expressions[1])


def collect_free_symbols(shape: Iterable[int | torch.SymInt]) -> set[str]:
    """Names of the symbols that a shape depends on."""
    return {str(symbol) for size in shape if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols}
