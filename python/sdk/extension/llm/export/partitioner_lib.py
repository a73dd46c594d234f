# SPDX-License-Identifier: BSD-3-Clause
"""Makes partitioners for language models under ExecuTorch's names: the same as `backends.partitioners` for these
settings.

Each function raises SettingsError or `BackendError` for an unknown backend or one that lacks a package, and for
settings that do not go together.
"""

from __future__ import annotations

from typing import Any

from sdk.exir.backend.partitioner import Partitioner
from sdk.extension.llm.export.backends import partitioners
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.settings import read_settings


def _partitioner(backend: str, *settings: str, **fields: Any) -> Partitioner:
    """The partitioner of a backend, with fields of its group and other settings."""
    group = [f"backend.{backend}.{name}={_written(value)}" for name, value in fields.items() if value is not None]
    config: LlmConfig = read_settings(None, [f"backend.{backend}.enabled=true", *group, *settings])
    (found,) = partitioners(config)
    return found


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def get_xnnpack_partitioner(dynamic_quant_only_partitioner: bool = True) -> Partitioner:
    """`dynamic_quant_only_partitioner`: for linear layers whose activations are quantised when the program runs."""
    if dynamic_quant_only_partitioner:
        return _partitioner("xnnpack", "quantization.qmode=8da4w")
    return _partitioner("xnnpack", extended_ops=True)


def get_vulkan_partitioner(
    dtype_override: str | None = None, enable_dynamic_shape: bool = False, force_fp16: bool = False
) -> Partitioner:
    """`force_fp16`: computes in float16. `enable_dynamic_shape` has no effect: shapes are dynamic where the program's
    are, which the exported program says.

    Raises ValueError for another `dtype_override` than fp32.
    """
    if dtype_override not in (None, "fp32"):
        raise ValueError(f"dtype_override: expected 'fp32' or None, found {dtype_override!r}; use force_fp16=True")
    return _partitioner("vulkan", force_fp16=force_fp16)


def get_mps_partitioner(use_kv_cache: bool = False) -> Partitioner:
    """Raises ValueError without a cache, because programs for MPS process one token per call."""
    if not use_kv_cache:
        raise ValueError("use_kv_cache: expected True, as this backend takes one token a call")
    return _partitioner("mps")


def get_openvino_partitioner(device: str) -> Partitioner:
    """`device`: CPU, GPU or NPU."""
    return _partitioner("openvino", device=device)


def get_coreml_partitioner(
    ios: int = 15,
    embedding_quantize: str | None = None,
    pt2e_quantize: str | None = None,
    coreml_quantize: str | None = None,
    coreml_compute_units: str | None = None,
) -> Partitioner:
    """`ios`: the least version of iOS. Raises ValueError for quantised weights that it does not have."""
    kinds = [kind for kind in (pt2e_quantize, coreml_quantize) if kind is not None]
    needs = {
        16: bool(kinds),
        17: any("8a" in kind for kind in kinds),
        18: embedding_quantize is not None or any("4w" in kind for kind in kinds),
    }
    least = max((version for version, needed in needs.items() if needed), default=ios)
    if ios < least:
        raise ValueError(f"ios={ios}: these quantised weights and activations need {least}")
    units = None if coreml_compute_units is None else coreml_compute_units.lower()
    return _partitioner("coreml", ios=ios, quantize=coreml_quantize, compute_units=units)


def get_qnn_partitioner(
    use_kv_cache: bool = False, pt2e_quantize: str | None = None, num_sharding: int = 0, soc_model: str = "SM8650"
) -> Partitioner:
    """`soc_model`: the chip. With `num_sharding`, contexts of a program share a memory.

    Raises ValueError without a cache, because QNN's programs have fixed shapes, and for an unknown chip.
    """
    settings = [f"model.use_kv_cache={_written(use_kv_cache)}", "model.enable_dynamic_shape=false"]
    if pt2e_quantize is not None:
        settings.append(f"quantization.pt2e_quantize={pt2e_quantize}")
    return _partitioner("qnn", *settings, num_sharding=num_sharding, soc_model=soc_model)


def get_tosa_partitioner(version: str) -> Partitioner:
    """`version`: a specification, such as TOSA-1.0+INT."""
    from sdk.backends.arm.tosa.compile_spec import TosaCompileSpec
    from sdk.backends.arm.tosa.partitioner import TOSAPartitioner

    return TOSAPartitioner(TosaCompileSpec(version))


def get_ethosu_partitioner(
    target: str, system_config: str | None = None, memory_mode: str | None = None, extra_flags: list[str] | None = None
) -> Partitioner:
    """`system_config` and `memory_mode` of Vela; None or "default" for the target's."""
    from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner

    system, memory = (None if name == "default" else name for name in (system_config, memory_mode))
    return EthosUPartitioner(EthosUCompileSpec(target, system, memory, extra_flags))


def get_vgf_partitioner(compile_spec: str | None, compiler_flags: list[str] | None) -> Partitioner:
    """`compile_spec`: a TOSA specification."""
    from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

    return VgfPartitioner(VgfCompileSpec(compile_spec, compiler_flags))
