# SPDX-License-Identifier: BSD-3-Clause
"""Language models for QNN: the settings, and the arguments of partitioner and quantizer that they determine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from sdk.extension.llm.export.config.llm_config import LlmConfig

# OmegaConf reads these annotations, and it takes `Optional[X]` only.
# ruff: noqa: UP045

__all__ = ["QNNConfig"]


@dataclass
class QNNConfig:
    """Qualcomm's AI Engine Direct."""

    enabled: bool = False
    use_sha: bool = field(default=False, metadata={"argument": "use_qnn_sha"})
    soc_model: str = field(default="SM8650", metadata={"argument": "soc_model"})
    use_qnn_sha: bool = False
    optimized_rotation_path: Optional[str] = field(default=None, metadata={"argument": "optimized_rotation_path"})
    num_sharding: int = field(default=0, metadata={"argument": "num_sharding"})


def partitioner_arguments(settings: QNNConfig, config: LlmConfig) -> dict[str, Any]:
    """The arguments of the partitioner: the chip, and whether its HTP computes in float16 (for models without
    quantization).

    Raises ValueError for an unknown chip, and for a model whose shapes change.
    """
    from sdk.backends.qualcomm.utils.compile_specs import (
        generate_htp_compiler_spec,
        generate_qnn_executorch_compiler_spec,
        get_soc_to_chipset_map,
    )

    if not config.model.use_kv_cache or config.model.enable_dynamic_shape:
        raise ValueError(
            "backend.qnn.enabled needs model.use_kv_cache=true and model.enable_dynamic_shape=false, because QNN's "
            "programs have fixed shapes"
        )
    known = get_soc_to_chipset_map()
    if settings.soc_model not in known:
        raise ValueError(f"backend.qnn.soc_model is {settings.soc_model!r}; expected one of {', '.join(known)}")
    htp = generate_htp_compiler_spec(
        use_fp16=config.quantization.pt2e_quantize is None, use_multi_contexts=settings.num_sharding > 0
    )
    return {"compiler_specs": generate_qnn_executorch_compiler_spec(known[settings.soc_model], htp)}


def quantizer_8a8w(is_qat: bool = False) -> Any:
    """8-bit weights and activations; weights have a scale for each channel."""
    return _quantizer("use_8a8w", is_qat)


def quantizer_16a16w(is_qat: bool = False) -> Any:
    """16-bit weights and activations; weights have one scale, because HTPs refuse several scales there."""
    from torchao.quantization.pt2e import MinMaxObserver

    return _quantizer("use_16a16w", is_qat, has_channels=False, act_observer=MinMaxObserver)


def quantizer_16a4w(is_qat: bool = False) -> Any:
    """4-bit weights with a scale for each channel, 16-bit activations, and keys and values of 8 bits."""
    from torchao.quantization.pt2e import MinMaxObserver

    from sdk.backends.qualcomm.quantizer.custom_annotation import custom_annotate_llama_matmul_16a8w

    quantizer = _quantizer("use_16a4w", is_qat, act_observer=MinMaxObserver)
    quantizer.add_custom_quant_annotations((custom_annotate_llama_matmul_16a8w,))
    return quantizer


def _quantizer(scheme: str, is_qat: bool, has_channels: bool = True, **options: Any) -> Any:
    from sdk.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype

    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(
        QuantDtype[scheme],
        is_qat=is_qat,
        is_conv_per_channel=has_channels,
        is_linear_per_channel=has_channels,
        **options,
    )
    return quantizer
