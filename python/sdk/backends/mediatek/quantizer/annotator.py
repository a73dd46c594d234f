# SPDX-License-Identifier: BSD-3-Clause
"""Annotates captured graphs for MediaTek: inputs, weights and results. An operand has the scale with which it was
computed; operators that are not annotated keep the scale of their operand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.fx import Graph, Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

from sdk.backends.mediatek.quantizer.qconfig import QuantizationConfig
from sdk.backends.quantizer.aliases import is_written
from sdk.backends.quantizer.patterns import ANNOTATION, is_annotated

_aten = torch.ops.aten

Annotator = Callable[[Node, QuantizationConfig], None]

OP_TO_ANNOTATOR: dict[Any, Annotator] = {}
"""The function that annotates the calls of an operator, by operator."""

_AFFINE = (_aten.conv1d.default, _aten.conv2d.default, _aten.linear.default)

_ARITHMETIC = tuple(
    getattr(getattr(_aten, name), kind)
    for name in ("add", "add_", "div", "div_", "divide", "mul", "mul_", "rsub", "sub", "sub_")
    for kind in ("Scalar", "Tensor")
)

_OTHERS = (
    _aten.bmm.default, _aten.gelu.default, _aten.group_norm.default, _aten.layer_norm.default,
    _aten.leaky_relu.default, _aten.matmul.default, _aten.pow.Scalar, _aten.pow.Tensor_Scalar,
    _aten.pow.Tensor_Tensor, _aten.prelu.default, _aten.silu.default,
)  # fmt: skip

_SOFTMAXES = (_aten._safe_softmax.default, _aten._softmax.default, _aten.softmax.int)

_ACTIVATIONS = (_aten.relu.default, _aten.relu_.default, _aten.relu6.default)
"""Operators that are fused into the operator before them."""


def annotate(graph: Graph, quant_config: QuantizationConfig) -> None:
    """Annotates a graph."""
    for node in graph.nodes:
        _annotate_rms_norm(node, quant_config)
    for node in graph.nodes:
        _annotate_fused_activation(node, quant_config)
    for node in graph.nodes:
        if node.op == "placeholder":
            annotate_placeholder(node, quant_config)
        elif node.op == "call_function" and node.target in OP_TO_ANNOTATOR:
            OP_TO_ANNOTATOR[node.target](node, quant_config)


def register_annotator(ops: Iterable[Any]) -> Callable[[Annotator], Annotator]:
    """Makes a function annotate the calls of operators."""

    def decorator(annotator_fn: Annotator) -> Annotator:
        OP_TO_ANNOTATOR.update(dict.fromkeys(ops, annotator_fn))
        return annotator_fn

    return decorator


def annotate_placeholder(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates an input of the model if it is float32 and the model does not write to it."""
    if not is_annotated(node):
        if _is_float(node) and not is_written(node):
            _annotation(node).output_qspec = quant_config.activation
        _mark(node)


@register_annotator(_AFFINE)
def annotate_affine_ops(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates the weight and the result of a convolution or a linear layer."""
    if not is_annotated(node):
        _annotate_weight(node, quant_config)
        _annotation(node).output_qspec = quant_config.activation
        _mark(node)


@register_annotator((*_ARITHMETIC, *_OTHERS))
def annotate_output_qspec(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates the result of a call in float32, unless the call adds a mask of attention, whose range is infinite."""
    if not is_annotated(node) and not _is_masked(node) and _is_float(node):
        _annotation(node).output_qspec = quant_config.activation
        _mark(node)


@register_annotator((_aten.embedding.default,))
def annotate_embedding_op(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates the table of an embedding, whose rows are activations."""
    if not is_annotated(node):
        _annotation(node).input_qspec_map[node.args[0]] = quant_config.activation
        _mark(node)


def _is_masked(node: Node) -> bool:
    """Whether a call is an addition whose result only softmaxes read."""
    return (
        node.target == _aten.add.Tensor and bool(node.users) and all(each.target in _SOFTMAXES for each in node.users)
    )


def _annotate_fused_activation(node: Node, quant_config: QuantizationConfig) -> None:
    source = node.args[0] if node.op == "call_function" and node.target in _ACTIVATIONS else None
    if not isinstance(source, Node) or len(source.users) != 1 or is_annotated(source):
        return
    if source.target in _AFFINE:
        _annotate_weight(source, quant_config)
    elif source.target not in _ARITHMETIC:
        return
    _annotation(node).output_qspec = quant_config.activation
    _mark(source, node)


def _annotate_rms_norm(node: Node, quant_config: QuantizationConfig) -> None:
    """Annotates only the result of `x * rsqrt(mean(x * x) + eps)`, whose parts have too large a range."""
    if node.target != _aten.mul.Tensor:
        return
    for source, root in (node.args[:2], node.args[1::-1]):
        parts = _parts_of_norm(source, root)
        if parts and not any(map(is_annotated, (*parts, node))):
            _annotation(node).output_qspec = quant_config.activation
            _mark(*parts, node)
            return


def _parts_of_norm(source: Any, root: Any) -> list[Node]:
    total = _operand(root, _aten.rsqrt.default)
    mean = _operand(total, _aten.add.Tensor, _aten.add.Scalar)
    square = _operand(mean, _aten.mean.dim)
    if not isinstance(square, Node) or square.args[0] is not source:
        return []
    multiplied = square.target == _aten.mul.Tensor and square.args[1] is source
    powered = square.target == _aten.pow.Tensor_Scalar and square.args[1] == 2
    return [square, mean, total] if multiplied or powered else []


def _operand(node: Any, *targets: Any) -> Any:
    """The first operand of a node that calls one of the operators; None for other nodes."""
    return node.args[0] if isinstance(node, Node) and node.target in targets else None


def _annotate_weight(node: Node, quant_config: QuantizationConfig) -> None:
    weight = node.args[1]
    assert isinstance(weight, Node)
    _annotation(node).input_qspec_map[weight] = quant_config.weight
    _mark(weight)


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _annotation(node: Node) -> QuantizationAnnotation:
    found: QuantizationAnnotation = node.meta.setdefault(ANNOTATION, QuantizationAnnotation())
    return found


def _mark(*nodes: Node) -> None:
    for node in nodes:
        _annotation(node)._annotated = True
