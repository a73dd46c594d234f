# SPDX-License-Identifier: BSD-3-Clause
"""Finds operators of a program whose results differ from eager mode. Each is compared on the inputs that it had.

The graph runs once in eager mode. If the runtime recorded a result, the two are compared, and eager mode continues with
the recorded one. So each operator is compared for the runtime's own inputs, and an error does not affect the comparison
of later operators. Operators without a recorded result are compared together with the next operator that has one.
Where an operator writes to a tensor, the recorded result is written there, too, so that views of the tensor have it.

The effect of rounding is measured: each operator runs a second time in float64. With the expected result e in the dtype
of the model, the same in float64 w, and the recorded result f,

    rounding  = max |e - w|
    tolerance = 64 rounding + 16 eps max |e|        eps of the coarser of the two dtypes

Kernels sum in another order than eager mode, and approximate functions to a few units in the last place. A wrong
weight, kernel or scale causes errors that are larger by orders of magnitude. Quantised integers may differ by one, and
on average by a quarter. If an unrecorded step quantises (as dynamic quantisation of activations does), the tolerance is
twice the error of that quantisation, because another rounding cannot differ by more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves, tree_map_only

from sdk.devtools.inspector._distance import snr
from sdk.devtools.inspector._events import Event
from sdk.devtools.inspector._intermediate_output_capturer import Kind, handle_of
from sdk.devtools.inspector._numeric_gap import Layer, Operator, comparable

ROUNDING, EPS, QUANTIZED = 64.0, 16.0, 2.0
"""Factors by which a difference may exceed the measured rounding, the dtype's unit in the last place, and the error of
quantisation."""


@dataclass(frozen=True)
class Comparison:
    """A recorded result, and the result of eager mode for the inputs that the runtime had.

    Attributes:
        node: The operator's node in the exported graph.
        event: The runtime's event.
        expected, found: Both results, with the same shape.
        error: The largest difference; infinite if a value of one is not finite and that of the other is different.
        position: The position of the largest difference.
        tolerance: The largest difference that rounding explains.
        rounding: The difference between eager mode and float64.
        departs: Whether the error exceeds the tolerance, or quantised integers differ by more than a quarter on
            average.
        covers: The operators without a recorded result that are compared together with this one, in order.
    """

    node: Node
    event: Event
    expected: torch.Tensor
    found: torch.Tensor
    error: float
    position: tuple[int, ...]
    tolerance: float
    rounding: float
    departs: bool
    covers: tuple[Node, ...]

    @property
    def sqnr(self) -> float:
        """The ratio of the signal to the difference, in dB."""
        return snr(self.expected, self.found)


def comparisons(module: GraphModule, inputs: Sequence[Any], recorded: Mapping[Operator, Layer]) -> list[Comparison]:
    """Runs a graph in eager mode and compares it with the results that the runtime recorded.

    Args:
        module: What `ExportedProgram.module()` returns, whose nodes have debug handles.
        inputs: The flattened inputs of the program. They are not changed.
        recorded: The runtime's results.

    Returns:
        A comparison for each tensor that exists in both, in the order of the graph.
    """
    with torch.no_grad():
        run = _BesideRuntime(module, recorded)
        run.run(*inputs, enable_io_processing=False)
    return run.found


def is_quantize(node: Node) -> bool:
    """Whether an operator quantises floats."""
    return Kind.of(node) is Kind.QUANTIZE


def is_dequantize(node: Node) -> bool:
    """Whether an operator dequantises integers."""
    return Kind.of(node) is Kind.DEQUANTIZE


def _operator(node: Node) -> Operator | None:
    handle = handle_of(node)
    return None if handle is None else (handle, Kind.of(node))


class _BesideRuntime(Interpreter):
    """Computes in eager mode and in float64; recorded results replace both."""

    def __init__(self, module: GraphModule, recorded: Mapping[Operator, Layer]) -> None:
        super().__init__(module)
        self.found: list[Comparison] = []
        self._wide: dict[Node, Any] = {}
        self._pending: dict[Node, dict[Node, None]] = {}
        self._has_writes = any(_written(node) for node in module.graph.nodes if node.op == "call_function")
        # If several nodes have the same handle, the recorded result is that of the last one.
        last = {_operator(node): node for node in module.graph.nodes}
        self._compared = {
            node: recorded[operator] for operator, node in last.items() if operator is not None and operator in recorded
        }

    def run_node(self, n: Node) -> Any:
        # The operands are read before the operator runs, because it may write to them.
        operands = self._wide_operands(n) if n.op == "call_function" else ((), {})
        result = super().run_node(n)
        if n.op == "call_function":
            pending = {node: None for source in n.all_input_nodes for node in self._pending.get(source, ())}
            wide = self._run_wide(n, operands, result)
            self._forget_what_changed(n)
            if handle_of(n) is not None:
                layer = self._compared.get(n)
                replaced = None if layer is None else self._compare(n, result, wide, layer, tuple(pending))
                if replaced is not None:
                    result, wide, pending = replaced, _to_wide(replaced), {}
                else:
                    pending[n] = None
            self._wide[n], self._pending[n] = wide, pending
        for dead in self.user_to_last_uses.get(n, ()):
            self._wide.pop(dead, None)
        return result

    def _compare(self, node: Node, expected: Any, wide: Any, layer: Layer, covers: tuple[Node, ...]) -> Any | None:
        """The value that replaces the result; None if the recorded value is not comparable."""
        values = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        pair = comparable(expected, layer.found)
        if pair is None or not isinstance(pair[0], torch.Tensor) or not isinstance(pair[1], torch.Tensor):
            return None
        index = next(i for i, item in enumerate(values) if item is pair[0])
        exact = (wide[index] if isinstance(wide, (list, tuple)) else wide) if wide is not None else None
        found = pair[1].reshape(pair[0].shape)
        self.found.append(_judged(node, layer.event, pair[0].clone(), found, exact, covers))
        if _written(node):
            pair[0].copy_(found)
        elif not (self._has_writes and self._is_view(node, pair[0])):
            values[index] = found.to(pair[0].dtype, copy=True)
        return type(expected)(values) if isinstance(expected, (list, tuple)) else values[0]

    def _wide_operands(self, n: Node) -> tuple[Any, Any]:
        """Returns the arguments in float64. They are copies if the operator writes to one of them."""
        operands = torch.fx.map_arg((n.args, n.kwargs), self._operand)
        return tree_map_only(torch.Tensor, torch.clone, operands) if _written(n) else operands

    def _run_wide(self, n: Node, operands: tuple[Any, Any], result: Any) -> Any:
        """Computes the result in float64 from operands in float64. Returns the result of eager mode if the operator has
        no float64 kernel, and None if it takes integers whose quantisation is not recorded."""
        if is_quantize(n) and n not in self._compared:
            return _Unrounded(_clamped(n, operands[0][0]))
        if is_dequantize(n) and isinstance(self._wide.get(n.args[0]), _Unrounded):
            return self._wide[n.args[0]].values
        args, kwargs = operands
        if any(isinstance(item, _Unrounded) for item in (*args, *kwargs.values())):
            return None
        wider = {name: torch.float64 if value == torch.float32 else value for name, value in kwargs.items()}
        try:
            return _to_wide(n.target(*args, **wider))
        except Exception:  # kernels refuse dtypes with various exceptions; then the rounding cannot be measured
            return _to_wide(result)

    def _operand(self, node: Any) -> Any:
        found = self._wide.get(node)
        return found if found is not None else _to_wide(self.env[node])

    def _is_view(self, n: Node, result: torch.Tensor) -> bool:
        """Whether the result is in the memory of an operand, so that later writes to one change both."""
        return bool(_memory(result) & _memory([self.env[source] for source in n.all_input_nodes]))

    def _forget_what_changed(self, n: Node) -> None:
        """Removes the float64 values of the tensors that the operator wrote to, and of their views."""
        changed = _memory([self.env[node] for node in _written(n)])
        for node in [node for node in self._wide if changed and _memory(self.env.get(node)) & changed]:
            del self._wide[node]


def _written(n: Node) -> list[Node]:
    """The arguments that the operator writes to."""
    schema = getattr(n.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    given = {argument.name: value for argument, value in zip(schema.arguments, n.args, strict=False)} | n.kwargs
    writes = [given.get(argument.name) for argument in schema.arguments if argument.is_write]
    return [node for node in tree_leaves(writes) if isinstance(node, Node)]


def _memory(value: Any) -> set[int]:
    """The addresses of the storages of all tensors in a value."""
    return {leaf.untyped_storage().data_ptr() for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)} - {0}


@dataclass(frozen=True)
class _Unrounded:
    """The floats of which quantised integers are made, before rounding."""

    values: torch.Tensor


def _clamped(node: Node, values: Any) -> Any:
    """Floats clamped to the range of a per-tensor quantisation; unchanged for other quantisations."""
    numbers = node.args[1:5]
    if "quantize_per_tensor" in str(node.target) and all(isinstance(number, (int, float)) for number in numbers):
        scale, zero, low, high = (float(number) for number in numbers)
        return values.clamp((low - zero) * scale, (high - zero) * scale)
    return values


def _to_wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_to_wide, value))
    return value


def _judged(
    node: Node, event: Event, expected: torch.Tensor, found: torch.Tensor, wide: Any, covers: tuple[Node, ...]
) -> Comparison:
    error, position = _largest(expected, found)
    rounding = _largest(expected, wide)[0] if isinstance(wide, torch.Tensor) else 0.0
    roundings = sum(map(is_quantize, covers))
    if is_quantize(node) and not expected.is_floating_point():
        tolerance = 1.0 + QUANTIZED * roundings
        bias = float((found.to(torch.int64) - expected.to(torch.int64)).sum().abs())
        biased = not roundings and bias > max(1.0, expected.numel() / 4)
        return Comparison(
            node, event, expected, found, error, position, tolerance, rounding, error > tolerance or biased, covers
        )
    tolerance = (QUANTIZED if roundings else ROUNDING) * rounding
    if expected.is_floating_point() and expected.numel():
        eps = (
            max(torch.finfo(t.dtype).eps for t in (expected, found) if t.is_floating_point())
            if found.is_floating_point()
            else torch.finfo(expected.dtype).eps
        )
        tolerance += EPS * eps * _magnitude(expected)
    return Comparison(node, event, expected, found, error, position, tolerance, rounding, error > tolerance, covers)


def _magnitude(value: torch.Tensor) -> float:
    finite = value.to(torch.float64).abs()
    finite = finite[finite.isfinite()]
    return float(finite.max()) if finite.numel() else 0.0


def _largest(expected: torch.Tensor, found: torch.Tensor) -> tuple[float, tuple[int, ...]]:
    """The largest difference and its position; infinite if one value is not finite and the other is different."""
    if expected.numel() == 0:
        return 0.0, ()
    if expected.is_complex():
        expected, found = torch.view_as_real(expected.resolve_conj()), torch.view_as_real(found.resolve_conj())
    a, b = expected.to(torch.float64), found.to(torch.float64)
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a - b).abs()).nan_to_num(nan=torch.inf)
    place = int(difference.reshape(-1).argmax())
    return float(difference.reshape(-1)[place]), tuple(
        int(i) for i in torch.unravel_index(torch.tensor(place), difference.shape)
    )
