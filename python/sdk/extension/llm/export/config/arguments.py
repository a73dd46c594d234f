# SPDX-License-Identifier: BSD-3-Clause
"""Settings of an export as arguments of a command, with the names of ExecuTorch's `export_llama`."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any, get_args, get_type_hints

from sdk.extension.llm.export.config import backend_config as backends
from sdk.extension.llm.export.config import llm_config as settings
from sdk.extension.llm.export.config.quantize_scope import QuantizeScope

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
        **dict.fromkeys(("embedding_quantize", "group_size", "use_qat", "calibration_tasks"), ""),
        **dict.fromkeys(("calibration_limit", "calibration_seq_length", "calibration_data"), ""),
    },
    "debug": dict.fromkeys(
        ("profile_memory", "profile_path", "generate_etrecord", "generate_full_logits", "verbose"), ""
    ),
    "backend.mlx": {"mlx": "enabled"},
    "backend.torchao": dict.fromkeys(("use_torchao_kernels_linear", "use_torchao_kernels_tied_embedding"), ""),
}
"""For each group the arguments with the names of their settings, "" for the same name. A setting with a type keeps its
default where the argument is None or empty."""


def _groups() -> dict[str, dict[str, str | tuple[str, Callable[[str], Any]]]]:
    """Returns `_GROUPS` and the arguments of each declared backend: the backend's name, and that name as a prefix of
    its settings."""
    groups = dict(_GROUPS)
    for backend, settings_type in backends.settings_of_backends().items():
        types = get_type_hints(settings_type)
        group: dict[str, str | tuple[str, Callable[[str], Any]]] = {}
        for each in dataclasses.fields(settings_type):
            argument = each.metadata.get("argument", backend if each.name == "enabled" else f"{backend}_{each.name}")
            kind = next(iter(get_args(types[each.name])), types[each.name])  # `X` of `Optional[X]`
            converted = kind if _is_enum(kind) or not argument.startswith(backend) else None
            group[argument] = each.name if converted is None else (each.name, converted)
        groups[f"backend.{backend}"] = group
    return groups


def arguments_of_settings() -> dict[str, str]:
    """The name of the argument of each setting, which is written with its groups."""
    found: dict[str, str] = {}
    for group, names in _groups().items():
        for argument, setting in names.items():
            name = setting if isinstance(setting, str) else setting[0]
            found.setdefault(f"{group}.{name or argument}", argument)
    return found


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def from_args(args: argparse.Namespace) -> settings.LlmConfig:
    """Returns the settings in `args`, with defaults for all others.

    Raises:
        ValueError: a setting is not allowed, alone or with another one.
    """
    config = settings.LlmConfig()
    given = vars(args)
    for group, names in _groups().items():
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
    for scope in (value for argument, value in given.items() if argument.endswith("_quantize_scope") and value):
        config.quantization.quantize_scope = QuantizeScope(scope)
    if given.get("adapter_checkpoint"):
        if not given.get("adapter_config"):
            raise ValueError("--adapter_checkpoint requires --adapter_config")
        config.base.lora_config = settings.LoraConfig(given["adapter_checkpoint"], given["adapter_config"])
    if given.get("use_torchao_kernels"):
        config.backend.torchao = backends.TorchAOKernelsConfig(True, True)
    if config.backend.mlx.enabled:
        config.model.use_kv_cache = True  # its attention needs a cache
    groups = [getattr(config.backend, name) for name in backends.settings_of_backends()]
    for checked in (config.model, config.export, config.quantization, *groups, config):
        getattr(checked, "__post_init__", lambda: None)()
    return config
