# SPDX-License-Identifier: BSD-3-Clause
"""Annotates calls: how their operands are quantised, and whether the result has a separate scale or the scale of an
operand. The functions do not change calls that are annotated already."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    SharedQuantizationSpec,
)

from sdk.backends.qualcomm.quantizer.qconfig import QuantizationConfig
from sdk.backends.quantizer.patterns import ANNOTATION, is_annotated

Annotate = Callable[[Node, QuantizationConfig], None]


def is_float(node: Any) -> bool:
    """Whether an argument is a tensor of float32 or bfloat16, which observers read."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.bfloat16)


def mark(node: Node, operands: dict[Any, Any], result: Any = None) -> None:
    """Annotates a call."""
    given = {operand: spec for operand, spec in operands.items() if spec is not None}
    node.meta[ANNOTATION] = QuantizationAnnotation(input_qspec_map=given, output_qspec=result, _annotated=True)


def annotate_in_out_obs_sharing_op(node: Node, quantization_config: QuantizationConfig) -> None:
    """Lets the operand and the result use the operand's existing scale. If there is none, nothing is annotated."""
    source = node.args[0]
    if is_annotated(node) or not is_float(source):
        return
    assert isinstance(source, Node)
    found = source.meta.get(ANNOTATION)
    if found is not None and found._annotated and found.output_qspec is not None:
        shared = SharedQuantizationSpec(source)
        mark(node, {source: shared}, shared)


def annotate_single_in_share_out(node: Node, quantization_config: QuantizationConfig) -> None:
    """Annotates the operand. The result has the same scale."""
    spec, source = quantization_config.input_activation, node.args[0]
    if is_annotated(node) or spec is None:
        return
    operands = {source: spec} if is_float(source) else {}
    result = SharedQuantizationSpec((source, node)) if is_float(node) else None
    if operands or result is not None:
        mark(node, operands, result)


def annotate_sharing(node: Node, quantization_config: QuantizationConfig) -> None:
    """Lets the result use the scale of the operand: the existing one, or a new one."""
    annotate_in_out_obs_sharing_op(node, quantization_config)
    annotate_single_in_share_out(node, quantization_config)


def annotate_single_in(node: Node, quantization_config: QuantizationConfig) -> None:
    """Only the operand is quantised: the result is an index, or a pair with one."""
    if not is_annotated(node) and quantization_config.input_activation is not None:
        mark(node, {node.args[0]: quantization_config.input_activation})


def annotate_single_in_single_out(node: Node, quantization_config: QuantizationConfig) -> None:
    """The operand and the result have their own scales."""
    _annotate_operands(node, quantization_config, 1)


def annotate_binary(node: Node, quantization_config: QuantizationConfig) -> None:
    """Both operands and the result have their own scales."""
    _annotate_operands(node, quantization_config, 2)


def _annotate_operands(node: Node, config: QuantizationConfig, count: int) -> None:
    if is_annotated(node):
        return
    operands = {each: config.input_activation for each in node.args[:count] if is_float(each)}
    result = config.output_activation if is_float(node) else None
    if (operands and config.input_activation is not None) or result is not None:
        mark(node, operands, result)


def annotate_conv(node: Node, quantization_config: QuantizationConfig) -> None:
    """A layer: its input, weight and bias, and the result."""
    if is_annotated(node):
        return
    given, weight, *rest = node.args
    operands: dict[Any, Any] = {given: quantization_config.input_activation, weight: weight_of(quantization_config)}
    if rest and isinstance(rest[0], Node):
        bias = quantization_config.bias
        operands[rest[0]] = bias(node) if callable(bias) else bias
    mark(node, operands, quantization_config.output_activation)


def weight_of(config: QuantizationConfig) -> QuantizationSpec | None:
    """The specification of a weight, with the size of its blocks."""
    if config.block_size is None or config.weight is None:
        return config.weight
    given: Any = config.weight.observer_or_fake_quant_ctr
    # torchao does not understand a partial call of a partial call.
    observer = given.p.func.with_args(**given.p.keywords, block_size=tuple(config.block_size))
    return dataclasses.replace(config.weight, observer_or_fake_quant_ctr=observer)


def fixed(config: QuantizationConfig, scale: float, zero_point: int) -> FixedQParamsQuantizationSpec | None:
    """A result whose range does not depend on the inputs."""
    given = config.output_activation
    if given is None:
        return None
    low, high = limits_of(given)
    return FixedQParamsQuantizationSpec(given.dtype, scale, zero_point, low, high, torch.per_tensor_affine)


def limits_of(spec: QuantizationSpec) -> tuple[int, int]:
    """The range of integers of a specification."""
    info = torch.iinfo(spec.dtype)
    return (
        info.min if spec.quant_min is None else spec.quant_min,
        info.max if spec.quant_max is None else spec.quant_max,
    )
