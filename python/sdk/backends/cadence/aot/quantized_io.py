# SPDX-License-Identifier: BSD-3-Clause
"""Models with integer inputs and results: finds the parameters of the first and last quantisation, and wraps models to
take and return integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.pass_utils import get_arg

QuantArgs = tuple[float, int, int, int, torch.dtype]
"""Scale, zero point, least and greatest integer, dtype."""

_ops = torch.ops
_decomposed = _ops.quantized_decomposed
_QUANTIZES = (_decomposed.quantize_per_tensor.default, _ops.cadence.quantize_per_tensor.default)
_DEQUANTIZES = (_decomposed.dequantize_per_tensor.default, _ops.cadence.dequantize_per_tensor.default)
_PERMUTES = (_ops.aten.permute.default, _ops.aten.permute_copy.default)
_MOVES = frozenset(
    {
        *(_ops.aten.view, _ops.aten.view_copy, _ops.aten._unsafe_view, _ops.aten.reshape),
        *(_ops.aten.permute, _ops.aten.permute_copy, _ops.aten.transpose, _ops.aten.transpose_copy),
        *(_ops.aten.squeeze, _ops.aten.squeeze_copy, _ops.aten.unsqueeze, _ops.aten.unsqueeze_copy),
        *(_ops.aten.slice, _ops.aten.slice_copy, _ops.aten.expand, _ops.aten.expand_copy),
        *(_ops.aten.split, _ops.aten.split_with_sizes, _ops.aten.chunk),
        *(_ops.aten.contiguous, _ops.aten.clone, _ops.aten.to, _ops.aten._to_copy),
    }
)
"""Operators that move elements without changing them."""


def _moves(node: Node) -> bool:
    return node.target is operator.getitem or getattr(node.target, "overloadpacket", None) in _MOVES


def _parameters(node: Node) -> QuantArgs:
    names = ("scale", "zero_point", "quant_min", "quant_max", "dtype")
    scale, zero_point, low, high, dtype = (get_arg(node, name) for name in names)
    return float(scale), int(zero_point), int(low), int(high), dtype


def _is(node: Any, targets: Sequence[Any]) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def _outputs(module: GraphModule) -> list[Any]:
    found = module.graph.output_node().args[0]
    return list(found) if isinstance(found, (tuple, list)) else [found]


def extract_input_shapes_from_graph(module: GraphModule) -> dict[int, tuple[int, ...]]:
    """Returns the shapes of the inputs that are tensors, by position."""
    values = [node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")]
    return {at: tuple(value.shape) for at, value in enumerate(values) if isinstance(value, Tensor)}


def extract_quant_params_through_permute(module: GraphModule) -> dict[int, QuantArgs]:
    """Returns the quantisation parameters of inputs that are permuted and then quantised, by position."""
    found: dict[int, QuantArgs] = {}
    for at, node in enumerate(module.graph.find_nodes(op="placeholder")):
        permutes = [user for user in node.users if _is(user, _PERMUTES)]
        quantizes = [user for permute in permutes for user in permute.users if _is(user, _QUANTIZES)]
        if quantizes:
            found[at] = _parameters(quantizes[0])
    return found


def extract_input_quant_params_from_graph(module: GraphModule, input_names: Sequence[str]) -> dict[int, QuantArgs]:
    """Returns the parameters of the first quantisation after each of the named nodes, by position in the list. Raises
    ValueError if no quantisation follows a node."""
    nodes = {node.name: node for node in module.graph.nodes}
    found = {at: _first_quantize(nodes[name]) for at, name in enumerate(input_names) if name in nodes}
    missing = sorted(name for at, name in enumerate(input_names) if found.get(at) is None)
    if missing:
        inputs = [node.name for node in module.graph.find_nodes(op="placeholder")]
        raise ValueError(
            f"Could not find quantization parameters for input(s): {missing}. Expected names of nodes that are "
            f"quantised, at most moved before; the inputs are {inputs}"
        )
    return {at: _parameters(node) for at, node in found.items() if node is not None}


def _first_quantize(node: Node) -> Node | None:
    waiting, seen = list(node.users), {node}
    while waiting:
        user = waiting.pop()
        if _is(user, _QUANTIZES):
            return user
        if user not in seen and user.op == "call_function" and _moves(user):
            seen.add(user)
            waiting += user.users
    return None


def extract_all_output_dequant_params(module: GraphModule) -> list[QuantArgs | None]:
    """Returns the parameters of each result, or None for results that are not dequantised."""
    return [_parameters(each) if _is(each, _DEQUANTIZES) else None for each in _outputs(module)]


def extract_output_dequant_params(module: GraphModule) -> QuantArgs:
    """Returns the parameters of the first result. Raises ValueError if it is not dequantised."""
    found = extract_all_output_dequant_params(module)[0]
    if found is None:
        raise ValueError(
            f"Could not find dequantize_per_tensor at the output of the graph, found {_outputs(module)[0]}"
        )
    return found


def extract_output_dequant_params_through_permute(module: GraphModule) -> QuantArgs:
    """Returns the parameters of the first result, which must be dequantised and then permuted. Raises ValueError
    otherwise."""
    last = _outputs(module)[0]
    if not _is(last, _PERMUTES) or not _is(last.args[0], _DEQUANTIZES):
        raise ValueError(f"Could not find dequantize_per_tensor and permute at the output of the graph, found {last}")
    return _parameters(last.args[0])


class QuantizedInputWrapper(torch.nn.Module):
    """A converted model that takes integers for some of its inputs.

    Args:
        module: The model.
        input_args: The inputs that become integers: the names of their nodes, which get the parameters of the next
            quantisation; or a dict from positions to parameters or to a list with such a name. None changes nothing.
            expected_inputs: By position, the real numbers that the integers of each call must represent, within
            `atol` and `rtol`.
    """

    def __init__(
        self,
        module: GraphModule,
        input_args: Sequence[str] | Mapping[int, Any] | None = None,
        expected_inputs: Mapping[int, Tensor] | None = None,
        atol: float = 1e-4,
        rtol: float = 1e-4,
    ) -> None:
        super().__init__()
        self.module = module
        self.expected_shapes = extract_input_shapes_from_graph(module)
        self.expected_inputs = expected_inputs
        self.atol, self.rtol = atol, rtol
        self.quant_args: dict[int, QuantArgs] = {}
        if isinstance(input_args, Mapping):
            self.quant_args = {int(at): self._given(value) for at, value in input_args.items()}
        elif input_args is not None:
            self.quant_args = extract_input_quant_params_from_graph(module, list(input_args))

    def _given(self, value: Any) -> QuantArgs:
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
            return extract_input_quant_params_from_graph(self.module, list(value))[0]
        scale, zero_point, low, high, dtype = value
        return scale, zero_point, low, high, dtype

    def forward(self, *args: Tensor) -> Any:
        """Dequantises the inputs and runs the model."""
        real = [self._real(at, value) for at, value in enumerate(args)]
        for at, expected in (self.expected_inputs or {}).items():
            if at < len(real) and not torch.allclose(real[at], expected, atol=self.atol, rtol=self.rtol):
                difference = (real[at] - expected).abs()
                raise ValueError(
                    f"Dequantized input at index {at} differs from expected value: max_abs_diff="
                    f"{difference.max().item():.6g}, mean_abs_diff={difference.mean().item():.6g} (atol={self.atol}, "
                    f"rtol={self.rtol})"
                )
        return self.module(*real)

    def _real(self, at: int, value: Tensor) -> Tensor:
        if at not in self.quant_args:
            return value
        expected = self.expected_shapes.get(at, tuple(value.shape))
        if tuple(value.shape) != expected:
            raise ValueError(
                f"Shape mismatch for quantized input at index {at}: expected {expected}, got {tuple(value.shape)}"
            )
        real: Tensor = _decomposed.dequantize_per_tensor.default(value, *self.quant_args[at])
        return real

    @staticmethod
    def sink_dequants(program: ExportedProgram) -> None:
        """Moves the dequantisation of inputs to the calls that quantise a part of an input again."""
        specs = program.graph_signature.input_specs
        inputs = {spec.arg.name for spec in specs if spec.kind == InputKind.USER_INPUT}
        sink_input_dequant_through_transparent_ops(program.graph_module, inputs)


class QuantizedOutputWrapper(torch.nn.Module):
    """Wraps a model so that it returns integers: quantises its result, or each of several results whose parameters are
    not None."""

    def __init__(self, module: torch.nn.Module, output_quant_args: QuantArgs | list[QuantArgs | None]) -> None:
        super().__init__()
        self.module = module
        self.output_quant_args = output_quant_args

    def forward(self, *args: Tensor) -> Any:
        """Runs the model and quantises."""
        quantize: Callable[..., Tensor] = _decomposed.quantize_per_tensor.default
        results = self.module(*args)
        if not isinstance(self.output_quant_args, list):
            return quantize(results, *self.output_quant_args)
        missing = [None] * (len(results) - len(self.output_quant_args))
        pairs = zip(results, [*self.output_quant_args, *missing], strict=False)
        return tuple(result if each is None else quantize(result, *each) for result, each in pairs)


def sink_input_dequant_through_transparent_ops(
    graph_module: GraphModule, input_placeholder_names: set[str] | None = None
) -> bool:
    """Moves the dequantisation of integer inputs after calls that only move elements, up to the calls that quantise the
    parts. Inputs with other users do not change. Returns whether the graph changed."""
    changed = False
    for node in graph_module.graph.find_nodes(op="placeholder"):
        if input_placeholder_names is not None and node.name not in input_placeholder_names:
            continue
        dequantize = next(iter(node.users)) if len(node.users) == 1 else None
        if dequantize is None or not _is(dequantize, _DEQUANTIZES) or node.meta["val"].dtype.is_floating_point:
            continue
        quantizes = _quantizes_behind(dequantize)
        if quantizes:
            _sink(node, dequantize, quantizes)
            changed = True
    if changed:
        graph_module.graph.lint()
        graph_module.recompile()
    return changed


def _quantizes_behind(node: Node) -> list[Node]:
    """Returns the calls that quantise a tensor, directly or after moves; an empty list if the tensor has other
    users."""
    found: list[Node] = []
    waiting = list(node.users)
    while waiting:
        user = waiting.pop(0)
        if _is(user, _QUANTIZES):
            found.append(user)
        elif user.op == "call_function" and _moves(user):
            waiting += user.users
        else:
            return []
    return found


def _sink(node: Node, dequantize: Node, quantizes: Sequence[Node]) -> None:
    target: Any = dequantize.target
    for quantize in quantizes:
        source: Any = quantize.args[0]
        with node.graph.inserting_before(quantize):
            real = node.graph.call_function(target, (source, *_parameters(quantize)))
        real.meta = dict(dequantize.meta)
        real.meta["val"] = quantize.meta["val"].to(torch.float32)
        quantize.replace_input_with(source, real)
    dequantize.replace_all_uses_with(node)
    node.graph.erase_node(dequantize)
