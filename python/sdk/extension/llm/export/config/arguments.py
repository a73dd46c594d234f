# SPDX-License-Identifier: BSD-3-Clause
"""The settings of an export that arguments of a command name, as ExecuTorch's `export_llama` has them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from sdk.extension.llm.export.config import backend_config as backends
from sdk.extension.llm.export.config import llm_config as settings

_GROUPS: dict[str, dict[str, str | tuple[str, Callable[[str], Any]]]] = {
    "base": {
        **dict.fromkeys(("params", "checkpoint", "tokenizer_path", "metadata", "use_lora"), ""),
        "model": ("model_class", settings.ModelType),
        "preq_mode": ("preq_mode", settings.PreqMode),
        **dict.fromkeys(("preq_group_size", "preq_embedding_quantize"), ""),
    },
    "model": {
        "dtype_override": ("dtype_override", settings.DtypeOverride),
        **dict.fromkeys(("enable_dynamic_shape", "use_shared_embedding", "use_sdpa_with_kv_cache"), ""),
        **dict.fromkeys(("expand_rope_table", "use_attention_sink", "output_prune_map", "input_prune_map"), ""),
        **dict.fromkeys(("use_kv_cache", "quantize_kv_cache", "local_global_attention"), ""),
    },
    "export": {
        **dict.fromkeys(("max_seq_length", "max_context_length", "output_dir", "output_name", "so_library"), ""),
        **dict.fromkeys(("export_only", "foundation_weights_file", "lora_weights_file"), ""),
    },
    "quantization": {
        "quantization_mode": "qmode",
        "pt2e_quantize": ("pt2e_quantize", settings.Pt2eQuantize),
        "use_spin_quant": ("use_spin_quant", settings.SpinQuant),
        "vgf_quantize_scope": ("quantize_scope", backends.QuantizeScope),
        **dict.fromkeys(("embedding_quantize", "group_size", "use_qat", "calibration_tasks"), ""),
        **dict.fromkeys(("calibration_limit", "calibration_seq_length", "calibration_data"), ""),
    },
    "debug": dict.fromkeys(
        ("profile_memory", "profile_path", "generate_etrecord", "generate_full_logits", "verbose"), ""
    ),
    "backend.xnnpack": {"xnnpack": "enabled", "xnnpack_extended_ops": "extended_ops"},
    "backend.coreml": {
        "coreml": "enabled",
        **{f"coreml_{name}": name for name in ("enable_state", "preserve_sdpa", "ios")},
        "coreml_quantize": ("quantize", backends.CoreMLQuantize),
        "coreml_compute_units": ("compute_units", backends.CoreMLComputeUnit),
    },
    "backend.vulkan": {"vulkan": "enabled", "vulkan_force_fp16": "force_fp16"},
    "backend.qnn": {
        "qnn": "enabled",
        "use_qnn_sha": "use_sha",
        **dict.fromkeys(("soc_model", "optimized_rotation_path", "num_sharding"), ""),
    },
    "backend.mps": {"mps": "enabled"},
    "backend.mlx": {"mlx": "enabled"},
    "backend.openvino": {
        "openvino": "enabled",
        "openvino_device": "device",
        "group_size": ("nncf_compression_group_size", int),
        **dict.fromkeys(("openvino_awq", "openvino_scale_estimation"), ""),
    },
    "backend.vgf": {
        "vgf": "enabled",
        "vgf_compile_spec": "compile_spec",
        "vgf_quantize_scope": ("quantize_scope", backends.QuantizeScope),
    },
    "backend.torchao": dict.fromkeys(("use_torchao_kernels_linear", "use_torchao_kernels_tied_embedding"), ""),
}
"""For each group the arguments with the names of their settings, "" for the same name. A setting with a type keeps its
default where the argument is None or empty."""


def from_args(args: argparse.Namespace) -> settings.LlmConfig:
    """The settings that `args` has, and the defaults of others.

    Raises:
        ValueError: a setting is not allowed, alone or beside another.
    """
    config = settings.LlmConfig()
    given = vars(args)
    for group, names in _GROUPS.items():
        owner: Any = config
        for part in group.split("."):
            owner = getattr(owner, part)
        for argument, setting in names.items():
            if argument not in given:
                continue
            name, kind = (setting, None) if isinstance(setting, str) else setting
            if kind is None:
                setattr(owner, name or argument, given[argument])
            elif given[argument]:
                setattr(owner, name, kind(given[argument]))
    if given.get("adapter_checkpoint"):
        if not given.get("adapter_config"):
            raise ValueError("--adapter_checkpoint requires --adapter_config")
        config.base.lora_config = settings.LoraConfig(given["adapter_checkpoint"], given["adapter_config"])
    if given.get("use_torchao_kernels"):
        config.backend.torchao = backends.TorchAOKernelsConfig(True, True)
    if config.backend.mlx.enabled:
        config.model.use_kv_cache = True  # its attention needs one
    for checked in (config.model, config.export, config.quantization, config.backend.coreml, config):
        checked.__post_init__()
    return config
