# SPDX-License-Identifier: BSD-3-Clause
"""The precisions of QNN, as specifications of torchao. Activations of 16 bits are unsigned; PyTorch quantises them as
int32 with the range of uint16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.fx import Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import DerivedQuantizationSpec, QuantizationSpec

from sdk.backends.qualcomm.quantizer.observers.per_block_param_observer import (
    PerBlockParamFakeQuantize,
    PerBlockParamObserver,
)
from sdk.backends.qualcomm.quantizer.observers.per_channel_param_observer import PerChannelParamObserver
from sdk.backends.qualcomm.utils.constants import DEFAULT_EPS_8BIT, DEFAULT_EPS_16BIT

BiasSpec: TypeAlias = QuantizationSpec | Callable[[Node], DerivedQuantizationSpec] | None

_TRANSPOSED = (torch.ops.aten.conv_transpose2d.input, torch.ops.aten.conv_transpose3d.input)

_INT32 = (torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max)

_LARGEST_BIAS = 2**30
"""The largest integer of a bias. PyTorch quantises in float32, which rounds the largest int32 up to 2 ** 31."""


@dataclass(eq=True)
class QuantizationConfig:
    """How a layer is quantised. A field is None for tensors that stay float.

    Attributes:
        input_activation: Its input.
        output_activation: Its result.
        weight: Its weight.
        bias: Its bias, or a function that derives the specification from the scales of the layer.
        block_size: The size of a block if the weight has a scale for each block.
        per_channel_embedding: Whether the rows of an embedding's table have scales.
    """

    input_activation: QuantizationSpec | None
    output_activation: QuantizationSpec | None
    weight: QuantizationSpec | None
    bias: BiasSpec
    block_size: tuple[int, ...] | None = None
    per_channel_embedding: bool = False


def _activation(dtype: torch.dtype, symmetric: bool, observer: Any, eps: float, *, ranged: bool) -> QuantizationSpec:
    """Static activations. Without `ranged`, symmetric 8-bit activations have no explicit range, so that the zero point
    is 128; all others have the range of the dtype."""
    stored = torch.int32 if dtype == torch.uint16 else dtype
    limits: dict[str, Any] = {}
    if ranged or not symmetric:
        limits = {"quant_min": torch.iinfo(dtype).min, "quant_max": torch.iinfo(dtype).max}
    return QuantizationSpec(
        dtype=stored,
        qscheme=torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine,
        ch_axis=0 if symmetric else None,
        observer_or_fake_quant_ctr=observer.with_args(eps=eps),
        **limits,
    )


def _trained_activation(
    dtype: torch.dtype, symmetric: bool, observer: Any, eps: float | None, *, ranged: bool
) -> QuantizationSpec:
    stored = torch.int32 if dtype == torch.uint16 else dtype
    kind: dict[str, Any] = {"qscheme": torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine}
    if ranged:
        kind |= {"quant_min": torch.iinfo(dtype).min, "quant_max": torch.iinfo(dtype).max}
    made = observer if eps is None else observer.with_args(eps=eps)
    fake = FusedMovingAvgObsFakeQuantize.with_args(dtype=stored, observer=made, **kind)
    return QuantizationSpec(dtype=stored, ch_axis=0 if symmetric else None, observer_or_fake_quant_ctr=fake, **kind)


def _limits(dtype: torch.dtype) -> tuple[torch.dtype, int, int]:
    """The dtype in which weights of a dtype are stored, and their range."""
    narrow = {torch.int4: (torch.int8, -7, 7), torch.int2: (torch.int8, -2, 1)}
    return narrow.get(dtype) or (dtype, torch.iinfo(dtype).min + 1, torch.iinfo(dtype).max)


def _spec_of_weight(
    dtype: torch.dtype, observer: Any, ch_axis: int = 0, qscheme: torch.qscheme = torch.per_channel_symmetric
) -> QuantizationSpec:
    stored, low, high = _limits(dtype)
    return QuantizationSpec(
        dtype=stored,
        quant_min=low,
        quant_max=high,
        qscheme=qscheme,
        ch_axis=ch_axis,
        observer_or_fake_quant_ctr=observer,
    )


def _weight(dtype: torch.dtype, eps: float) -> QuantizationSpec:
    return _spec_of_weight(dtype, MinMaxObserver.with_args(eps=eps), qscheme=torch.per_tensor_symmetric)


def _channels(dtype: torch.dtype, ch_axis: int, eps: float) -> QuantizationSpec:
    return _spec_of_weight(dtype, PerChannelParamObserver.with_args(eps=eps), ch_axis)


def _trained(dtype: torch.dtype, eps: float, ch_axis: int | None = None) -> QuantizationSpec:
    """A weight that is quantised in training: with one scale, or one for each index of `ch_axis`."""
    stored, low, high = _limits(dtype)
    observer: Any = MovingAverageMinMaxObserver if ch_axis is None else MovingAveragePerChannelMinMaxObserver
    kind: dict[str, Any] = {
        "dtype": stored,
        "quant_min": low,
        "quant_max": high,
        "qscheme": torch.per_tensor_symmetric if ch_axis is None else torch.per_channel_symmetric,
    }
    channels = {} if ch_axis is None else {"ch_axis": ch_axis}
    fake = FusedMovingAvgObsFakeQuantize.with_args(observer=observer.with_args(eps=eps), **kind, **channels)
    return QuantizationSpec(ch_axis=ch_axis or 0, observer_or_fake_quant_ctr=fake, **kind)


def _bias(eps: float, is_qat: bool = False) -> QuantizationSpec:
    kind: dict[str, Any] = {"dtype": torch.int32, "quant_min": _INT32[0], "quant_max": _INT32[1]}
    kind["qscheme"] = torch.per_tensor_symmetric
    made: Any = MinMaxObserver.with_args(eps=eps)
    if is_qat:
        made = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver.with_args(eps=eps), **kind)
    return QuantizationSpec(observer_or_fake_quant_ctr=made, **kind)


def _magnitudes(bias: Any) -> Tensor | None:
    """The magnitudes of the elements of a bias; None if the bias is not an attribute of the model."""
    if not isinstance(bias, Node) or bias.op != "get_attr" or bias.graph.owning_module is None:
        return None
    found: Tensor = attrgetter(str(bias.target))(bias.graph.owning_module)
    return found.detach().abs().to(torch.float32)


def derived_bias(node: Node) -> DerivedQuantizationSpec:
    """The specification of a layer's bias: the scale of each channel is the input's times the weight's, or larger where
    the bias would not fit in 31 bits, as with 16-bit activations and weights."""
    largest = _magnitudes(node.args[2])

    def parameters(observers: Sequence[Any]) -> tuple[Tensor, Tensor]:
        (given, _), (weight, zero_point) = (observer.calculate_qparams() for observer in observers)
        scales = torch.mul(*torch.broadcast_tensors(given, weight)).to(torch.float32)
        # A transposed convolution has scales for the channels of one group.
        if node.target in _TRANSPOSED and len(node.args) > 6 and node.args[6] != 1:
            scales = scales.repeat_interleave(int(node.args[6]))
        observer = observers[1]
        if isinstance(observer, PerBlockParamFakeQuantize):
            observer = observer.activation_post_process
        if isinstance(observer, PerBlockParamObserver):
            scales = scales.view(scales.size(0), -1).amax(dim=-1) / observer.num_steps
        if largest is not None:
            scales = torch.maximum(scales, largest.to(scales.device) / _LARGEST_BIAS)
        return scales, torch.zeros(scales.shape, dtype=torch.int32, device=zero_point.device)

    given, weight = node.args[:2]
    assert isinstance(given, Node) and isinstance(weight, Node)
    return DerivedQuantizationSpec(
        derived_from=[(given, node), (weight, node)],
        derive_qparams_fn=parameters,
        dtype=torch.int32,
        quant_min=_INT32[0],
        quant_max=_INT32[1],
        ch_axis=0,
        qscheme=torch.per_channel_symmetric,
    )


def _static(
    activation: torch.dtype, weight: QuantizationSpec, symmetric: bool, observer: Any, eps: float
) -> QuantizationConfig:
    given = _activation(activation, symmetric, observer, eps, ranged=activation == torch.uint16)
    return QuantizationConfig(given, given, weight, _bias(eps))


def get_8a8w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint8 activations and int8 weights."""
    eps = eps or DEFAULT_EPS_8BIT
    return _static(torch.uint8, _weight(torch.int8, eps), act_symmetric, act_observer, eps)


def get_8a4w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint8 activations and weights of 4 bits."""
    eps = eps or DEFAULT_EPS_8BIT
    return _static(torch.uint8, _weight(torch.int4, eps), act_symmetric, act_observer, eps)


def get_16a2w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and weights of 2 bits."""
    eps = eps or DEFAULT_EPS_16BIT
    return _static(torch.uint16, _weight(torch.int2, eps), act_symmetric, act_observer, eps)


def get_16a4w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and weights of 4 bits."""
    eps = eps or DEFAULT_EPS_16BIT
    return _static(torch.uint16, _weight(torch.int4, eps), act_symmetric, act_observer, eps)


def get_16a8w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and uint8 weights around 128."""
    eps = eps or DEFAULT_EPS_16BIT
    weight = QuantizationSpec(
        dtype=torch.uint8,
        qscheme=torch.per_tensor_symmetric,
        ch_axis=0,
        observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=eps),
    )
    return _static(torch.uint16, weight, act_symmetric, act_observer, eps)


def get_16a16w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and int16 weights."""
    eps = eps or DEFAULT_EPS_16BIT
    return _static(torch.uint16, _weight(torch.int16, eps), act_symmetric, act_observer, eps)


def get_fp16a8w_qnn_ptq_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """Float activations and int8 weights. The first two arguments have no effect."""
    eps = eps or DEFAULT_EPS_8BIT
    return QuantizationConfig(None, None, _weight(torch.int8, eps), _bias(eps))


def get_fp16a8w_per_channel_quant_config(
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
    eps: float | None = None,
) -> QuantizationConfig:
    """Float activations and biases, and int8 weights with a scale for each channel."""
    return QuantizationConfig(None, None, _channels(torch.int8, ch_axis, eps or DEFAULT_EPS_8BIT), None)


def get_8a8w_qnn_qat_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint8 activations and int8 weights, in training."""
    return _in_training(torch.uint8, torch.int8, act_symmetric, act_observer, eps or DEFAULT_EPS_8BIT)


def get_16a8w_qnn_qat_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and int8 weights, in training."""
    return _in_training(torch.uint16, torch.int8, act_symmetric, act_observer, eps or DEFAULT_EPS_16BIT)


def get_16a4w_qnn_qat_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """uint16 activations and weights of 4 bits, in training."""
    return _in_training(torch.uint16, torch.int4, act_symmetric, act_observer, eps or DEFAULT_EPS_16BIT)


def _in_training(
    activation: torch.dtype, weight: torch.dtype, symmetric: bool, observer: Any, eps: float
) -> QuantizationConfig:
    given = _trained_activation(activation, symmetric, observer, eps, ranged=activation == torch.uint16)
    return QuantizationConfig(given, given, _trained(weight, eps), _bias(eps, is_qat=True))


def get_fp16a8w_qnn_qat_config(
    act_symmetric: bool = False, act_observer: Any = MovingAverageMinMaxObserver, eps: float | None = None
) -> QuantizationConfig:
    """Float activations and int8 weights, in training."""
    eps = eps or DEFAULT_EPS_8BIT
    return QuantizationConfig(None, None, _trained(torch.int8, eps), _bias(eps, is_qat=True))


def get_fp16a8w_qat_per_channel_quant_config(
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
    eps: float | None = None,
) -> QuantizationConfig:
    """Float activations and biases, and int8 weights with a scale for each channel, in training."""
    return QuantizationConfig(None, None, _trained(torch.int8, eps or DEFAULT_EPS_8BIT, ch_axis), None)


def _check(kind: str, dtype: torch.dtype, known: Sequence[torch.dtype]) -> None:
    if dtype not in known:
        raise ValueError(f"{kind} is {dtype}; expected one of {', '.join(map(str, known))}")


_ACTIVATIONS = (torch.uint8, torch.uint16, torch.int8, torch.int16)


def get_ptq_per_channel_quant_config(
    act_dtype: torch.dtype = torch.uint8,
    weight_dtype: torch.dtype = torch.int8,
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
    eps: float | None = None,
) -> QuantizationConfig:
    """Weights with a scale for each index of `ch_axis`. Raises ValueError for a dtype that QNN does not have."""
    _check("act_dtype", act_dtype, _ACTIVATIONS)
    _check("weight_dtype", weight_dtype, (torch.int2, torch.int4, torch.int8, torch.int16))
    eps = eps or DEFAULT_EPS_16BIT
    given = _activation(act_dtype, act_symmetric, act_observer, eps, ranged=False)
    return QuantizationConfig(given, given, _channels(weight_dtype, ch_axis, eps), derived_bias)


def get_ptq_per_block_quant_config(
    act_dtype: torch.dtype = torch.uint8,
    weight_dtype: torch.dtype = torch.int8,
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
    eps: float | None = None,
) -> QuantizationConfig:
    """Weights with a scale for each block; the annotation adds the size of the blocks."""
    config = get_ptq_per_channel_quant_config(act_dtype, weight_dtype, act_observer, act_symmetric)
    config.weight = _spec_of_weight(
        weight_dtype, PerBlockParamObserver.with_args(eps=eps or DEFAULT_EPS_16BIT), ch_axis
    )
    return config


def get_qat_per_channel_quant_config(
    act_dtype: torch.dtype = torch.uint8,
    weight_dtype: torch.dtype = torch.int8,
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
    eps: float | None = None,
) -> QuantizationConfig:
    """Weights with a scale for each index of `ch_axis`, in training."""
    _check("act_dtype", act_dtype, _ACTIVATIONS)
    _check("weight_dtype", weight_dtype, (torch.int4, torch.int8, torch.int16))
    eps = eps or (DEFAULT_EPS_8BIT if act_dtype in (torch.uint8, torch.int8) else DEFAULT_EPS_16BIT)
    given = _trained_activation(act_dtype, act_symmetric, act_observer, eps, ranged=not act_symmetric)
    return QuantizationConfig(given, given, _trained(weight_dtype, eps, ch_axis), derived_bias)


def get_qat_per_block_quant_config(
    act_dtype: torch.dtype = torch.uint8,
    weight_dtype: torch.dtype = torch.int8,
    act_observer: Any = MovingAverageMinMaxObserver,
    act_symmetric: bool = False,
    ch_axis: int = 0,
) -> QuantizationConfig:
    """Weights with a scale for each block, in training."""
    _check("act_dtype", act_dtype, _ACTIVATIONS)
    _check("weight_dtype", weight_dtype, (torch.int4, torch.int8))
    given = _trained_activation(act_dtype, act_symmetric, act_observer, None, ranged=not act_symmetric)
    stored, low, high = _limits(weight_dtype)
    fake = PerBlockParamFakeQuantize.with_args(
        dtype=stored, quant_min=low, quant_max=high, qscheme=torch.per_channel_symmetric, ch_axis=ch_axis
    )
    return QuantizationConfig(given, given, _spec_of_weight(weight_dtype, fake, ch_axis), derived_bias)
