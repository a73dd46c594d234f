# SPDX-License-Identifier: BSD-3-Clause
"""`CortexMQuantizer`, for torchao's PT2E.

quantizer = CortexMQuantizer()
prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
prepared(*inputs)  # with inputs that are like those of the application
quantized = convert_pt2e(prepared)
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationConfig,
    SharedQuantizationSpec,
    get_input_act_qspec,
    get_output_act_qspec,
)

from sdk.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from sdk.backends.cortex_m.quantizer.quantization_configs import (
    INT8_PER_CHANNEL_CONFIG,
    INT8_PER_TENSOR_CONFIG,
    SOFTMAX_OUTPUT_FIXED_QSPEC,
)
from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.patterns import (
    ACTIVATIONS,
    ADDITIONS,
    ANNOTATION,
    CONVOLUTIONS,
    JOINTS,
    LINEAR,
    PRODUCTS,
    SHARING,
    TRANSPOSED,
    annotate_binary,
    annotate_part,
    annotate_weighted,
    is_annotated,
    share_scale,
    turn_numbers_into_tensors,
)
from sdk.backends.quantizer.recurrent import UNROLLED, unroll

_aten = torch.ops.aten

_LIMITS = (*ACTIVATIONS, _aten.clamp.default, _aten.clamp_.default)
_NAMES = (
    "sigmoid",
    "tanh",
    "silu",
    "hardsigmoid",
    "hardswish",
    "gelu",
    "elu",
    "leaky_relu",
    "relu",
    "hardtanh",
    "relu6",
)
FUNCTIONS = frozenset(
    getattr(_aten, name).default
    for each in (*_NAMES, "clamp", "exp", "abs", "neg", "sqrt", "rsqrt")
    for name in (each, f"{each}_")
    if hasattr(getattr(_aten, name, None), "default")
)
"""Functions of one variable, which become tables."""
SOFTMAXES = frozenset((_aten.softmax.int, _aten._softmax.default))
CHOICES = frozenset((_aten.minimum.default, _aten.maximum.default))
MOVES = SHARING - {_aten.mean.default, _aten.mean.dim, _aten.upsample_bilinear2d.vec} | {
    _aten.constant_pad_nd.default,
    _aten.pad.default,
    _aten.dropout.default,
    _aten.contiguous.default,
    _aten.clone.default,
}
"""Operators that keep the scale of their operand. If the operand of a pool is not quantised, both get one scale."""
POOLS = frozenset((_aten.avg_pool2d.default, _aten.max_pool2d.default))


class CortexMQuantizer(BackendQuantizer):
    """Annotates what cortex_m has kernels for: convolutions with a scale for each output channel, linear layers with
    one, and other operators. Everything else stays in floats."""

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Replaces recurrent layers by their time steps, means over images by pools, `matmul` by `bmm`, and number
        operands by tensors."""
        super().transform_for_annotation(model)
        unroll(model)
        for node in model.graph.nodes:
            node.meta.pop(UNROLLED, None)  # the gates and the states are quantised as other operators are
        model = CortexMPassManager(None).transform_for_annotation(model)
        turn_numbers_into_tensors(model)
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates and returns `model`."""
        for node in model.graph.nodes:
            if node.op == "call_function" and not is_annotated(node):
                _annotate(node)
        for node in model.graph.nodes:
            if is_annotated(node):
                _keep_fixed_scales(node)
        return model

    def validate(self, model: GraphModule) -> None:
        """Does nothing: every annotation is one that the passes support."""


def _annotate(node: Node) -> bool:
    config = INT8_PER_TENSOR_CONFIG
    if node.target in (*CONVOLUTIONS, *TRANSPOSED):
        return annotate_weighted(node, INT8_PER_CHANNEL_CONFIG, _everything, _LIMITS)
    if node.target in LINEAR:
        return annotate_weighted(node, config, _everything, _LIMITS)
    if node.target in ADDITIONS:
        return annotate_binary(node, config, _everything, _LIMITS)
    if node.target in PRODUCTS:
        return annotate_binary(node, config, _everything, ())
    if node.target in JOINTS:
        return annotate_part(node, config, _everything)
    if node.target in SOFTMAXES:
        return _annotate_one(node, node.args[:1], config, SOFTMAX_OUTPUT_FIXED_QSPEC)
    if node.target is _aten.bmm.default:
        return _annotate_one(node, node.args[:2], config, get_output_act_qspec(config))
    if node.target in FUNCTIONS:
        return _annotate_one(node, node.args[:1], config, get_output_act_qspec(config))
    if node.target in CHOICES:
        return _annotate_shared(node, node.args[:2], config)
    if node.target in MOVES:
        return share_scale(node) or (node.target in POOLS and _annotate_shared(node, node.args[:1], config))
    return False


def _keep_fixed_scales(node: Node) -> None:
    """Lets a call read the result of a softmax with the fixed scale of probabilities, also after moves."""
    specs = node.meta[ANNOTATION].input_qspec_map
    for operand in specs:
        source = operand
        while source.target in MOVES and isinstance(source.args[0], Node):
            source = source.args[0]
        known = source.meta.get(ANNOTATION)
        if known is not None and known.output_qspec is SOFTMAX_OUTPUT_FIXED_QSPEC:
            specs[operand] = SharedQuantizationSpec(operand)


def _everything(node: Node) -> bool:
    return True


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _annotate_one(node: Node, operands: Any, config: QuantizationConfig, output: Any) -> bool:
    if not all(map(_is_float, (node, *operands))):
        return False
    specs = dict.fromkeys(operands, get_input_act_qspec(config))
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=specs, output_qspec=output, _annotated=True)
    return True


def _annotate_shared(node: Node, operands: Any, config: QuantizationConfig) -> bool:
    """Gives the operands and the result one scale."""
    if not _annotate_one(node, operands, config, None):
        return False
    first = operands[0]
    annotation = node.meta[ANNOTATION]
    annotation.input_qspec_map |= {
        other: SharedQuantizationSpec((first, node)) for other in operands[1:] if other is not first
    }
    annotation.output_qspec = SharedQuantizationSpec((first, node))
    return True
