# SPDX-License-Identifier: BSD-3-Clause
"""What the settings of a backend mean: its partitioner's options, and the quantiser of `quantization.pt2e_quantize`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from sdk.backends.registry import Backend, BackendError, backend, backends
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import Partitioner
from sdk.extension.llm.export.config.backend_config import (
    CoreMLConfig,
    CoreMLQuantize,
    OpenvinoConfig,
    VulkanConfig,
    XNNPackConfig,
)
from sdk.extension.llm.export.config.llm_config import LlmConfig, Pt2eQuantize
from sdk.extension.llm.export.settings import SettingsError

_BLOCK = 32
"""Weights that share a scale with backend.coreml.quantize=b4w."""


def enabled_backends(config: LlmConfig) -> list[str]:
    """The names of the backends that are to get parts of the model, in the order of `BackendConfig`."""
    settings = config.backend
    return [f.name for f in dataclasses.fields(settings) if getattr(getattr(settings, f.name), "enabled", False)]


def partitioners(config: LlmConfig) -> list[Partitioner]:
    """Those of the enabled backends, with the options of the settings.

    Raises SettingsError or `BackendError` for a backend that is not there or lacks a package.
    """
    found: list[Partitioner] = []
    for name in enabled_backends(config):
        _, options = _OPTIONS.get(name, ((), lambda *_: {}))
        found.append(_known(name).find("partitioner")(**options(getattr(config.backend, name), config)))
    return found


def refuse_unknown(config: LlmConfig) -> None:
    """Raises SettingsError for a backend that is not there, and for options and quantisers that this version lacks."""
    for name in enabled_backends(config):
        _known(name)
    for group in dataclasses.fields(config.backend):
        settings = getattr(config.backend, group.name)
        default, (acted_on, _) = type(settings)(), _OPTIONS.get(group.name, ((), None))
        for field in dataclasses.fields(settings):
            changed = getattr(settings, field.name) != getattr(default, field.name)
            if changed and field.name not in ("enabled", *acted_on):
                raise SettingsError(f"not supported in this version: backend.{group.name}.{field.name}; leave it out")
    if config.quantization.pt2e_quantize is not None:
        quantizer(config.quantization.pt2e_quantize, config.quantization.group_size)


def _known(name: str) -> Backend:
    try:
        return backend(name)
    except BackendError as error:
        raise SettingsError(f"backend.{name}.enabled: {error}") from None


def _xnnpack(settings: XNNPackConfig, config: LlmConfig) -> dict[str, Any]:
    """Without `extended_ops`, a model with dynamically quantised layers gives these alone."""
    if settings.extended_ops or not _quantizes_dynamically(config):
        return {}
    from sdk.backends.xnnpack.partition.config import ConfigPrecisionType

    return {"config_precisions": ConfigPrecisionType.DYNAMIC_QUANT}


def _quantizes_dynamically(config: LlmConfig) -> bool:
    layers, graph = config.quantization.qmode or "", config.quantization.pt2e_quantize
    return "8da" in layers or graph in (Pt2eQuantize.xnnpack_dynamic, Pt2eQuantize.xnnpack_dynamic_qc4)


def _coreml(settings: CoreMLConfig, _: LlmConfig) -> dict[str, Any]:
    import coremltools as ct

    from sdk.backends.apple.coreml.compiler import CoreMLBackend

    if settings.enable_state and settings.ios < 18:
        raise SettingsError(f"backend.coreml.enable_state needs backend.coreml.ios=18, found {settings.ios}")
    if settings.quantize is CoreMLQuantize.b4w and settings.ios < 18:
        raise SettingsError(f"backend.coreml.quantize=b4w needs backend.coreml.ios=18, found {settings.ios}")
    granularity: dict[CoreMLQuantize, dict[str, Any]] = {
        CoreMLQuantize.b4w: {"granularity": "per_block", "block_size": _BLOCK},
        CoreMLQuantize.c4w: {"granularity": "per_channel"},
    }
    weights: dict[str, Any] | None = None
    if settings.quantize is not None:
        weights = {"mode": "linear_symmetric", "dtype": "int4", **granularity[settings.quantize]}
    specs = CoreMLBackend.generate_compile_specs(
        compute_unit=getattr(ct.ComputeUnit, settings.compute_units.value.upper()),
        # The least that is left to the backend is newer than the setting's default.
        minimum_deployment_target=getattr(ct.target, f"iOS{settings.ios}") if settings.ios > 15 else None,
        op_linear_quantizer_config=weights,
    )
    return {"compile_specs": specs, "take_over_mutable_buffer": settings.enable_state}


def _vulkan(settings: VulkanConfig, _: LlmConfig) -> dict[str, Any]:
    return {"compile_options": {"force_fp16": True} if settings.force_fp16 else {}}


def _openvino(settings: OpenvinoConfig, _: LlmConfig) -> dict[str, Any]:
    return {"compile_spec": [CompileSpec("device", settings.device.encode())]}


_OPTIONS: dict[str, tuple[tuple[str, ...], Callable[[Any, LlmConfig], dict[str, Any]]]] = {
    "xnnpack": (("extended_ops",), _xnnpack),
    "coreml": (("enable_state", "quantize", "ios", "compute_units"), _coreml),
    "vulkan": (("force_fp16",), _vulkan),
    "openvino": (("device",), _openvino),
    "torchao": (("use_torchao_kernels_linear", "use_torchao_kernels_tied_embedding"), lambda *_: {}),
}
"""By backend: the fields of its settings that have an effect, and the arguments of its partitioner."""


def quantizer(kind: Pt2eQuantize, group_size: int | None = None) -> Any:
    """The quantiser of a setting, for torchao's `prepare_pt2e`.

    `group_size`: the inputs of a linear layer that share a scale, or -1 for all inputs of an output channel; None for
    the default of the quantiser.

    Raises SettingsError for a quantiser that this version does not have, or whose package is not installed, and for a
    group size where scales are not for groups.
    """
    name, make = kind.value, _QUANTIZERS.get(kind)
    if make is None:
        family = name.partition("_")[0]
        why = "it is not supported in this version"
        if family not in backends():
            why = f"there is no backend {family} in this version; the known ones are: {', '.join(backends())}"
        raise SettingsError(
            f"quantization.pt2e_quantize={name}: {why}. Supported are "
            f"{', '.join(sorted(known.value for known in _QUANTIZERS))}"
            + ("; for weights in 4 bits, use backend.coreml.quantize=c4w" if family == "coreml" else "")
        )
    options = {}
    if group_size is not None:
        if kind not in _WITH_GROUPS:
            raise SettingsError(
                f"quantization.group_size={group_size}: the quantizer {name} has one scale for each output channel; "
                "leave it out"
            )
        options["group_size"] = group_size
    try:
        return make(**options)
    except ValueError as error:
        raise SettingsError(f"quantization.pt2e_quantize={name}: {error}") from error
    except ImportError as error:
        raise SettingsError(
            f"quantization.pt2e_quantize={name} needs {error.name}, which cannot be imported: {error}"
        ) from error


def _xnnpack_quantizer(dynamic: bool, bits: int) -> Any:
    from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    half = 1 << (bits - 1)
    ranges: dict[str, Any] = {} if bits == 8 else {"weight_qmin": -half, "weight_qmax": half - 1}
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic, **ranges)
    return XNNPACKQuantizer().set_global(config)


def _vulkan_quantizer() -> Any:
    from sdk.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer, get_symmetric_quantization_config

    return VulkanQuantizer().set_global(get_symmetric_quantization_config(weight_bits=8))


def _openvino_quantizer(mode: str, **options: Any) -> Any:
    from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode

    return OpenVINOQuantizer(mode=QuantizationMode[mode], **options)


def _coreml_quantizer() -> Any:
    import torch
    from coremltools.optimize.torch.quantization import LinearQuantizerConfig

    from sdk.backends.apple.coreml.quantizer import CoreMLQuantizer  # type: ignore[import-not-found, unused-ignore]

    settings = {
        "quantization_scheme": "affine",
        "activation_dtype": torch.quint8,
        "weight_dtype": torch.qint8,
        "weight_per_channel": True,
    }
    return CoreMLQuantizer(LinearQuantizerConfig.from_dict({"global_config": settings}))


_QUANTIZERS: dict[Pt2eQuantize, Callable[..., Any]] = {
    Pt2eQuantize.xnnpack_dynamic: lambda: _xnnpack_quantizer(True, 8),
    Pt2eQuantize.xnnpack_dynamic_qc4: lambda: _xnnpack_quantizer(True, 4),
    Pt2eQuantize.vulkan_8w: _vulkan_quantizer,
    Pt2eQuantize.openvino_8wo: lambda: _openvino_quantizer("INT8WO_ASYM"),
    Pt2eQuantize.openvino_4wo: lambda **options: _openvino_quantizer("INT4WO_ASYM", **options),
    Pt2eQuantize.coreml_8a_c8w: _coreml_quantizer,
    Pt2eQuantize.coreml_baseline_8a_c8w: lambda: _xnnpack_quantizer(False, 8),
    Pt2eQuantize.coreml_baseline_8a_c4w: lambda: _xnnpack_quantizer(False, 4),
}
_WITH_GROUPS = (Pt2eQuantize.openvino_4wo,)
"""Those that have a scale for each group of a linear layer's inputs."""
