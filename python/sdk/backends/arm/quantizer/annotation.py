# SPDX-License-Identifier: BSD-3-Clause
"""Which operators of a captured graph TOSA computes in integers, beyond those that all quantizers know."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationConfig,
    get_input_act_qspec,
    get_output_act_qspec,
)

from sdk.backends.quantizer.patterns import ANNOTATION, SHARING, annotate_part, is_annotated

_aten = torch.ops.aten

# Functions of one variable, which a table computes. Some have a form that writes in place.
_FUNCTIONS = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "celu", "clamp", "cos", "cosh", "elu", "erf"),
    *("exp", "expm1", "floor", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log10", "log1p"),
    *("log2", "mish", "neg", "reciprocal", "relu", "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin"),
    *("sinh", "softplus", "sqrt", "tan", "tanh", "trunc"),
)
_NAMES = (*_FUNCTIONS, *(f"{name}_" for name in _FUNCTIONS))
UNARY = frozenset(getattr(_aten, name).default for name in _NAMES if hasattr(getattr(_aten, name, None), "default")) | {
    _aten.pow.Tensor_Scalar
}
BINARY = frozenset((_aten.sub.Tensor, _aten.sub_.Tensor, _aten.maximum.default, _aten.minimum.default))
MATRICES = frozenset((_aten.matmul.default, _aten.bmm.default, _aten.mm.default))
SUMS = frozenset((_aten.mean.dim, _aten.sum.dim_IntList))
COMPARISONS = frozenset(
    getattr(getattr(_aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Tensor", "Scalar")
)
MOVES = SHARING | frozenset(
    (
        *(
            _aten.amax.default,
            _aten.amin.default,
            _aten.clone.default,
            _aten.constant_pad_nd.default,
            _aten.pad.default,
        ),
        *(_aten.contiguous.default, _aten.expand.default, _aten.flip.default, _aten.gather.default, _aten.index.Tensor),
        *(_aten.index_select.default, _aten.repeat.default, _aten.upsample_nearest2d.vec),
    )
)
"""What moves or selects elements, whose result has the scale of the operand."""


def annotate(node: Node, config: QuantizationConfig) -> bool:
    """Annotates the part that begins with a node, if TOSA computes it in integers. Returns whether it did."""
    if is_annotated(node):
        return False
    if annotate_part(node, config, lambda _: True):
        return True
    if config.input_activation is None or config.input_activation.is_dynamic:
        return False
    if node.target in UNARY and config.input_activation.dtype == torch.int8:
        return _annotate(node, node.args[:1], config)
    if node.target in BINARY or node.target in MATRICES:
        return _annotate(node, node.args[:2], config)
    if node.target is _aten.where.self:
        return _annotate(node, node.args[1:3], config)
    if node.target in COMPARISONS:
        return _annotate_comparison(node, config)
    return node.target in SUMS and _annotate(node, node.args[:1], config)


def _annotate(node: Node, operands: Any, config: QuantizationConfig) -> bool:
    if not all(map(_is_float, (node, *operands))):
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=dict.fromkeys(operands, get_input_act_qspec(config)),
        output_qspec=get_output_act_qspec(config),
        _annotated=True,
    )
    return True


def _annotate_comparison(node: Node, config: QuantizationConfig) -> bool:
    """The result is bool. A number beside the operand stays one."""
    operands = [each for each in node.args[:2] if isinstance(each, Node)]
    if not all(map(_is_float, operands)):
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=dict.fromkeys(operands, get_input_act_qspec(config)), _annotated=True
    )
    return True


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def annotate_edges(model: torch.fx.GraphModule, config: QuantizationConfig) -> None:
    """Annotates the inputs and the outputs of a model."""
    for node in model.graph.nodes:
        if node.op == "placeholder" and _is_float(node):
            node.meta[ANNOTATION] = QuantizationAnnotation(output_qspec=get_input_act_qspec(config), _annotated=True)
        elif node.op == "output":
            results = [result for result in node.all_input_nodes if _is_float(result)]
            node.meta[ANNOTATION] = QuantizationAnnotation(
                input_qspec_map=dict.fromkeys(results, get_output_act_qspec(config)), _annotated=True
            )
