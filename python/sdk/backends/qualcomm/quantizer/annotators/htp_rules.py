# SPDX-License-Identifier: BSD-3-Clause
"""The functions that annotate each operator for the HTP, and the chips that support a scheme."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    QuantizationSpec,
    SharedQuantizationSpec,
)

from sdk.backends.qualcomm.quantizer.observers.concat_observer import ConcatObserver
from sdk.backends.qualcomm.quantizer.qconfig import QuantizationConfig, get_16a16w_qnn_ptq_config
from sdk.backends.qualcomm.quantizer.rules import (
    Annotate,
    annotate_binary,
    annotate_conv,
    annotate_sharing,
    annotate_single_in,
    annotate_single_in_single_out,
    fixed,
    is_float,
    limits_of,
    mark,
)
from sdk.backends.qualcomm.serialization.qc_schema import HtpArch, SocInfo
from sdk.backends.quantizer.patterns import ANNOTATION, is_annotated

_aten = torch.ops.aten


def _found(names: str) -> list[Any]:
    """Operators of ATen by their names, such as `add.Tensor`."""
    return [getattr(getattr(_aten, packet), kind) for packet, kind in (name.split(".") for name in names.split())]


def _unless_annotated(annotate: Annotate) -> Annotate:
    def once(node: Node, config: QuantizationConfig) -> None:
        if not is_annotated(node):
            annotate(node, config)

    return once


def _norm(weight: Callable[[QuantizationConfig], Any], places: tuple[int, ...]) -> Annotate:
    """Annotates a normalisation: its operand, its weight and bias (the arguments `places`), and the result."""

    def annotate(node: Node, config: QuantizationConfig) -> None:
        operands = {node.args[0]: config.input_activation}
        for place, spec in zip(places, (weight(config), config.bias), strict=False):
            given = node.args[place] if len(node.args) > place else None
            if isinstance(given, Node) and not callable(spec):
                operands[given] = spec
        mark(node, operands, config.output_activation)

    return _unless_annotated(annotate)


def _is_16_bit(config: QuantizationConfig) -> bool:
    return config.input_activation is not None and config.input_activation.dtype == torch.int32


def _as_activation_below_16_bit(config: QuantizationConfig) -> Any:
    return config.weight if _is_16_bit(config) else config.input_activation


def _int16_with_16_bit(config: QuantizationConfig) -> Any:
    return get_16a16w_qnn_ptq_config().weight if _is_16_bit(config) else config.input_activation


def _concatenation(node: Node, config: QuantizationConfig) -> None:
    if not is_float(node):
        return
    given, result = config.output_activation, None
    operands: dict[Any, Any] = {}
    if config.input_activation is not None and given is not None:
        parts: Any = node.args[0]
        for part in parts:
            found = part.meta.get(ANNOTATION)
            shares = found is not None and isinstance(found.output_qspec, SharedQuantizationSpec)
            operands[part] = SharedQuantizationSpec(part) if shares else config.input_activation
        result = QuantizationSpec(
            dtype=given.dtype,
            qscheme=given.qscheme,
            quant_min=given.quant_min,
            quant_max=given.quant_max,
            observer_or_fake_quant_ctr=ConcatObserver.with_args(node_name=node.name, graph=node.graph),
        )
    mark(node, operands, result)


def _parts(node: Node, config: QuantizationConfig) -> None:
    """Annotates splits, whose parts have the scale of the operand."""
    source = node.args[0]
    if not is_float(source):
        return
    assert isinstance(source, Node)
    spec = config.input_activation
    shared = None if spec is None else SharedQuantizationSpec((source, node))
    mark(node, {source: spec})
    for part in node.users:
        mark(part, {}, shared)


def _constant(node: Node, config: QuantizationConfig) -> None:
    if is_float(node):
        mark(node, {}, config.output_activation)


def _quotient(node: Node, config: QuantizationConfig) -> None:
    source, divisor = node.args[:2]
    given, result = config.input_activation, config.output_activation
    if isinstance(divisor, Node) or not is_float(source) or given is None or result is None:
        return annotate_binary(node, config)
    assert isinstance(source, Node)

    def parameters(observers: Any) -> tuple[torch.Tensor, torch.Tensor]:
        scale, zero_point = observers[0].calculate_qparams()
        return scale / divisor, zero_point

    low, high = limits_of(result)
    derived = DerivedQuantizationSpec(
        derived_from=[(source, node)],
        derive_qparams_fn=parameters,
        dtype=result.dtype,
        quant_min=low,
        quant_max=high,
        ch_axis=0,
        qscheme=result.qscheme,
    )
    mark(node, {source: given}, derived)
    return None


def _embedding(node: Node, config: QuantizationConfig) -> None:
    table = node.args[0]
    if not is_float(table):
        return
    if config.per_channel_embedding:
        mark(node, {table: config.weight}, config.input_activation)
    elif config.input_activation is not None:
        mark(node, {table: config.input_activation}, SharedQuantizationSpec((table, node)))


def _item(node: Node, config: QuantizationConfig) -> None:
    if is_float(node):
        source: Any = node.args[0]
        is_top = source.target == _aten.topk.default  # for QNN, the values have the scale of the operand
        mark(node, {}, SharedQuantizationSpec(source) if is_top else config.output_activation)


def _unit(node: Node, config: QuantizationConfig) -> None:
    """Annotates operators whose results are from 0 to 1."""
    if config.output_activation is not None and is_float(node):
        low, high = limits_of(config.output_activation)
        mark(node, {node.args[0]: config.input_activation}, fixed(config, 1 / (high - low + 1), 0))


def _tanh(node: Node, config: QuantizationConfig) -> None:
    result = fixed(config, 1 / 32768, 32768) if _is_16_bit(config) else config.output_activation
    if is_float(node):
        mark(node, {node.args[0]: config.input_activation}, result)


def _written(place: int) -> Annotate:
    """Annotates writes into a tensor: the result has the scale of the written value. The tensor itself may be state,
    which has no scale."""

    def annotate(node: Node, config: QuantizationConfig) -> None:
        value = node.args[place]
        if config.input_activation is not None and is_float(value):
            shared = SharedQuantizationSpec((value, node))
            mark(node, {value: config.input_activation}, shared)

    return _unless_annotated(annotate)


def _share(*places: int) -> Annotate:
    """Annotates the first operand, the operands at `places` and the result with one scale."""

    def annotate(node: Node, config: QuantizationConfig) -> None:
        source = node.args[0]
        if config.input_activation is None or not is_float(source):
            return
        shared = SharedQuantizationSpec((source, node))
        others = [node.args[place] for place in places if len(node.args) > place and is_float(node.args[place])]
        operands: dict[Any, Any] = {**dict.fromkeys(others, shared), source: config.input_activation}
        mark(node, operands, shared if is_float(node) else None)

    return _unless_annotated(annotate)


def _stack(node: Node, config: QuantizationConfig) -> None:
    parts: Any = node.args[0]
    if config.input_activation is None or not is_float(node):
        return
    shared = SharedQuantizationSpec((parts[0], node))
    mark(node, {**dict.fromkeys(parts, shared), parts[0]: config.input_activation}, shared)


def _all_floats(node: Node, config: QuantizationConfig) -> None:
    """Annotates all float operands and the result."""
    if config.input_activation is None:
        return
    operands = {each: config.input_activation for each in node.args if is_float(each)}
    mark(node, operands, config.output_activation if is_float(node) else None)


def _product(node: Node, config: QuantizationConfig) -> None:
    """A matrix multiplication: with 16-bit activations, the second operand is int16 and symmetric."""
    first, second = node.args[:2]
    if is_float(first):
        operands = {first: config.input_activation}
        operands.setdefault(second, _int16_with_16_bit(config))
        mark(node, operands, config.output_activation)


def _linear(node: Node, config: QuantizationConfig) -> None:
    annotate_conv(node, config)
    # The parts of torch.nn.MultiheadAttention are found as linear layers.
    node.meta["source_fn_stack"] = [(node, torch.nn.Linear)]


_SINGLE = (
    "abs.default amax.default amin.default asin.default atan.default adaptive_avg_pool1d.default "
    "adaptive_avg_pool2d.default avg_pool1d.default avg_pool2d.default avg_pool3d.default "
    "adaptive_avg_pool3d.default to.dtype ceil.default col2im.default im2col.default cos.default cumsum.default "
    "elu.default exp.default floor.default gelu.default hardswish.default hardswish_.default "
    "linalg_vector_norm.default log.default log_softmax.int max_pool2d.default max_pool2d_with_indices.default "
    "adaptive_max_pool2d.default neg.default pad.default reflection_pad1d.default reflection_pad2d.default "
    "pow.Tensor_Tensor square.default mean.default mean.dim relu.default relu_.default clamp.default "
    "clamp_min.default clamp_max.default hardtanh.default hardtanh_.default rsqrt.default round.default "
    "round.decimals scaled_dot_product_attention.default sign.default sin.default softmax.int _softmax.default "
    "_safe_softmax.default sqrt.default flip.default narrow.default select.int slice.Tensor "
    "upsample_bicubic2d.vec upsample_bilinear2d.vec upsample_nearest2d.vec"
)

_BINARY = (
    "add.Tensor add_.Tensor __and__.Tensor logical_and.default cdist.default eq.Tensor floor_divide.default "
    "gt.Tensor ge.Tensor grid_sampler.default lt.Tensor le.Tensor max.other maximum.default min.other "
    "minimum.default mul.Tensor mul_.Tensor ne.Tensor bitwise_or.Tensor __or__.Tensor prelu.default "
    "sum.dim_IntList sub.Tensor rsub.Tensor bitwise_xor.Tensor __xor__.Tensor"
)

_SHARING = (
    "channel_shuffle.default gather.default index.Tensor index_select.default permute.default swapaxes.default "
    "transpose.int pixel_shuffle.default pixel_unshuffle.default expand.default repeat.default expand_as.default "
    "flatten.using_ints reshape.default squeeze.default squeeze.dim squeeze.dims squeeze_copy.dims unflatten.int "
    "_unsafe_view.default unsqueeze.default unsqueeze_copy.default view_copy.default view.default"
)

_LAYERS = (
    "conv1d.default conv2d.default conv2d.padding convolution.default conv3d.default conv_transpose1d.default "
    "conv_transpose2d.input conv_transpose3d.input"
)

_GROUPS: tuple[tuple[str, Annotate], ...] = (
    (_SINGLE, annotate_single_in_single_out),
    (_BINARY, annotate_binary),
    (_SHARING, annotate_sharing),
    (_LAYERS, annotate_conv),
    ("argmax.default argmin.default max.dim min.dim", annotate_single_in),
    ("batch_norm.default instance_norm.default", _norm(_as_activation_below_16_bit, (1, 2))),
    ("group_norm.default", _norm(lambda config: config.weight, (2, 3))),
    ("layer_norm.default native_layer_norm.default", _norm(_int16_with_16_bit, (2, 3))),
    ("rms_norm.default", _norm(lambda config: config.input_activation, (2,))),
    ("cat.default concat.default", _unless_annotated(_concatenation)),
    (
        "split_with_sizes.default split_with_sizes_copy.default split.Tensor chunk.default unbind.int",
        _unless_annotated(_parts),
    ),
    (
        "arange.default arange.start arange.start_step scalar_tensor.default full_like.default full.default "
        "zeros.default zeros_like.default ones.default ones_like.default rand.default randn.default",
        _unless_annotated(_constant),
    ),
    ("div.Tensor divide.Tensor", _unless_annotated(_quotient)),
    ("embedding.default", _unless_annotated(_embedding)),
    ("sigmoid.default hardsigmoid.default hardsigmoid_.default", _unless_annotated(_unit)),
    ("tanh.default", _unless_annotated(_tanh)),
    ("index_copy.default index_copy_.default", _written(3)),
    ("index_put.default index_put_.default", _written(2)),
    ("slice_scatter.default", _share(1)),
    ("scatter.src", _share(3)),
    ("topk.default", _share()),
    ("stack.default", _unless_annotated(_stack)),
    ("masked_fill.Tensor where.self where.ScalarSelf", _unless_annotated(_all_floats)),
    ("bmm.default matmul.default mm.default", _unless_annotated(_product)),
    ("linear.default", _unless_annotated(_linear)),
)

RULES: Final[dict[Any, Annotate]] = {
    **{each: annotate for names, annotate in _GROUPS for each in _found(names)},
    operator.getitem: _unless_annotated(_item),
}
"""The function that annotates the calls of an operator, by operator."""


@dataclass(frozen=True)
class _Need:
    """A scheme that older chips lack."""

    least: HtpArch
    what: str


_BLOCKS = _Need(HtpArch.V69, "weights with a scale for each block")
_WIDE = _Need(HtpArch.V73, "16-bit activations with 16-bit weights")


def needs(node: Node, chip: SocInfo) -> str | None:
    """Why a chip does not support an annotated layer; None if it does."""
    annotation = node.meta.get(ANNOTATION)
    if annotation is None or len(node.args) < 2:
        return None
    given, weight = (annotation.input_qspec_map.get(each) for each in node.args[:2])
    if not isinstance(weight, QuantizationSpec):
        return None
    found = []
    if "block_size" in getattr(getattr(weight.observer_or_fake_quant_ctr, "p", None), "keywords", {}):
        found.append(_BLOCKS)
    is_16 = isinstance(given, QuantizationSpec) and given.dtype == torch.int32
    if is_16 and weight.dtype == torch.int16:
        found.append(_WIDE)
    missing = [need for need in found if chip.htp_info.htp_arch < need.least]
    if not missing:
        return None
    names = ", ".join(f"{need.what} need an HTP of {need.least.name} or later" for need in missing)
    return f"{names}; the {chip.soc_model.name} has {chip.htp_info.htp_arch.name}"
