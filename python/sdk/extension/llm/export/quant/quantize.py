# SPDX-License-Identifier: BSD-3-Clause
"""Quantises matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quant_primitives import (
    MappingType,
    _choose_qparams_and_quantize_scale_only_hqq,
    choose_qparams_affine,
    quantize_affine,
)
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.int4 import ExportableInt4Tensor, packed
from sdk.extension.llm.export.quant.convert import Convert, maybe_cast, to_default, to_exportable
from sdk.extension.llm.export.quant.recipe import QuantConfig, QuantRecipe

_BITS = (4, 5, 6, 8)


def quantize_weight(weight: Tensor, config: QuantConfig) -> Tensor:
    """Quantises a matrix [rows, columns], with scales in bfloat16: 4 bits to torchao's `Int4Tensor`, more to
    `IntxUnpackedToInt8Tensor`.

    Raises ValueError for another shape, rows that are not whole groups, and a configuration that is not known.
    """
    _check(weight, config)
    integers, scale, zero = _hqq(weight, config) if config.method == "hqq" else _min_max(weight, config)
    if config.bits != 4:
        return IntxUnpackedToInt8Tensor(
            integers, scale, zero.to(torch.int8), getattr(torch, f"int{config.bits}"), (1, config.group_size),
            torch.bfloat16, None,
        )  # fmt: skip
    if config.symmetric:
        integers, zero = integers + 8, zero + 8
    return Int4Tensor(
        packed(integers.to(torch.uint8)), scale.t().contiguous(), zero.to(scale.dtype).t().contiguous(),
        [1, config.group_size], weight.shape,
    )  # fmt: skip


def _check(weight: Tensor, config: QuantConfig) -> None:
    if config.bits not in _BITS:
        raise ValueError(f"bits={config.bits} is not known; known are {', '.join(map(str, _BITS))}")
    if config.method not in ("min_max", "hqq"):
        raise ValueError(f"method={config.method!r} is not known; known are 'min_max' and 'hqq'")
    if config.method == "hqq" and not config.symmetric:
        raise ValueError("method='hqq' needs symmetric=True: it finds scales only; or use 'min_max'")
    if weight.dim() != 2 or weight.shape[1] % config.group_size:
        raise ValueError(
            f"expected a matrix whose rows are whole groups of {config.group_size} weights, found the shape "
            f"{list(weight.shape)}"
        )


def _min_max(weight: Tensor, config: QuantConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Returns int8 [rows, columns], and bfloat16 scales and zero points [rows, groups]. 4-bit integers are from 0 to 15
    if they have zero points, otherwise from -8 to 7."""
    lowest = 0 if config.bits == 4 and not config.symmetric else -(1 << (config.bits - 1))
    limits = {"quant_min": lowest, "quant_max": lowest + (1 << config.bits) - 1}
    groups, values = (1, config.group_size), weight.float()
    scale, zero = choose_qparams_affine(
        values, MappingType.SYMMETRIC if config.symmetric else MappingType.ASYMMETRIC, groups, torch.int8, **limits,
        scale_dtype=torch.bfloat16, zero_point_dtype=torch.bfloat16,
    )  # fmt: skip
    integers = quantize_affine(values, groups, scale, zero, torch.int8, **limits)
    return integers, scale.reshape(len(weight), -1), zero.reshape(len(weight), -1)


def _hqq(weight: Tensor, config: QuantConfig) -> tuple[Tensor, Tensor, Tensor]:
    half = 1 << (config.bits - 1)
    integers, scale = _choose_qparams_and_quantize_scale_only_hqq(
        weight.float(), [1, config.group_size], -half, half - 1
    )
    return integers.to(torch.int8), scale.to(torch.bfloat16), torch.zeros_like(scale, dtype=torch.bfloat16)


def dequantize_weight(weight: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Dequantises a weight that `quantize_weight` or `to_default` returned, or a GGUF weight. Raises TypeError for
    others."""
    weight = to_exportable("", weight)
    if isinstance(weight, IntxUnpackedToInt8Tensor):
        return weight.to(dtype).dequantize()
    if isinstance(weight, (ExportableInt4Tensor, ExportableGGUFTensor)):
        return weight.dequantize(dtype)
    raise TypeError(f"expected a quantised weight, found {type(weight).__name__}")


def quantize_stream(
    pairs: Iterable[tuple[str, Tensor]], recipe: QuantRecipe, dtype: torch.dtype = torch.bfloat16
) -> Iterator[tuple[str, Tensor]]:
    """Quantises the weights one after the other, in the forms that torchao can save. Floating-point weights that the
    recipe does not quantise are cast to `dtype`."""
    for name, value in pairs:
        config = recipe.get_config(name)
        yield name, maybe_cast(value if config is None else quantize_weight(value, config), dtype)


def quantize_model(
    model: nn.Module,
    recipe: QuantRecipe,
    *,
    convert: Convert = to_default,
    dtype: torch.dtype = torch.bfloat16,
    verbose: bool = False,
) -> dict[str, Tensor]:
    """Returns the state dict of the quantised model, and leaves the model unchanged. Buffers are not quantised.

    `convert` gives each weight the form that layers export; `verbose` prints the names.
    """
    state = {}
    parameters = [(name, value.data) for name, value in model.named_parameters()]
    for number, (name, value) in enumerate(quantize_stream(parameters, recipe, dtype), 1):
        state[name] = maybe_cast(convert(name, value), dtype)
        if verbose:
            print(f"{number} of {len(parameters)}: {name}")
    buffers = dict(model.named_buffers())
    state.update({name: buffers[name].data for name in model.state_dict() if name in buffers and name not in state})
    return state
