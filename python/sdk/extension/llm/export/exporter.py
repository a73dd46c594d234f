# SPDX-License-Identifier: BSD-3-Clause
"""From settings to the program of a language model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from sdk.backends.registry import backend
from sdk.examples.models.llama.llama_transformer import Transformer, construct_transformer
from sdk.examples.models.llama.model_args import ModelArgs
from sdk.exir import (
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)
from sdk.extension.llm.export.checkpoint import CheckpointError, load_model, set_weights
from sdk.extension.llm.export.config.llm_config import LlmConfig, embedding_bits_and_group
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer_data import tokenizer_data

_GROUP_SIZE = 32
_SUPPORTED_QMODES = (None, "8da4w")
_EMBEDDING_DTYPES = {2: torch.int2, 4: torch.int4, 8: torch.int8}
_WITHOUT_EFFECT = ("base.model_class", "base.tokenizer_path", "quantization.calibration_data", "quantization.use_hqq")
_SUPPORTED = {
    "base": ("checkpoint", "params", "metadata"),
    "model": ("enable_dynamic_shape", "input_prune_map", "output_prune_map", "use_kv_cache", "use_sdpa_with_kv_cache"),
    "export": (
        *("max_seq_length", "max_context_length", "output_dir", "output_name", "export_only"),
        "embed_tokenizer",
    ),
    "debug": ("generate_etrecord", "generate_full_logits", "verbose"),
    "multimethod": (),
    "quantization": ("qmode", "group_size", "embedding_quantize"),
}
"""The settings that this version acts on, beside those of backends."""


def refuse_unsupported(config: LlmConfig) -> None:
    """Raises SettingsError that names all settings with another value than the default that this version ignores."""
    default = LlmConfig()
    names = []
    for group, supported in _SUPPORTED.items():
        for field in dataclasses.fields(getattr(config, group)):
            name = f"{group}.{field.name}"
            changed = getattr(getattr(config, group), field.name) != getattr(getattr(default, group), field.name)
            if changed and field.name not in supported and name not in _WITHOUT_EFFECT:
                names.append(name)
    if config.backend.torchao != default.backend.torchao:
        names.append("backend.torchao")
    if (embedding := config.quantization.embedding_quantize) is not None and embedding.startswith("torchao:"):
        names.append(f"quantization.embedding_quantize={embedding}")
    if config.quantization.qmode not in _SUPPORTED_QMODES:
        names.append(f"quantization.qmode={config.quantization.qmode}")
    if names:
        raise SettingsError(f"not supported in this version: {', '.join(names)}; leave them out")


def make_model(config: LlmConfig) -> Transformer:
    """The model with its weights, quantised as the settings say.

    Raises SettingsError, `CheckpointError` or `GGUFError` for what cannot be used, OSError for files that cannot be
    read.
    """
    overrides: dict[str, Any] = {
        "max_seq_len": config.export.max_seq_length,
        "max_context_len": config.export.max_context_length,
        "use_kv_cache": config.model.use_kv_cache,
        "use_sdpa_with_kv_cache_op": config.model.use_sdpa_with_kv_cache,
        "enable_dynamic_shape": config.model.enable_dynamic_shape,
        "generate_full_logits": config.debug.generate_full_logits,
        "input_prune_map": _prune_map(config.model.input_prune_map),
        "output_prune_map": _prune_map(config.model.output_prune_map),
    }
    model = _load(config, overrides).eval()
    _quantize(model, config)
    return model


def _load(config: LlmConfig, overrides: dict[str, Any]) -> Transformer:
    checkpoint = config.base.checkpoint
    if checkpoint is not None and Path(checkpoint).suffix not in (".pth", ".pt"):
        if config.base.params is not None:
            raise SettingsError(
                "base.params: a GGUF file and a folder of Hugging Face's form have their own; leave it out"
            )
        return load_model(checkpoint, **overrides)
    if config.base.params is None:
        raise SettingsError(
            "base.params is missing: name the JSON file with the model's hyperparameters, or a checkpoint with them "
            "(base.checkpoint: a .gguf file, or a folder with config.json and safetensors)"
        )
    params = _read_json(Path(config.base.params), "base.params")
    known = {field.name for field in dataclasses.fields(ModelArgs)}
    if unknown := sorted(params.keys() - known):
        raise SettingsError(f"{config.base.params}: these are no fields of ModelArgs: {', '.join(unknown)}")
    model = construct_transformer(ModelArgs(**{**params, **overrides}))
    if checkpoint is not None:
        weights = _read_weights(checkpoint)
        try:
            set_weights(model, weights)
        except CheckpointError as error:
            raise CheckpointError(f"{checkpoint}: {error}") from None
    return model


def _read_weights(checkpoint: str) -> dict[str, torch.Tensor]:
    """The tensors of a .pth file in float32. Raises CheckpointError for a file that holds something else."""
    try:
        read = torch.load(checkpoint, map_location="cpu", mmap=True, weights_only=True)
    except (RuntimeError, EOFError, UnpicklingError) as error:
        raise CheckpointError(f"{checkpoint} is no checkpoint of PyTorch: {str(error).splitlines()[0]}") from error
    if not isinstance(read, dict) or not all(isinstance(value, torch.Tensor) for value in read.values()):
        raise CheckpointError(f"{checkpoint}: expected a dictionary of tensors by their names")
    weights = {name: value.float() for name, value in read.items() if name != "rope.freqs"}
    if "tok_embeddings.weight" in weights:
        weights.setdefault("output.weight", weights["tok_embeddings.weight"])
    return weights


def _quantize(model: Transformer, config: LlmConfig) -> None:
    qmode, embedding = config.quantization.qmode, config.quantization.embedding_quantize
    quantized = [m for m in model.modules() if isinstance(getattr(m, "weight", None), ExportableGGUFTensor)]
    if quantized and (qmode is not None or embedding is not None):
        raise SettingsError(
            "the checkpoint is quantised already, and quantising again loses more: leave out quantization.*"
        )
    for module in quantized:  # no operator here computes on GGUF's blocks
        weight: Any = module.weight
        module.weight = torch.nn.Parameter(weight.dequantize(torch.float32), requires_grad=False)
    if qmode is None and embedding is None:
        return
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        quantize_,
    )

    def of(kind: type[torch.nn.Module], group: int) -> Callable[[torch.nn.Module, str], bool]:
        """Layers of a kind whose rows are whole groups."""
        return lambda module, _: isinstance(module, kind) and (not group or module.weight.shape[1] % group == 0)

    if embedding is not None:
        bits, group = embedding_bits_and_group(embedding)
        granularity = PerGroup(group) if group else PerAxis(0)
        table = IntxWeightOnlyConfig(weight_dtype=_EMBEDDING_DTYPES[bits], granularity=granularity)
        if model.params.dim % (group or 1):
            raise SettingsError(
                f"quantization.embedding_quantize: rows of {model.params.dim} numbers are no groups of {group}"
            )
        quantize_(model, table, of(torch.nn.Embedding, group))
    if qmode == "8da4w":
        group = config.quantization.group_size or _GROUP_SIZE
        linear: Any = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(group))
        quantize_(model, linear, of(torch.nn.Linear, group))


def capture(model: Transformer) -> ExportedProgram:
    """What `torch.export` makes of the model: inputs are tokens, int64 [1, tokens], and with a cache the position of
    the
    first one, int64 [1]."""
    params = model.params
    length = 1 if params.use_kv_cache and not params.enable_dynamic_shape else min(3, params.max_seq_len)
    tokens = torch.zeros(1, length, dtype=torch.int64)
    sizes: Any = {1: Dim("tokens", min=1, max=params.max_seq_len)} if params.enable_dynamic_shape else None
    if not params.use_kv_cache:
        return torch.export.export(model, (tokens,), dynamic_shapes=(sizes, None, None)[:1])
    inputs: Any = (tokens, {"input_pos": torch.zeros(1, dtype=torch.int64)})
    return torch.export.export(model, inputs, dynamic_shapes=(sizes, {"input_pos": None}))


def metadata_of(model: Transformer, config: LlmConfig) -> dict[str, Any]:
    """What the program's methods without inputs return: limits and ids that a runner needs."""
    params = model.params
    found: dict[str, Any] = {
        "get_max_seq_len": params.max_seq_len,
        "get_max_context_len": params.max_context_len,
        "get_n_layers": params.n_layers,
        "get_vocab_size": params.vocab_size,
        "use_kv_cache": params.use_kv_cache,
        "use_sdpa_with_kv_cache": params.use_sdpa_with_kv_cache_op,
        "enable_dynamic_shape": params.enable_dynamic_shape,
    }
    if params.use_kv_cache and "conv" in (params.layer_types or ()):
        found["has_recurrent_state"] = True  # a runner cannot go back to an earlier position
    if config.base.metadata is not None:
        try:
            more = json.loads(config.base.metadata)
        except json.JSONDecodeError as error:
            raise SettingsError(f"base.metadata is no JSON: column {error.colno}: {error.msg}") from None
        if not isinstance(more, dict):
            raise SettingsError(f"base.metadata must be a JSON object of names and values, found {more!r}")
        found |= more
    return found


def lower(exported: ExportedProgram, config: LlmConfig, metadata: dict[str, Any]) -> EdgeProgramManager:
    """Gives the program to the enabled backends, in the order of `BackendConfig`.

    Raises `BackendError` for a backend that is not there.
    """
    settings = config.backend
    names = [f.name for f in dataclasses.fields(settings) if getattr(getattr(settings, f.name), "enabled", False)]
    partitioners = [backend(name).make("partitioner") for name in names]
    return to_edge_transform_and_lower(
        exported,
        partitioner=partitioners,
        constant_methods=metadata,
        generate_etrecord=config.debug.generate_etrecord,
    )


def export_program(config: LlmConfig) -> tuple[Transformer, ExportedProgram, ExecutorchProgramManager | None]:
    """The eager model, what `torch.export` made of it, and the program (None with `export.export_only`)."""
    refuse_unsupported(config)
    model = make_model(config)
    metadata, named_data = metadata_of(model, config), {}
    if config.export.embed_tokenizer:
        tokenizer = tokenizer_data(config.base.checkpoint, config.base.tokenizer_path)
        metadata, named_data = tokenizer.metadata | metadata, tokenizer.named_data
    with torch.no_grad():
        exported = capture(model)
    if config.export.export_only:
        return model, exported, None
    written = ExecutorchBackendConfig(named_data=named_data)
    return model, exported, lower(exported, config, metadata).to_executorch(written)


def _prune_map(path: str | None) -> dict[int, int] | None:
    if path is None:
        return None
    read = _read_json(Path(path), "the prune map")
    try:
        return {int(row): int(token) for row, token in read.items()}
    except (TypeError, ValueError):
        raise SettingsError(f"{path}: a prune map has whole numbers only") from None


def _read_json(path: Path, what: str) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise SettingsError(f"{path}, line {error.lineno}, column {error.colno}: {error.msg}") from None
    if not isinstance(read, dict):
        raise SettingsError(f"{path}: {what} must be a JSON object")
    return read
