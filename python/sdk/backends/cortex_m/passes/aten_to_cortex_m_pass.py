# SPDX-License-Identifier: BSD-3-Clause
"""`AtenToCortexMPass`: replaces calls on integers by operators of cortex_m. Each operator is lowered by one function
here."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

import sdk.backends.cortex_m.ops.operators  # noqa: F401  (registers the operators)
from sdk.backends.cortex_m.library.cmsis_nn import Backend
from sdk.backends.cortex_m.ops.fixed_point import quantize_multiplier
from sdk.backends.cortex_m.ops.images import to_physical_order
from sdk.backends.cortex_m.ops.softmax import softmax_parameters
from sdk.backends.cortex_m.passes.operators import FUNCTIONS
from sdk.backends.cortex_m.passes.qparams import QuantArgs, input_of, output_of
from sdk.backends.cortex_m.target_config import CortexMTargetConfig
from sdk.backends.graph.names import arguments_of
from sdk.backends.transforms.aten_to_dialect_pass import AtenToDialectPass, DialectNodeSpec
from sdk.backends.transforms.constants import get_constant
from sdk.backends.transforms.utils import create_constant_placeholder
from sdk.exir import memory
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cortex_m = exir_ops.edge.cortex_m
_HEADROOM = 20
_INT32 = torch.iinfo(torch.int32)


class AtenToCortexMPass(AtenToDialectPass):
    """Replaces the calls that `FoldAndAnnotateQParamsPass` has folded. `target_config` decides whether the weights of
    linear layers are summed up ahead of time."""

    def __init__(self, exported_program: ExportedProgram, target_config: CortexMTargetConfig) -> None:
        super().__init__(exported_program)
        self.target_config = target_config

    def call(self, graph_module: GraphModule) -> PassResult:
        result = super().call(graph_module)
        for node in graph_module.graph.find_nodes(op="call_function", target=_aten.max_pool2d.default):
            _return_indices(node)
        return result

    def constant(self, node: Node, name: str, value: Tensor) -> Node:
        """Adds a constant to the program, named after the call that reads it."""
        graph = node.graph
        with graph.inserting_before(next(iter(graph.nodes))):
            full_name = f"{node.name}_{name}"
            return create_constant_placeholder(self.exported_program, graph, full_name, InputKind.PARAMETER, value)

    def value_of(self, node: Node) -> Tensor:
        """The tensor of a constant."""
        value = get_constant(self.exported_program, node)
        assert value is not None  # otherwise the call would not have been folded
        return value


def _return_indices(node: Node) -> None:
    """Undoes `RemoveGetItemPass` for a pool that stays in floats, whose kernel returns indices too."""
    value = node.meta["val"]
    with node.graph.inserting_before(node):
        pool = node.graph.call_function(_aten.max_pool2d_with_indices.default, node.args, node.kwargs)
        values = node.graph.call_function(operator.getitem, (pool, 0))
    pool.meta, values.meta = {**node.meta, "val": (value, value.to(torch.int64))}, dict(node.meta)
    node.replace_all_uses_with(values)
    node.graph.erase_node(node)


def _scratch(node: Node) -> Node:
    with node.graph.inserting_before(node):
        scratch = node.graph.call_function(memory.alloc, (((0,), torch.uint8),))
    scratch.meta["val"] = node.meta["val"].new_empty((0,), dtype=torch.uint8)
    return scratch


def _parameters(node: Node, operands: int) -> tuple[QuantArgs, ...] | None:
    """The parameters of the operands of a folded call, and of its result; None if the call was not folded."""
    every = (*(input_of(node, position) for position in range(operands)), output_of(node))
    found = tuple(each for each in every if each is not None)
    return found if len(found) == len(every) else None


def _scales(first: QuantArgs, weight: QuantArgs, output: QuantArgs, count: int) -> tuple[list[int], list[int]]:
    pairs = [quantize_multiplier(first.scale * scale / output.scale) for scale in weight.scales(count)]
    multipliers, shifts = zip(*pairs, strict=True)
    return list(multipliers), list(shifts)


def _bias(dialect_pass: AtenToCortexMPass, node: Node, count: int) -> Tensor | None:
    """The bias in units of the int32 accumulators, whose scale differs by channel."""
    operand = node.args[2] if len(node.args) > 2 else None
    if not isinstance(operand, Node):
        return None
    value = dialect_pass.value_of(operand)
    if not value.dtype.is_floating_point:
        given = input_of(node, 2)
        assert given is not None  # otherwise the bias would be float
        value = value.double() * torch.tensor(given.scales(count), dtype=torch.float64)
    first, weight = input_of(node, 0), input_of(node, 1)
    assert first is not None and weight is not None
    steps = torch.tensor(weight.scales(count), dtype=torch.float64) * first.scale
    return (value.double() / steps).round().clamp(_INT32.min, _INT32.max).to(torch.int32)


@AtenToCortexMPass.register_dialect_substitution(_aten.linear.default)
def _linear(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 2)
    if found is None:
        return None
    assert isinstance(dialect_pass, AtenToCortexMPass)
    first, weight, output = found
    weights = dialect_pass.value_of(node.args[1])
    bias = _bias(dialect_pass, node, weights.shape[0])
    added: list[Node | None] = [None, None]
    if dialect_pass.target_config.backend == Backend.MVE:
        sums = -first.zp * weights.sum(1, dtype=torch.int32) + (0 if bias is None else bias)
        added[1] = dialect_pass.constant(node, "kernel_sum", sums.to(torch.int32).reshape(1, -1))
    elif bias is not None:
        added[0] = dialect_pass.constant(node, "bias", bias)
    scales = _scales(first, weight, output, weights.shape[0] if weight.per_channel else 1)
    offsets = (-first.zp, 0, output.zp)
    return DialectNodeSpec(
        _cortex_m.quantized_linear.default, (*node.args[:2], *added, *offsets, *scales, output.qmax, output.qmin)
    )


@AtenToCortexMPass.register_dialect_substitution(_aten.convolution.default)
def _convolution(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 2)
    if found is None:
        return None
    assert isinstance(dialect_pass, AtenToCortexMPass)
    first, weight, output = found
    given = arguments_of(node)
    groups, transposed = given["groups"], given["transposed"]
    weights = dialect_pass.value_of(given["weight"])
    outputs = weights.shape[1] if transposed else weights.shape[0]
    is_depthwise = not transposed and weights.shape[1] == 1 and groups > 1
    order = (1, 2, 3, 0) if transposed or is_depthwise else (0, 2, 3, 1)
    packed = dialect_pass.constant(node, "weight_nhwc", weights.permute(order).contiguous())
    bias = _bias(dialect_pass, node, outputs)
    multipliers, shifts = (
        dialect_pass.constant(node, name, torch.tensor(values, dtype=torch.int32))
        for name, values in zip(("multiplier", "shift"), _scales(first, weight, output, outputs), strict=True)
    )
    places = [given["stride"], given["padding"], given["dilation"]]
    target, scratches = _cortex_m.quantized_conv2d.default, [_scratch(node)]
    if transposed:
        target = _cortex_m.quantized_transpose_conv2d.default
        places.insert(2, given["output_padding"])
        scratches.append(_scratch(node))
    elif is_depthwise:
        target = _cortex_m.quantized_depthwise_conv2d.default
        places.append(outputs // groups)
    operands = (given["input"], packed, None if bias is None else dialect_pass.constant(node, "bias", bias))
    scales = (-first.zp, output.zp, multipliers, shifts, output.qmin, output.qmax)
    return DialectNodeSpec(target, (*operands, *places, *scales, *scratches))


@AtenToCortexMPass.register_dialect_substitution(_aten.bmm.default)
def _bmm(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 2)
    if found is None:
        return None
    first, second, output = found
    with node.graph.inserting_before(node):
        transposed = node.graph.call_function(_cortex_m.transpose.default, (node.args[1], [0, 2, 1]))
    transposed.meta["val"] = node.args[1].meta["val"].permute(0, 2, 1).contiguous()
    scales = quantize_multiplier(first.scale * second.scale / output.scale)
    offsets = (-first.zp, transposed, -second.zp, output.zp)
    return DialectNodeSpec(_cortex_m.quantized_batch_matmul.default, (node.args[0], *offsets, *scales, _scratch(node)))


@AtenToCortexMPass.register_dialect_substitution(_aten.add.Tensor)
def _add(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 2)
    if found is None:
        return None
    *operands, output = found
    twice = 2 * max(each.scale for each in operands)
    arguments: list[Any] = []
    for operand, args in zip(node.args, operands, strict=True):
        arguments += [operand, args.zp, *quantize_multiplier(args.scale / twice)]
    scales = quantize_multiplier(twice / (output.scale * (1 << _HEADROOM)))
    return DialectNodeSpec(_cortex_m.quantized_add.default, (*arguments, output.zp, *scales, output.qmin, output.qmax))


@AtenToCortexMPass.register_dialect_substitution(_aten.mul.Tensor)
def _mul(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 2)
    if found is None:
        return None
    first, second, output = found
    scales = quantize_multiplier(first.scale * second.scale / output.scale)
    operands = (node.args[0], first.zp, node.args[1], second.zp)
    return DialectNodeSpec(_cortex_m.quantized_mul.default, (*operands, output.zp, *scales))


@AtenToCortexMPass.register_dialect_substitution(_aten._softmax.default)
def _softmax(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 1)
    if found is None:
        return None
    first, output = found
    scales = softmax_parameters(float(first.scale))
    return DialectNodeSpec(_cortex_m.softmax.default, (*node.args[:2], first.zp, output.zp, *scales))


@AtenToCortexMPass.register_dialect_substitution(_aten.avg_pool2d.default)
def _avg_pool2d(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 1)
    if found is None:
        return None
    zero_point = found[0].zp
    given = arguments_of(node)
    source, padding = given["self"], _pair(given["padding"])
    if given["count_include_pad"] and any(padding):
        amounts = to_physical_order([0, 0, *padding], source.meta["val"])
        padded = torch.nn.functional.pad(source.meta["val"], (padding[1], padding[1], padding[0], padding[0]))
        with node.graph.inserting_before(node):
            source = node.graph.call_function(_cortex_m.pad.default, (source, amounts, amounts, zero_point))
        source.meta["val"] = padded.contiguous(memory_format=torch.channels_last)
        padding = [0, 0]
    places = (given["kernel_size"], given["stride"] or given["kernel_size"], padding)
    scales = quantize_multiplier(float(found[0].scale))
    return DialectNodeSpec(
        _cortex_m.quantized_avg_pool2d.default, (source, *places, zero_point, *scales, _scratch(node))
    )


@AtenToCortexMPass.register_dialect_substitution(_aten.max_pool2d.default)
def _max_pool2d(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 1)
    if found is None:
        return None
    first, output = found
    given = arguments_of(node)
    places = (given["kernel_size"], given["stride"] or given["kernel_size"], given["padding"], given["dilation"])
    limits = (output.qmin, output.qmax)
    return DialectNodeSpec(
        _cortex_m.quantized_max_pool2d.default,
        (node.args[0], *places, given["ceil_mode"], first.zp, output.zp, *limits),
    )


def _function(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 1)
    if found is None:
        return None
    assert isinstance(dialect_pass, AtenToCortexMPass)
    first, output = found
    numbers = (torch.arange(-128, 128).double() - first.zp) * first.scale
    values = FUNCTIONS[node.target](numbers, *node.args[1:], **node.kwargs)
    steps = (values / output.scale).round() + output.zp
    table = steps.nan_to_num(output.qmin).clamp(output.qmin, output.qmax).to(torch.int8)
    lut = dialect_pass.constant(node, "lut", table)
    return DialectNodeSpec(_cortex_m.quantized_activation.default, (node.args[0], lut))


for _target in FUNCTIONS:
    AtenToCortexMPass.register_dialect_substitution(_target)(_function)


def _choice(target: Any) -> Any:
    def choose(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
        return None if output_of(node) is None else DialectNodeSpec(target, node.args)

    return choose


for _name in ("minimum", "maximum"):
    AtenToCortexMPass.register_dialect_substitution(getattr(_aten, _name).default)(
        _choice(getattr(_cortex_m, _name).default)
    )


@AtenToCortexMPass.register_dialect_substitution(_aten.permute_copy.default)
def _permute(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    if output_of(node) is None:
        return None
    source, dims = node.args[:2]
    return DialectNodeSpec(_cortex_m.transpose.default, (source, [dim % len(dims) for dim in dims]))


@AtenToCortexMPass.register_dialect_substitution(_aten.constant_pad_nd.default)
def _pad(node: Node, dialect_pass: AtenToDialectPass) -> DialectNodeSpec | None:
    found = _parameters(node, 1)
    if found is None:
        return None
    given = arguments_of(node)
    tensor, widths = given["self"].meta["val"], list(given["pad"])
    if min(widths, default=0) < 0 or tensor.dim() > 4:
        return None
    amounts = [[0] * 4, [0] * 4]
    for position, width in enumerate(widths):
        amounts[position % 2][3 - position // 2] = width
    physical = [to_physical_order(each, tensor) for each in amounts]
    return DialectNodeSpec(_cortex_m.pad.default, (given["self"], *physical, found[1].quantized(given["value"])))


def _pair(values: Sequence[int]) -> list[int]:
    return list(values) if len(values) == 2 else [values[0]] * 2
