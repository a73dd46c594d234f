# SPDX-License-Identifier: BSD-3-Clause
"""Language models for OpenVINO: the settings, and the arguments of partitioner and quantizer that they determine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdk.extension.llm.export.config.llm_config import LlmConfig

__all__ = ["OpenvinoConfig"]


@dataclass
class OpenvinoConfig:
    """OpenVINO."""

    enabled: bool = False
    device: str = "CPU"
    nncf_compression_group_size: int = field(default=32, metadata={"argument": "group_size"})
    openvino_awq: bool = field(default=False, metadata={"argument": "openvino_awq"})
    openvino_scale_estimation: bool = field(default=False, metadata={"argument": "openvino_scale_estimation"})


def partitioner_arguments(settings: OpenvinoConfig, config: LlmConfig) -> dict[str, Any]:
    """The arguments of the partitioner: a compile spec with the device for which programs are compiled."""
    from sdk.exir.backend.compile_spec_schema import CompileSpec

    return {"compile_spec": [CompileSpec("device", settings.device.encode())]}


def int8_weights() -> Any:
    """int8 weights with a zero point; activations are float."""
    return _quantizer("INT8WO_ASYM")


def int4_weights(**options: Any) -> Any:
    """int4 weights with a zero point, in groups of `group_size`; activations are float."""
    return _quantizer("INT4WO_ASYM", **options)


def _quantizer(mode: str, **options: Any) -> Any:
    from sdk.backends.openvino.quantizer import OpenVINOQuantizer, QuantizationMode

    return OpenVINOQuantizer(mode=QuantizationMode[mode], **options)
