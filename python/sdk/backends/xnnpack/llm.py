# SPDX-License-Identifier: BSD-3-Clause
"""Language models for XNNPACK: the settings, and the arguments of partitioner and quantizer that they determine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.extension.llm.export.config.llm_config import LlmConfig

__all__ = ["XNNPackConfig"]


@dataclass
class XNNPackConfig:
    """XNNPACK."""

    enabled: bool = False
    extended_ops: bool = False
    """Delegate all operators that XNNPACK supports. Without it, a model with dynamically quantised linear layers
    (8da4w) delegates only these layers."""


def check(config: LlmConfig) -> None:
    """Raises ValueError for kernels of low bits, whose layers XNNPACK does not take."""
    if config.quantization.uses_low_bit_kernels:
        raise ValueError("Cannot use low-bit Ao ops (from qmode=torchao:...) while also delegating to XNNPack.")


def partitioner_arguments(settings: XNNPackConfig, config: LlmConfig) -> dict[str, Any]:
    """Without `extended_ops`, a model with dynamically quantised layers delegates only these layers."""
    if settings.extended_ops or not _quantizes_dynamically(config):
        return {}
    from sdk.backends.xnnpack.partition.config import ConfigPrecisionType

    return {"config_precisions": ConfigPrecisionType.DYNAMIC_QUANT}


def _quantizes_dynamically(config: LlmConfig) -> bool:
    layers, graph = config.quantization.qmode or "", config.quantization.pt2e_quantize
    return "8da" in layers or (graph is not None and graph.value in ("xnnpack_dynamic", "xnnpack_dynamic_qc4"))


def dynamic_int8() -> Any:
    """int8 weights; the ranges of activations are found when the program runs."""
    return _quantizer(True, 8)


def dynamic_int4() -> Any:
    """Returns the same scheme with int4 weights."""
    return _quantizer(True, 4)


def static_quantizer(bits: int) -> Any:
    """Weights of this number of bits and int8 activations with ranges from calibration."""
    return _quantizer(False, bits)


def _quantizer(dynamic: bool, bits: int) -> Any:
    from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    half = 1 << (bits - 1)
    ranges: dict[str, Any] = {} if bits == 8 else {"weight_qmin": -half, "weight_qmax": half - 1}
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic, **ranges)
    return XNNPACKQuantizer().set_global(config)
