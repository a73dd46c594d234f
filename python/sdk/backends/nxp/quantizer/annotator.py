# SPDX-License-Identifier: BSD-3-Clause
"""Annotates captured graphs for Neutron. An operand has the scale with which it was computed, unless the operator
requires another one; operators that move, select or average elements keep the scale of their operand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.fx import Graph, Node
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    SharedQuantizationSpec,
)

from sdk.backends.graph.names import arguments_of
from sdk.backends.nxp.neutron.activations import is_fused_activation, relu_of
from sdk.backends.nxp.quantizer import qconfig
from sdk.backends.quantizer.aliases import is_written
from sdk.backends.quantizer.patterns import ANNOTATION, is_annotated, share_scale

_aten = torch.ops.aten


@dataclass(frozen=True)
class Scheme:
    """How tensors are quantised.

    Attributes:
        activation: The specification of activations.
        is_qat: Whether the model is trained with fake quantisation.
    """

    activation: QuantizationSpec
    is_qat: bool


Annotator = Callable[[Node, Scheme], None]


def annotate(graph: Graph, scheme: Scheme) -> None:
    """Annotates a graph."""
    for node in graph.nodes:
        if is_annotated(node):
            continue
        if node.op == "placeholder":
            if node.users and _is_float(node) and not is_written(node):
                _set(node, {}, scheme.activation)
        elif node.op == "call_function" and node.target in ANNOTATORS:
            ANNOTATORS[node.target](node, scheme)


def _shared(node: Node, scheme: Scheme) -> None:
    """Annotates one operand. The result keeps its scale."""
    share_scale(node)


def _fixed_scale(node: Any) -> FixedQParamsQuantizationSpec | None:
    """Returns the scale of a tensor if an operator fixes it, as sigmoid does, or None if the tensor is observed or not
    quantised."""
    annotation = node.meta.get(ANNOTATION)
    spec = annotation.output_qspec if annotation else None
    while isinstance(spec, SharedQuantizationSpec):
        at = spec.edge_or_node
        spec = (
            at.meta[ANNOTATION].output_qspec if isinstance(at, Node) else at[1].meta[ANNOTATION].input_qspec_map[at[0]]
        )
    return spec if isinstance(spec, FixedQParamsQuantizationSpec) else None


def _elementwise(node: Node, scheme: Scheme) -> None:
    """Annotates one operand. The result keeps its scale, unless an operator fixes that scale, because the result may
    exceed its range."""
    source = node.args[0]
    if isinstance(source, Node) and _fixed_scale(source) is not None:
        _set(node, {source: SharedQuantizationSpec(source)}, scheme.activation)
    else:
        _shared(node, scheme)


def _one_scale(node: Node, scheme: Scheme) -> None:
    """Like `_elementwise`, for operators that need one scale: the operand gets the scale of the result."""
    source = node.args[0]
    if isinstance(source, Node) and _fixed_scale(source) is not None:
        _set(node, {source: scheme.activation}, SharedQuantizationSpec((source, node)))
    else:
        _shared(node, scheme)


def _extended(node: Node, scheme: Scheme) -> None:
    """Annotates padding and averages. Their results may exceed a fixed range only if the padding is not 0 or the
    average has a divisor."""
    given = arguments_of(node)
    (_one_scale if given.get("value") or given.get("divisor_override") else _shared)(node, scheme)


def _single(node: Node, scheme: Scheme) -> None:
    """Annotates one operand. The result has a separate scale."""
    source = node.args[0]
    if _is_float(source):
        _set(node, {source: scheme.activation}, scheme.activation)


def _limited(node: Node, scheme: Scheme) -> None:
    """The result of an activation function that Neutron computes has a separate scale; other limits keep the scale of
    the operand."""
    (_single if relu_of(node) is not None else _elementwise)(node, scheme)


def _binary(node: Node, scheme: Scheme) -> None:
    operands = node.args[:2]
    if all(map(_is_float, operands)):
        _set(node, dict.fromkeys(operands, scheme.activation), scheme.activation)


def _alike(node: Node, scheme: Scheme) -> None:
    """Gives all operands and the result one scale: that of the first operand with an observed scale, or the fixed scale
    that all operands have, or else a new one."""
    operands: Any = node.args[0] if isinstance(node.args[0], (list, tuple)) else node.args[:2]
    if not all(map(_is_float, operands)):
        return
    known = [each for each in operands if each.meta.get(ANNOTATION) and each.meta[ANNOTATION].output_qspec is not None]
    fixed = [_fixed_scale(each) for each in operands]
    observed = [each for each in known if _fixed_scale(each) is None]
    if observed or (known and all(each == fixed[0] for each in fixed)):
        shared = SharedQuantizationSpec((observed or known)[0])
        _set(node, dict.fromkeys(operands, shared), shared)
    elif known or node.target == _aten.cat.default:
        shared = SharedQuantizationSpec((operands[0], node))
        _set(node, {**dict.fromkeys(operands, shared), operands[0]: scheme.activation}, shared)


def _fixed(scale: float, zero_point: int) -> Annotator:
    def annotator(node: Node, scheme: Scheme) -> None:
        source = node.args[0]
        if _is_float(source):
            _set(node, {source: scheme.activation}, qconfig.fixed(scale, zero_point))

    return annotator


def _matrices(node: Node, scheme: Scheme) -> None:
    """A matrix multiplication of two activations, which are both quantised with the zero point 0."""
    operands = node.args[:2]
    if all(map(_is_float, operands)):
        _set(node, dict.fromkeys(operands, qconfig.symmetric(scheme.is_qat)), scheme.activation)


def _prelu(node: Node, scheme: Scheme) -> None:
    source, slopes = node.args[:2]
    if _is_float(source) and _is_float(slopes):
        _set(node, {source: scheme.activation, slopes: qconfig.symmetric(scheme.is_qat)}, scheme.activation)


def _layer(node: Node, scheme: Scheme) -> None:
    """A layer with a weight and the activation function after it. The result of the layer itself is not quantised."""
    given = list(arguments_of(node).values())
    source, weight, bias = (given[1], given[2], given[0]) if node.target == _aten.addmm.default else (*given, None)[:3]
    bias = bias if node.target != _aten.mm.default else None
    if not _is_float(source) or not _is_float(weight) or weight.op != "get_attr":
        return
    is_convolution, is_transposed = node.target in _CONVOLUTIONS, node.target == _aten.conv_transpose2d.input
    spec = qconfig.channels(scheme.is_qat, int(is_transposed)) if is_convolution else qconfig.symmetric(scheme.is_qat)
    operands = {source: scheme.activation, weight: spec}
    if isinstance(bias, Node):
        repeats = given[6] if is_transposed else 1
        operands[bias] = qconfig.bias(node, source, weight, is_convolution, repeats)
    last = _last(node, scheme)
    _set(node, operands, scheme.activation if last is node else None)
    if last is not node:
        _set(last, {}, scheme.activation)


def _last(node: Node, scheme: Scheme) -> Node:
    """Returns the last node of a layer: the layer itself, the normalisation that training inserts after it, or the
    activation function."""
    last = node
    if scheme.is_qat and (found := _only_reader(last)) is not None and found.target in _NORMS:
        _set(found, {}, None)
        last = found
    found = _only_reader(last)
    return found if found is not None and is_fused_activation(found) else last


def _only_reader(node: Node) -> Node | None:
    readers = list(node.users)
    return readers[0] if len(readers) == 1 and not is_annotated(readers[0]) else None


def _set(node: Node, operands: dict[Any, Any], output: Any) -> None:
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=operands, output_qspec=output, _annotated=True)


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.is_floating_point()


_CONVOLUTIONS = (_aten.conv1d.default, _aten.conv2d.default, _aten.conv2d.padding, _aten.conv_transpose2d.input)

_NORMS = (_aten.batch_norm.default, _aten._native_batch_norm_legit_no_training.default)

ANNOTATORS: Final[dict[Any, Annotator]] = {
    **dict.fromkeys((*_CONVOLUTIONS, _aten.addmm.default, _aten.linear.default, _aten.mm.default), _layer),
    **dict.fromkeys(
        (
            _aten.adaptive_avg_pool2d.default, _aten.amax.default, _aten.amin.default, _aten.avg_pool1d.default,
            _aten.dropout.default, _aten.flatten.using_ints, _aten.max_pool1d.default,
            _aten.max_pool2d.default, _aten.mean.dim, _aten.permute.default, _aten.reshape.default,
            _aten.slice.Tensor, _aten.slice_copy.Tensor, _aten.squeeze.default, _aten.squeeze.dim,
            _aten.squeeze.dims, _aten.transpose.int, _aten.unsqueeze.default, _aten.upsample_bilinear2d.vec,
            _aten.upsample_nearest2d.vec, _aten.view.default,
        ),
        _shared,
    ),
    **dict.fromkeys((_aten.abs.default, _aten.exp.default, _aten.neg.default), _elementwise),
    **dict.fromkeys((_aten.sum.default, _aten.sum.dim_IntList), _one_scale),
    **dict.fromkeys((_aten.avg_pool2d.default, _aten.pad.default), _extended),
    **dict.fromkeys(
        (
            _aten.leaky_relu.default, _aten.leaky_relu_.default, _aten.log.default, _aten.relu.default,
            _aten.relu_.default,
        ),
        _single,
    ),
    **dict.fromkeys(
        (
            _aten.clamp.default, _aten.hardtanh.default, _aten.hardtanh_.default, _aten.relu6.default,
            _aten.relu6_.default,
        ),
        _limited,
    ),
    **dict.fromkeys((_aten.add.Tensor, _aten.mul.Tensor, _aten.sub.Tensor), _binary),
    **dict.fromkeys((_aten.cat.default, _aten.maximum.default, _aten.minimum.default), _alike),
    **dict.fromkeys((_aten.sigmoid.default, _aten.softmax.int), _fixed(1 / 256, -128)),
    **dict.fromkeys((_aten.tanh.default, _aten.tanh_.default), _fixed(1 / 128, 0)),
    _aten.bmm.default: _matrices,
    _aten.prelu.default: _prelu,
}  # fmt: skip
"""The function that annotates the calls of an operator, by operator."""
