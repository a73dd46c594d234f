# SPDX-License-Identifier: BSD-3-Clause
"""Quantisers for language models under ExecuTorch's names, for `LLMEdgeManager.pt2e_quantize`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from sdk.extension.llm.export.backends import quantizer
from sdk.extension.llm.export.builder import FORMAT
from sdk.extension.llm.export.config.llm_config import Pt2eQuantize
from sdk.extension.llm.export.settings import SettingsError

__all__ = [
    "FORMAT",
    "DynamicQuantLinearOptions",
    "EmbeddingQuantOptions",
    "PT2EQuantOptions",
    "get_coreml_quantizer",
    "get_ethosu_quantizer",
    "get_ov_quantizer",
    "get_pt2e_quantization_params",
    "get_pt2e_quantizers",
    "get_qnn_quantizer",
    "get_tosa_quantizer",
    "get_vgf_quantizer",
    "get_vulkan_quantizer",
]


@dataclass
class EmbeddingQuantOptions:
    """int8 embeddings with a scale for each row; groups are not supported."""

    is_per_channel: bool = True
    group_size: int = -1

    def __post_init__(self) -> None:
        if self.group_size != -1:
            raise RuntimeError(f"group_size={self.group_size}: expected -1, one scale for each row of an embedding")


@dataclass
class DynamicQuantLinearOptions:
    """Linear layers whose activations are quantised when the program runs."""

    is_per_channel: bool = True
    is_qc4: bool = False
    """Weights in 4 bits instead of 8."""


@dataclass
class PT2EQuantOptions:
    """How to quantise each type of layer; None means that it is not quantised."""

    quantize_embedding: EmbeddingQuantOptions | None = None
    quantize_linear: DynamicQuantLinearOptions | None = None


_INT8, _INT4 = "xnnpack_dynamic", "xnnpack_dynamic_qc4"


def get_pt2e_quantization_params(
    pt2e_quantize: str | None = None, quantization_mode: str | None = None
) -> PT2EQuantOptions | None:
    """Parses comma-separated names: `embedding`, and `xnnpack_dynamic` or `xnnpack_dynamic_qc4`.

    Names of other backends are ignored. Raises ValueError if `quantization_mode` is set too, RuntimeError for both
    schemes of linear layers.
    """
    if pt2e_quantize is None:
        return None
    if quantization_mode:
        raise ValueError(f"pt2e_quantize={pt2e_quantize} and quantization_mode={quantization_mode}: choose one")
    names = {name.strip() for name in pt2e_quantize.split(",")}
    if {_INT8, _INT4} <= names:
        raise RuntimeError(f"{_INT8} and {_INT4} both quantise linear layers: choose one")
    if not names & {"embedding", _INT8, _INT4}:
        return None
    return PT2EQuantOptions(
        EmbeddingQuantOptions() if "embedding" in names else None,
        DynamicQuantLinearOptions(is_qc4=_INT4 in names) if names & {_INT8, _INT4} else None,
    )


def get_pt2e_quantizers(quant_params: PT2EQuantOptions | None, so_library: str | None = None) -> list[Any]:
    """The quantisers of options. `so_library` is not read: the kernels of quantised embeddings are part of this SDK.

    Raises ValueError for linear layers with one scale for all weights.
    """
    found: list[Any] = []
    if quant_params is not None and quant_params.quantize_embedding is not None:
        from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer

        found.append(EmbeddingQuantizer())
    if quant_params is not None and (linear := quant_params.quantize_linear) is not None:
        if not linear.is_per_channel:
            raise ValueError("quantize_linear.is_per_channel: expected True, a scale for each output channel")
        found.append(quantizer(Pt2eQuantize(_INT4 if linear.is_qc4 else _INT8)))
    return found


def _of_backend(backend: str, pt2e_quantize: str, group_size: int | None = None) -> Any:
    """The quantiser that a backend declares under a name.

    Raises ValueError (`SettingsError`) for a name of another backend, and for an unknown backend.
    """
    known = [kind.value for kind in Pt2eQuantize if kind.value.startswith(f"{backend}_")]
    if not known:
        raise SettingsError(f"pt2e_quantize={pt2e_quantize!r}: there is no backend {backend} in this version")
    if pt2e_quantize not in known:
        raise SettingsError(f"pt2e_quantize={pt2e_quantize!r} is not known; known are {', '.join(known)}")
    return quantizer(Pt2eQuantize(pt2e_quantize), group_size)


def get_qnn_quantizer(pt2e_quantize: str, quantization_mode: str | None = None, is_qat: bool = False) -> Any:
    """The quantizer of `qnn_8a8w`, `qnn_16a16w` or `qnn_16a4w`, and its scheme. `is_qat`: it quantises in training.

    Raises ValueError for another name, and if `quantization_mode` is set too.
    """
    from sdk.backends.qualcomm.qnn import llm

    if quantization_mode is not None:
        raise ValueError(f"pt2e_quantize={pt2e_quantize} and quantization_mode={quantization_mode}: choose one")
    makers = {f"qnn_{name}": getattr(llm, f"quantizer_{name}") for name in ("8a8w", "16a16w", "16a4w")}
    if pt2e_quantize not in makers:
        raise ValueError(f"pt2e_quantize={pt2e_quantize!r}: expected one of {', '.join(makers)}")
    made = makers[pt2e_quantize](is_qat)
    return made, made.default_quant_config.quant_dtype


def get_ov_quantizer(pt2e_quantize: str, group_size: int = 128) -> Any:
    """`openvino_4wo`, with a scale for `group_size` weights (-1: for a row), or `openvino_8wo`, with a scale for a
    row."""
    return _of_backend("openvino", pt2e_quantize, group_size if pt2e_quantize.endswith("4wo") else None)


def get_coreml_quantizer(pt2e_quantize: str) -> Any:
    """`coreml_8a_c8w`, `coreml_baseline_8a_c8w` or `coreml_baseline_8a_c4w`."""
    return _of_backend("coreml", pt2e_quantize)


def get_vulkan_quantizer(pt2e_quantize: str) -> Any:
    """`vulkan_8w`."""
    return _of_backend("vulkan", pt2e_quantize)


def _of_arm(quantizer: Any, prefix: str, pt2e_quantize: str, quantize_scope: str, has_int16: bool = True) -> Any:
    """Arm's quantiser with the scheme `pt2e_quantize`, for the whole model ("full") or its linear layers ("linear")."""
    from sdk.backends.arm.quantizer.arm_quantizer import (
        get_symmetric_a16w8_quantization_config,
        get_symmetric_quantization_config,
    )

    makers: dict[str, Callable[[], Any]] = {f"{prefix}_8a8w": get_symmetric_quantization_config}
    if has_int16:
        makers[f"{prefix}_16a8w"] = get_symmetric_a16w8_quantization_config
    if pt2e_quantize not in makers:
        raise ValueError(f"pt2e_quantize={pt2e_quantize!r}: expected one of {', '.join(makers)}")
    config = makers[pt2e_quantize]()
    if quantize_scope == "full":
        quantizer.set_global(config)
    elif quantize_scope == "linear":
        quantizer.set_module_type(nn.Linear, config)
    else:
        raise ValueError(f"quantize_scope={quantize_scope!r}: expected 'full' or 'linear'")
    return quantizer


def get_tosa_quantizer(version: str, pt2e_quantize: str, quantize_scope: str) -> Any:
    """`tosa_8a8w` for a specification, such as TOSA-1.0+INT."""
    from sdk.backends.arm.quantizer.arm_quantizer import TOSAQuantizer
    from sdk.backends.arm.tosa.compile_spec import TosaCompileSpec

    return _of_arm(TOSAQuantizer(TosaCompileSpec(version)), "tosa", pt2e_quantize, quantize_scope, has_int16=False)


def get_ethosu_quantizer(
    target: str,
    system_config: str,
    memory_mode: str,
    extra_flags: list[str] | None,
    pt2e_quantize: str,
    quantize_scope: str,
) -> Any:
    """`ethosu_8a8w` or `ethosu_16a8w`. "default" means the target's configuration of Vela."""
    from sdk.backends.arm.ethosu import EthosUCompileSpec
    from sdk.backends.arm.quantizer.arm_quantizer import EthosUQuantizer

    system, memory = (None if name == "default" else name for name in (system_config, memory_mode))
    spec = EthosUCompileSpec(target, system, memory, extra_flags)
    return _of_arm(EthosUQuantizer(spec), "ethosu", pt2e_quantize, quantize_scope)


def get_vgf_quantizer(
    compile_spec: str | None, compiler_flags: list[str] | None, pt2e_quantize: str, quantize_scope: str
) -> Any:
    """`vgf_8a8w`, or `vgf_16a8w` for a specification with the extension int16."""
    from sdk.backends.arm.quantizer.arm_quantizer import VgfQuantizer
    from sdk.backends.arm.vgf import VgfCompileSpec

    spec = VgfCompileSpec(compile_spec, compiler_flags)
    int16 = spec.tosa_spec.support_extension("int16")
    if pt2e_quantize == "vgf_16a8w" and not int16:
        raise ValueError("vgf_16a8w needs a specification with int16, such as TOSA-1.0+INT+int16")
    return _of_arm(VgfQuantizer(spec), "vgf", pt2e_quantize, quantize_scope, int16)
