# SPDX-License-Identifier: BSD-3-Clause
"""Language models for Core ML: the settings, and the arguments of partitioner and quantizer that they determine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Optional

from sdk.backends import registry

if TYPE_CHECKING:
    from sdk.extension.llm.export.config.llm_config import LlmConfig

# OmegaConf reads these annotations, and it takes `Optional[X]` only.
# ruff: noqa: UP045

__all__ = ["CoreMLComputeUnit", "CoreMLConfig", "CoreMLQuantize"]

_BLOCK = 32
"""The number of weights in a block, which share a scale, with backend.coreml.quantize=b4w."""


class CoreMLQuantize(str, Enum):
    """4-bit weights of Core ML: in blocks, or for each channel."""

    b4w = "b4w"
    c4w = "c4w"


class CoreMLComputeUnit(str, Enum):
    """The units on which Core ML may compute."""

    cpu_only = "cpu_only"
    cpu_and_gpu = "cpu_and_gpu"
    cpu_and_ne = "cpu_and_ne"
    all = "all"


@dataclass
class CoreMLConfig:
    """Core ML."""

    enabled: bool = False
    enable_state: bool = False
    preserve_sdpa: bool = False
    quantize: Optional[CoreMLQuantize] = None
    ios: int = 15
    compute_units: CoreMLComputeUnit = CoreMLComputeUnit.cpu_only

    def __post_init__(self) -> None:
        if self.ios not in (15, 16, 17, 18):
            raise ValueError(f"Invalid coreml ios version: {self.ios}; expected 15, 16, 17 or 18")


def partitioner_arguments(settings: CoreMLConfig, config: LlmConfig) -> dict[str, Any]:
    """The least version of iOS, the units, and the weights that Core ML's compiler quantises."""
    import coremltools as ct

    from sdk.backends.apple.coreml.compiler import CoreMLBackend

    if settings.enable_state and settings.ios < 18:
        raise ValueError(f"backend.coreml.enable_state needs backend.coreml.ios=18, found {settings.ios}")
    if settings.quantize is CoreMLQuantize.b4w and settings.ios < 18:
        raise ValueError(f"backend.coreml.quantize=b4w needs backend.coreml.ios=18, found {settings.ios}")
    granularity: dict[CoreMLQuantize, dict[str, Any]] = {
        CoreMLQuantize.b4w: {"granularity": "per_block", "block_size": _BLOCK},
        CoreMLQuantize.c4w: {"granularity": "per_channel"},
    }
    weights: dict[str, Any] | None = None
    if settings.quantize is not None:
        weights = {"mode": "linear_symmetric", "dtype": "int4", **granularity[settings.quantize]}
    specs = CoreMLBackend.generate_compile_specs(
        compute_unit=getattr(ct.ComputeUnit, settings.compute_units.value.upper()),
        # 15 is the setting's default. It leaves the choice to the backend, whose oldest target is newer.
        minimum_deployment_target=getattr(ct.target, f"iOS{settings.ios}") if settings.ios > 15 else None,
        op_linear_quantizer_config=weights,
    )
    return {"compile_specs": specs, "take_over_mutable_buffer": settings.enable_state}


def int8() -> Any:
    """int8 weights and activations, by Core ML's quantizer."""
    import torch
    from coremltools.optimize.torch.quantization import LinearQuantizerConfig

    from sdk.backends.apple.coreml.quantizer import CoreMLQuantizer

    settings = {
        "quantization_scheme": "affine",
        "activation_dtype": torch.quint8,
        "weight_dtype": torch.qint8,
        "weight_per_channel": True,
    }
    return CoreMLQuantizer(LinearQuantizerConfig.from_dict({"global_config": settings}))


def baseline_int8() -> Any:
    """Returns the scheme of the default backend for CPUs with int8 weights and activations."""
    return _baseline(8)


def baseline_int4() -> Any:
    """Returns the same scheme with int4 weights."""
    return _baseline(4)


def _baseline(bits: int) -> Any:
    default = registry.default_backend()
    if default is None or default.language_models is None or default.language_models.static_quantizer is None:
        raise ValueError("no backend for CPUs has a quantizer with static ranges (`static_quantizer`)")
    return default.imported(default.language_models.static_quantizer, "language_models")(bits)
