# SPDX-License-Identifier: BSD-3-Clause
"""Annotates captured graphs for Samsung. An annotation says which scale each operand and the result of a call have:
their own, or a *shared* one, where the NPU gives the operator one scale for all.

Operators that only move or select elements share the scale of their operand; additions and multiplications of two
tensors share one scale with their operands, except additions that read the result of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx import Graph, Node
from torchao.quantization.pt2e import FixedQParamsObserver
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, SharedQuantizationSpec

from sdk.backends.quantizer.aliases import is_written
from sdk.backends.quantizer.patterns import ANNOTATION, is_annotated
from sdk.backends.samsung.quantizer.qconfig import QuantizationConfig

_aten = torch.ops.aten

Annotator = Callable[[Node, QuantizationConfig], None]

OP_ANNOTATOR: dict[Any, Annotator] = {}
"""The function that annotates the calls of an operator, by operator."""

ADD_OPS = [_aten.add, _aten.add.Tensor, _aten.add_.Tensor]

_AFFINE = (_aten.conv1d.default, _aten.conv2d.default, _aten.linear.default)

_ACTIVATIONS = (
    _aten.relu.default, _aten.relu_.default, _aten.relu6.default, _aten.relu6_.default, _aten.hardtanh.default,
    _aten.hardtanh_.default,
)  # fmt: skip
"""Fused into the convolution or linear layer before them, if their lower limit is 0."""


def register_annotator(ops: Iterable[Any]) -> Callable[[Annotator], Annotator]:
    """Makes a function annotate the calls of operators."""

    def decorator(annotator: Annotator) -> Annotator:
        OP_ANNOTATOR.update(dict.fromkeys(ops, annotator))
        return annotator

    return decorator


def annotate(graph: Graph, quant_config: QuantizationConfig) -> None:
    """Annotates a graph."""
    for node in graph.nodes:
        _annotate_fused_activation(node, quant_config)
    for node in graph.nodes:
        if node.op == "placeholder":
            annotate_placeholder(node, quant_config)
        elif node.op == "call_function" and node.target in OP_ANNOTATOR and not is_annotated(node):
            OP_ANNOTATOR[node.target](node, quant_config)


def annotate_placeholder(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates an input of the model if it is float and the model does not write to it."""
    if not is_annotated(node):
        _set(node, {}, quant_config.output_activation if _is_float(node) and not is_written(node) else None)


def _annotate_fused_activation(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates a layer and the activation function after it. The result of the layer itself is not quantised."""
    if node.op != "call_function" or node.target not in _ACTIVATIONS:
        return
    if node.target in (_aten.hardtanh.default, _aten.hardtanh_.default) and (len(node.args) < 3 or node.args[1] != 0):
        return
    layer = node.args[0]
    if isinstance(layer, Node) and layer.target in _AFFINE and len(layer.users) == 1:
        _set(layer, _weighted(layer, quant_config), None)
        _set(node, {}, quant_config.output_activation)


@register_annotator(
    [
        _aten.div, _aten.div.Tensor, _aten.divide.Tensor, _aten.matmul.default, _aten.bmm.default,
        _aten.sum.dim_IntList,
    ]
)  # fmt: skip
def annotate_2in1out(node: Node, quant_config: QuantizationConfig) -> None:
    """Operands and the result have their own scales."""
    if _is_float(node.args[0]):
        operands = [each for each in node.args[:2] if _is_float(each)]
        _set(node, dict.fromkeys(operands, quant_config.input_activation), _output(node, quant_config))


@register_annotator(
    [
        _aten.sub, _aten.mul, _aten.sub.Tensor, _aten.mul.Tensor, _aten.sub_.Tensor, _aten.mul_.Tensor,
        _aten.rsub.Scalar, _aten.mul.Scalar,
    ]
)  # fmt: skip
def annotate_2in1out_with_shared_scale(node: Node, quant_config: QuantizationConfig) -> None:
    """Two tensors and the result share one scale. With a number, the tensor and the result have their own."""
    first, second = node.args[:2]
    if not _is_float(first):
        return
    if isinstance(first, Node) and isinstance(second, Node):
        _share(node, [first, second], quant_config)
    elif _has_scale(first, second):
        annotate_2in1out(node, quant_config)


@register_annotator(ADD_OPS)
def annotate_add_ops_with_shared_scale(node: Node, quant_config: QuantizationConfig) -> None:
    """Like other arithmetic, except that an addition that reads another one's result has a separate scale, because the
    range grows with each addition."""
    operands = [each for each in node.args[:2] if isinstance(each, Node)]
    if len(operands) == 2 and any(each.target in (*ADD_OPS, _aten.dropout.default) for each in operands):
        annotate_2in1out(node, quant_config)
    else:
        annotate_2in1out_with_shared_scale(node, quant_config)


@register_annotator(
    [
        _aten.ceil.default, _aten.clamp.default, *_ACTIVATIONS, _aten.cos.default, _aten.sin.default,
        _aten.tanh.default, _aten.hardswish.default, _aten.hardswish_.default, _aten.hardsigmoid.default,
        _aten.hardsigmoid_.default, _aten.mean.default, _aten.adaptive_avg_pool2d.default, _aten.avg_pool2d.default,
        _aten.leaky_relu.default, _aten.leaky_relu_.default, _aten.prelu.default, _aten.upsample_bilinear2d.vec,
        _aten.upsample_nearest2d.vec, _aten.mean.dim, _aten.sqrt.default, _aten.gelu.default,
        _aten.scaled_dot_product_attention.default, _aten.rsqrt.default, _aten.pow.Tensor_Scalar, _aten.topk.default,
    ]
)  # fmt: skip
def annotate_1in1out(node: Node, quant_config: QuantizationConfig) -> None:
    """The operand and the result have their own scales."""
    if _is_float(node.args[0]):
        _set(node, {node.args[0]: quant_config.input_activation}, quant_config.output_activation)


@register_annotator(
    [
        _aten.permute.default, _aten.view.default, _aten._unsafe_view.default, _aten.squeeze.default,
        _aten.squeeze.dim, _aten.squeeze_copy.dims, _aten.unsqueeze.default, _aten.unsqueeze_copy.default,
        _aten.transpose.int, _aten.expand.default, _aten.max_pool2d.default, _aten.max_pool2d_with_indices.default,
        _aten.reshape.default, _aten.select.int, _aten.flatten.using_ints, _aten.pad.default, _aten.slice.Tensor,
        _aten.to.dtype,
    ]
)  # fmt: skip
def annotate_1in1out_with_shared_scale(node: Node, quant_config: QuantizationConfig) -> None:
    """The result has the scale of the operand."""
    if _is_float(node.args[0]) and _is_float(node):
        _share(node, [node.args[0]], quant_config)


@register_annotator([_aten.softmax.int, _aten._softmax.default, _aten._safe_softmax.default, _aten.log_softmax.int])
def annotate_1in1out_with_shared_scale_for_softmax(node: Node, quant_config: QuantizationConfig) -> None:
    """A softmax keeps the existing scale of its operand. An addition before it stays float, because attention adds a
    mask with infinite elements."""
    source = node.args[0]
    if not isinstance(source, Node) or not _is_float(source):
        return
    if source.target in ADD_OPS:
        source.meta.pop(ANNOTATION, None)
    operands = {source: SharedQuantizationSpec(source)} if _origin(source) is source else {}
    _set(node, operands, quant_config.output_activation)


@register_annotator([_aten.index.Tensor])
def annotate_index(node: Node, quant_config: QuantizationConfig) -> None:
    """Selected elements keep the scale of the operand, if it has one."""
    if _is_float(node.args[0]) and _origin(node.args[0]) is not None:
        _share(node, [node.args[0]], quant_config)


@register_annotator([_aten.index_put.default, _aten.index_put_.default])
def annotate_index_put(node: Node, quant_config: QuantizationConfig) -> None:
    """The tensor, the tensor that is written into it, and the result share one scale."""
    if _is_float(node.args[0]):
        _share(node, [node.args[0], node.args[2]], quant_config)


@register_annotator([_aten.unbind.int])
def annotate_unbind(node: Node, quant_config: QuantizationConfig) -> None:
    """The parts have the scale of the tensor."""
    source = node.args[0]
    if isinstance(source, Node) and _is_float(source):
        _set(node, {source: quant_config.input_activation}, None)
        for part in node.users:
            _set(part, {}, SharedQuantizationSpec((source, node)))


@register_annotator(_AFFINE)
def annotate_conv2d(node: Node, quant_config: QuantizationConfig) -> None:
    """A convolution or a linear layer, whose input keeps an existing scale."""
    if not _is_float(node.args[1]):
        return
    operands = _weighted(node, quant_config)
    origin = _origin(node.args[0])
    if origin is not None:
        operands[node.args[0]] = SharedQuantizationSpec(origin)
    _set(node, operands, quant_config.output_activation)


@register_annotator([_aten.embedding.default])
def annotate_embedding(node: Node, quant_config: QuantizationConfig) -> None:
    """The table of an embedding has rows of activations."""
    if _is_float(node.args[0]):
        _set(node, {node.args[0]: quant_config.input_activation}, quant_config.output_activation)


@register_annotator([_aten.cat.default, _aten.concat.default, _aten.stack.default])
def annotate_cat(node: Node, quant_config: QuantizationConfig) -> None:
    """The parts and the result share one scale."""
    parts: Any = node.args[0]
    if all(map(_is_float, parts)):
        first = parts[0]
        shared = SharedQuantizationSpec((first, node))
        _set(node, {**dict.fromkeys(parts, shared), first: quant_config.input_activation}, shared)


@register_annotator([_aten.rms_norm.default])
def annotate_rms_norm(node: Node, quant_config: QuantizationConfig) -> None:
    """The operand, the weight and the result have their own scales."""
    _annotate_norm(node, 2, quant_config.input_activation, quant_config)


@register_annotator([_aten.group_norm.default])
def annotate_group_norm(node: Node, quant_config: QuantizationConfig) -> None:
    """The operand, the weight and the result have their own scales."""
    _annotate_norm(node, 2, quant_config.weight, quant_config)


@register_annotator([_aten.layer_norm.default])
def annotate_layer_norm(node: Node, quant_config: QuantizationConfig) -> None:
    """The operand, the weight and the result have their own scales."""
    _annotate_norm(node, 2, quant_config.input_activation, quant_config)


@register_annotator([_aten._native_batch_norm_legit_no_training.default])
def annotate_batch_norm(node: Node, quant_config: QuantizationConfig) -> None:
    """The operand, the weight and the result have their own scales."""
    _annotate_norm(node, 1, quant_config.input_activation, quant_config)


@register_annotator([_aten.sigmoid, _aten.sigmoid.default])
def annotate_sigmoid(node: Node, quant_config: QuantizationConfig) -> None:
    """The result has the range from 0 to 1 for all calibration data."""
    spec = quant_config.output_activation
    if spec is None or not _is_float(node):
        return
    info = torch.iinfo(spec.dtype)
    low = info.min if spec.quant_min is None else spec.quant_min
    high = info.max if spec.quant_max is None else spec.quant_max
    kind = {"dtype": spec.dtype, "qscheme": torch.per_tensor_affine, "quant_min": low, "quant_max": high}
    observer = FixedQParamsObserver.with_args(scale=1 / (high - low + 1), zero_point=low, **kind)
    result = QuantizationSpec(observer_or_fake_quant_ctr=observer, **kind)
    _set(node, {node.args[0]: quant_config.input_activation}, result)


def _annotate_norm(node: Node, weight: int, spec: QuantizationSpec | None, quant_config: QuantizationConfig) -> None:
    operands = {node.args[0]: quant_config.input_activation}
    if len(node.args) > weight and isinstance(node.args[weight], Node):
        operands[node.args[weight]] = spec
    _set(node, operands, quant_config.output_activation)


def _weighted(node: Node, quant_config: QuantizationConfig) -> dict[Any, Any]:
    """The specifications of the operands of a layer with a weight."""
    operands: dict[Any, Any] = {node.args[0]: quant_config.input_activation, node.args[1]: quant_config.weight}
    if len(node.args) > 2 and isinstance(node.args[2], Node) and quant_config.bias is not None:
        operands[node.args[2]] = quant_config.bias
    return operands


def _share(node: Node, operands: Iterable[Any], quant_config: QuantizationConfig) -> None:
    """Gives the operands and the result one scale. A single operand keeps an existing scale."""
    first, *others = operands
    shared = SharedQuantizationSpec((first, node))
    origin = None if others else _origin(first)
    spec = quant_config.input_activation if origin is None else SharedQuantizationSpec(origin)
    _set(node, {**dict.fromkeys(others, shared), first: spec}, shared)


def _origin(node: Any) -> Node | None:
    """Returns the call that a tensor gets its scale from: the first annotated one among a call and its first operands.
    Inputs of the model do not count, because their users give them the specification of activations."""
    while isinstance(node, Node) and node.op == "call_function":
        if ANNOTATION in node.meta:
            return node if node.meta[ANNOTATION].output_qspec is not None else None
        first = node.args[0] if node.args else None
        node = first[0] if isinstance(first, (list, tuple)) and first else first
    return None


def _has_scale(first: Any, second: Any) -> bool:
    """Whether arithmetic with a number is quantised: with an integer always, with a float if the tensor already is."""
    tensor, number = (first, second) if isinstance(first, Node) else (second, first)
    return not isinstance(number, float) or _origin(tensor) is not None


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.float16)


def _output(node: Node, quant_config: QuantizationConfig) -> QuantizationSpec | None:
    return quant_config.output_activation if _is_float(node) else None


def _set(node: Node, operands: dict[Any, Any], result: Any) -> None:
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=operands, output_qspec=result, _annotated=True)
