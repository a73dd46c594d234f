# SPDX-License-Identifier: BSD-3-Clause
"""The model of some settings: its checkpoint, hyperparameters and adapters.

ExecuTorch has the functions of `sdk.extension.llm.export.weights` in this module.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from sdk.exir._serialize._regular_file import JSONFileError, read_json
from sdk.exir.serde._tensor_file import TensorFileError
from sdk.exir.serde._weights_file import load_weights
from sdk.extension.llm.export.checkpoint import (
    HUB_IDS,
    CheckpointError,
    adapter_args,
    adapter_weights,
    downloaded,
    is_hub_id,
    load_model,
    prequantized_weights,
    read_adapter,
    set_weights,
)
from sdk.extension.llm.export.config.llm_config import BaseConfig, LlmConfig, PreqMode, embedding_bits_and_group
from sdk.extension.llm.export.settings import SettingsError, shipped
from sdk.extension.llm.export.weights import (
    KeyMap,
    Pair,
    RawIter,
    TieMap,
    assert_all_materialized,
    assign_one,
    assign_state_dict,
    iter_checkpoint,
    load_checkpoint,
)
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import Transformer, construct_transformer

__all__ = [
    "KeyMap",
    "Pair",
    "RawIter",
    "TieMap",
    "assert_all_materialized",
    "assign_one",
    "assign_state_dict",
    "iter_checkpoint",
    "load",
    "load_checkpoint",
    "prune_map",
]


def load(config: LlmConfig, overrides: dict[str, Any]) -> Transformer:
    """The model of the settings with its weights; `overrides` are fields of `ModelArgs`.

    Raises SettingsError, `CheckpointError` or `GGUFError` for what cannot be used, OSError for files that cannot be
    read.
    """
    checkpoint, params = _checkpoint(config), config.base.params
    lora, adapter = _adapter(config)
    overrides = {**overrides, **lora}
    if checkpoint is not None and Path(checkpoint).suffix not in (".pth", ".pt"):
        if params is not None and config.base.checkpoint is not None:
            raise SettingsError(
                "base.params: a GGUF file and a folder of Hugging Face's form have their own; leave it out"
            )
        model = load_model(checkpoint, adapter, **overrides)
        if params is not None:
            _check_same(_read_params(params), model.params, params)
        return model
    if params is None:
        raise SettingsError(
            "base.params is missing: name the JSON file with the model's hyperparameters, or a checkpoint with them "
            "(base.checkpoint: a .gguf file, or a folder with config.json and safetensors)"
        )
    model = construct_transformer(ModelArgs(**{**_read_params(params), **overrides}))
    if checkpoint is not None:
        read = _read_weights(checkpoint)
        try:
            weights = _float_or_quantized(read, config.base)
            set_weights(model, {**weights, **adapter_weights(adapter.items(), model.params)})
        except CheckpointError as error:
            raise CheckpointError(f"{checkpoint}: {error}") from None
    return model


def _adapter(config: LlmConfig) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The fields of `ModelArgs` and the weights of the LoRA adapters, if there are any."""
    lora = config.base.lora_config
    if lora is None:
        return {}, {}
    if lora.adapter_quant not in (None, "fp32"):
        raise SettingsError(f"base.lora_config.adapter_quant: only fp32 is supported, found {lora.adapter_quant!r}")
    fields = (
        {"r": lora.lora_rank, "lora_alpha": lora.lora_alpha, "target_modules": list(lora.target_modules)}
        if lora.adapter_config is None
        else adapter_args(lora.adapter_config)
    )
    if not fields["r"] or not fields["lora_alpha"] or not fields["target_modules"]:
        raise SettingsError("base.lora_config needs adapter_config, or lora_rank, lora_alpha and target_modules")
    return fields, read_adapter(lora.adapter_checkpoint)


def _read_params(path: str) -> dict[str, Any]:
    params = _read_json(shipped(path), "base.params")
    known = {field.name for field in dataclasses.fields(ModelArgs)}
    if unknown := sorted(params.keys() - known):
        raise SettingsError(f"{path}: these are not fields of ModelArgs: {', '.join(unknown)}")
    return params


def _checkpoint(config: LlmConfig) -> str | None:
    """The checkpoint's file or folder, which is downloaded where it is a model of the hub."""
    named, model = config.base.checkpoint, config.base.model_class.value
    if named is None:
        return str(downloaded(HUB_IDS[model])) if model in HUB_IDS else None
    return str(downloaded(named)) if not Path(named).exists() and is_hub_id(named) else named


def _check_same(params: dict[str, Any], found: ModelArgs, path: str) -> None:
    """Raises SettingsError unless a file of hyperparameters is of the model that was downloaded."""
    expected = ModelArgs(**params)
    for name in params.keys() - {"max_seq_len", "max_context_len"}:
        if getattr(expected, name) != getattr(found, name):
            raise SettingsError(
                f"base.params: {path} has {name} = {getattr(expected, name)}, the model of base.model_class "
                f"{getattr(found, name)}; leave base.params out, or name the checkpoint that it belongs to"
            )


def _read_weights(checkpoint: str) -> dict[str, torch.Tensor]:
    """The tensors of a .pth file. Raises CheckpointError for a file that holds something else."""
    try:
        read = load_weights(checkpoint)
    except (TensorFileError, RuntimeError, EOFError, UnpicklingError) as error:
        raise CheckpointError(f"{checkpoint} is not a checkpoint of PyTorch: {str(error).splitlines()[0]}") from error
    if not isinstance(read, dict) or not all(isinstance(value, torch.Tensor) for value in read.values()):
        raise CheckpointError(f"{checkpoint}: expected a dictionary of tensors by their names")
    return {name: value for name, value in read.items() if name != "rope.freqs"}


def _float_or_quantized(weights: dict[str, torch.Tensor], base: BaseConfig) -> dict[str, torch.Tensor]:
    """Floats in float32, and quantised weights as `base.preq_mode` says."""
    if base.preq_mode is not None:
        output_bits = 8 if base.preq_mode is PreqMode.preq_8da4w_out_8da8w else 4
        embedding = embedding_bits_and_group(base.preq_embedding_quantize)
        weights = prequantized_weights(weights, 4, base.preq_group_size, output_bits, embedding)
    elif quantized := [name for name, value in weights.items() if value.dtype == torch.int8]:
        raise CheckpointError(f"{quantized[0]} is quantised: set base.preq_mode to 8da4w or 8da4w_output_8da8w")
    else:
        weights = {name: value.float() for name, value in weights.items()}
    if "tok_embeddings.weight" in weights:
        weights.setdefault("output.weight", weights["tok_embeddings.weight"])
    return weights


def prune_map(path: str | None) -> dict[int, int] | None:
    """The map of a JSON file from rows of a pruned vocabulary to tokens; None without a path. Raises SettingsError for
    anything but whole numbers."""
    if path is None:
        return None
    read = _read_json(Path(path), "the prune map")
    try:
        return {int(row): int(token) for row, token in read.items()}
    except (TypeError, ValueError):
        raise SettingsError(f"{path}: a prune map has whole numbers only") from None


def _read_json(path: Path, what: str) -> dict[str, Any]:
    try:
        read = read_json(path)
    except JSONFileError as error:
        raise SettingsError(str(error)) from None
    if not isinstance(read, dict):
        raise SettingsError(f"{path}: {what} must be a JSON object")
    return read
