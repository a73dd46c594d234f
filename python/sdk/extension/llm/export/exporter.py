# SPDX-License-Identifier: BSD-3-Clause
"""Makes the program of a language model from settings."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.fx import Node
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from sdk.exir import EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._tensor_data import memory_of
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.extension.llm.export.adapter_file import lora_metadata
from sdk.extension.llm.export.backends import partitioners, refuse_unknown
from sdk.extension.llm.export.config.llm_config import DtypeOverride, LlmConfig, ModelType, SpinQuant
from sdk.extension.llm.export.dtypes import DTYPES, change_dtype
from sdk.extension.llm.export.load import load, prune_map
from sdk.extension.llm.export.multimodal import MultimodalModel, is_multimodal, load_multimodal
from sdk.extension.llm.export.quantize import UNSUPPORTED_QMODES, quantize
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.model.caches import (
    quantize_kv_cache,
    use_attention_sinks,
    use_local_global_attention,
)
from sdk.extension.llm.model.spin_quant import (
    inject_fast_hadamard_transform_native_for_spin_quant,
)
from sdk.extension.llm.model.transformer import Transformer

_WITHOUT_EFFECT = ("base.tokenizer_path",)
_NO_LIMIT = 2**31 - 1
_SUPPORTED = {
    "base": (
        "model_class",
        "checkpoint",
        "params",
        "metadata",
        "lora_config",
        "preq_mode",
        "preq_group_size",
        "preq_embedding_quantize",
    ),
    "model": (
        "dtype_override",
        "enable_dynamic_shape",
        "input_prune_map",
        "output_prune_map",
        "use_kv_cache",
        "use_sdpa_with_kv_cache",
        "use_shared_embedding",
        "use_attention_sink",
        "quantize_kv_cache",
        "local_global_attention",
    ),
    "export": (
        "max_seq_length",
        "max_context_length",
        "output_dir",
        "output_name",
        "export_only",
        "foundation_weights_file",
        "lora_weights_file",
        "embed_tokenizer",
        "so_library",
    ),
    "debug": ("generate_etrecord", "generate_full_logits", "profile_memory", "profile_path", "verbose"),
    "multimethod": ("methods", "share_mutable_buffers"),
    "quantization": (
        "qmode",
        "group_size",
        "embedding_quantize",
        "use_hqq",
        "use_spin_quant",
        "pt2e_quantize",
        "calibration_data",
    ),
}
"""The settings that this version supports, except the settings of backends."""


def refuse_unsupported(config: LlmConfig) -> None:
    """Raises SettingsError if settings that this version does not support differ from their defaults. The message names
    all of them."""
    default = LlmConfig()
    names = []
    for group, supported in _SUPPORTED.items():
        for field in dataclasses.fields(getattr(config, group)):
            name = f"{group}.{field.name}"
            changed = getattr(getattr(config, group), field.name) != getattr(getattr(default, group), field.name)
            if changed and field.name not in supported and name not in _WITHOUT_EFFECT:
                names.append(name)
    if config.base.model_class is ModelType.llama3_2_vision:
        raise SettingsError("base.model_class: llama3_2_vision reads images, which this version does not export")
    if (why := UNSUPPORTED_QMODES.get(config.quantization.qmode or "")) is not None:
        raise SettingsError(f"quantization.qmode={config.quantization.qmode}: {why}")
    if names:
        raise SettingsError(f"not supported in this version: {', '.join(names)}; leave them out")
    refuse_unknown(config)


def make_model(config: LlmConfig) -> Transformer:
    """The model with its weights, quantised as the settings say.

    Raises SettingsError, `CheckpointError` or `GGUFError` for what cannot be used, OSError for files that cannot be
    read.
    """
    return prepare(load(config, overrides_of(config)), config)


def prepare(model: Transformer, config: LlmConfig) -> Transformer:
    """Gives a model the caches, the layers and the dtype of the settings. Raises the same errors as `make_model`."""
    model = model.eval()
    change_caches(model, config)
    if config.quantization.use_spin_quant is not None:
        _rotate(model, config.quantization.use_spin_quant)
    quantize(model, config)
    if config.model.dtype_override is not DtypeOverride.fp32:
        change_dtype(model, DTYPES[config.model.dtype_override])
    return model


def overrides_of(config: LlmConfig) -> dict[str, Any]:
    """The fields of `ModelArgs` that settings have."""
    return {
        "max_seq_len": config.export.max_seq_length,
        "max_context_len": config.export.max_context_length,
        "use_kv_cache": config.model.use_kv_cache,
        "use_sdpa_with_kv_cache_op": config.model.use_sdpa_with_kv_cache,
        "enable_dynamic_shape": config.model.enable_dynamic_shape,
        "generate_full_logits": config.debug.generate_full_logits,
        "input_prune_map": prune_map(config.model.input_prune_map),
        "output_prune_map": prune_map(config.model.output_prune_map),
    }


def _rotate(model: Transformer, where: SpinQuant) -> None:
    if where is not SpinQuant.native:
        raise SettingsError("quantization.use_spin_quant=cuda is for programs on CUDA; use native")
    try:
        inject_fast_hadamard_transform_native_for_spin_quant(model)
    except ValueError as error:
        raise SettingsError(f"quantization.use_spin_quant: {error}") from None


def change_caches(model: Transformer, config: LlmConfig) -> None:
    """Gives a model the caches of the settings. Raises SettingsError for settings that do not go together."""
    sink, sizes = config.model.use_attention_sink, config.model.local_global_attention
    if sink and sizes:
        raise SettingsError("model.use_attention_sink and model.local_global_attention exclude each other")
    if sink and not config.model.use_kv_cache:
        raise SettingsError("model.use_attention_sink needs model.use_kv_cache=true")
    try:
        if config.model.quantize_kv_cache:
            quantize_kv_cache(model)
        if sizes:
            use_local_global_attention(model, sizes)
        if sink:
            numbers = re.fullmatch(r"(\d+),(\d+)", sink.replace(" ", ""))
            if numbers is None:
                raise ValueError(f"expected '<sink_size>,<window_size>', two whole numbers, found {sink!r}")
            use_attention_sinks(model, int(numbers[1]), int(numbers[2]))
    except ValueError as error:
        raise SettingsError(f"model.{'use_attention_sink' if sink else 'local_global_attention'}: {error}") from None


def example_call(model: Transformer, count: int | None = None) -> tuple[tuple[Any, ...], Any]:
    """Inputs of the model, and their dynamic shapes for `torch.export`.

    Inputs are tokens, int64 [1, tokens], and with a cache the position of the first one, int64 [1]. `count`: the number
    of tokens of a call; None: any number if the model has dynamic shapes, else one with a cache and up to 3 without.
    """
    params = model.params
    dynamic = params.enable_dynamic_shape and count is None
    length = min(3, params.max_seq_len) if dynamic or not params.use_kv_cache else 1
    tokens = torch.zeros(1, count or length, dtype=torch.int64)
    sizes: Any = {1: Dim("tokens", min=1, max=params.max_seq_len)} if dynamic else None
    if not params.use_kv_cache:
        return (tokens,), (sizes,)
    return (tokens, {"input_pos": torch.zeros(1, dtype=torch.int64)}), (sizes, {"input_pos": None})


def capture(model: Transformer, config: LlmConfig, count: int | None = None) -> ExportedProgram:
    """Exports the model with `torch.export` and quantises it by `quantization.pt2e_quantize`. `count`: see
    `example_call`."""
    inputs, shapes = example_call(model, count)
    captured = torch.export.export(model, inputs, dynamic_shapes=shapes)
    if config.quantization.pt2e_quantize is None:
        return captured
    from sdk.extension.llm.export.quantize.pt2e import calibration_calls, quantize_captured

    most = count or (model.params.max_seq_len if model.params.enable_dynamic_shape else inputs[0].shape[1])
    calls = calibration_calls(config, most, len(inputs) == 2)
    fits = model.params.enable_dynamic_shape and count is None  # otherwise every call has `most` tokens
    calls = [call for call in calls if fits or call[0].shape[1] == most]
    return torch.export.export(quantize_captured(captured, config, inputs, calls), inputs, dynamic_shapes=shapes)


def metadata_of(model: Transformer, config: LlmConfig) -> dict[str, Any]:
    """The values of the program's methods without inputs, by name: limits and ids that a runner needs."""
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
    if config.model.use_attention_sink:
        found["get_max_context_len"] = _NO_LIMIT  # old positions are dropped, so a runner can continue forever
    if params.use_kv_cache and "conv" in (params.layer_types or ()):
        found["has_recurrent_state"] = True  # a runner cannot go back to an earlier position
    found |= lora_metadata(params)
    if config.base.metadata is not None:
        try:
            more = json.loads(config.base.metadata)
        except json.JSONDecodeError as error:
            raise SettingsError(f"base.metadata is not JSON: column {error.colno}: {error.msg}") from None
        if not isinstance(more, dict):
            raise SettingsError(f"base.metadata must be a JSON object of names and values, found {more!r}")
        found |= more
    return found


def lower(
    exported: ExportedProgram | dict[str, ExportedProgram], config: LlmConfig, metadata: dict[str, Any]
) -> EdgeProgramManager:
    """Passes the program, or the program of each method, to the enabled backends, in the order of `BackendConfig`.

    Raises SettingsError or `BackendError` for an unknown backend or one that lacks a package.
    """
    return to_edge_transform_and_lower(
        exported,
        partitioner=partitioners(config),
        constant_methods=metadata,
        generate_etrecord=config.debug.generate_etrecord,
    )


def export_program(config: LlmConfig) -> tuple[Transformer, ExportedProgram, ExecutorchProgramManager | None]:
    """Returns the eager model, the program that `torch.export` captured from its first method, and the lowered program.

    The first method of a multimodal model is `text_decoder`. The lowered program is None with `export.export_only`.
    """
    refuse_unsupported(config)
    if config.export.so_library is not None:
        try:
            torch.ops.load_library(config.export.so_library)
        except OSError as error:
            raise SettingsError(f"export.so_library: {error}") from None
    multimodal = _multimodal(config)
    model = prepare(multimodal.text, config) if multimodal is not None else make_model(config)
    metadata, named_data = metadata_of(model, config), {}
    if multimodal is not None:
        metadata = multimodal.metadata | metadata
    if config.export.embed_tokenizer:
        from sdk.extension.llm.export.tokenizer.data import tokenizer_data

        tokenizer = tokenizer_data(config.base.checkpoint, config.base.tokenizer_path)
        metadata, named_data = tokenizer.metadata | metadata, tokenizer.named_data
    exported = _captured(model, config) if multimodal is None else multimodal.captured()
    first = exported["text_decoder"] if multimodal is not None else next(iter(exported.values()))
    if config.export.export_only:
        return model, first, None
    named_data["program_digest"] = _digest(model, config)
    settings = ExecutorchBackendConfig(
        named_data=named_data,
        emit_mutable_buffer_names=True,  # a runner saves the caches of a conversation
        external_constants=_weights_file(config) or False,
        memory_planning_pass=MemoryPlanningPass(
            share_mutable_buffers=config.multimethod.share_mutable_buffers or "picture_decoder" in exported
        ),
    )
    return model, first, lower(exported, config, metadata).to_executorch(settings)


def _digest(model: Transformer, config: LlmConfig) -> bytes:
    """The SHA-256 of a model's weights and of the settings that change its program; paths of files are not part of it.
    A runner accepts only session files with this digest."""
    lengths = (config.export.max_seq_length, config.export.max_context_length)
    settings = (model.params, config.model, config.quantization, config.backend, config.multimethod, lengths)
    digest = hashlib.sha256(repr(settings).encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        for part in _plain(value):
            digest.update(memory_of(part.detach().contiguous()))
    return digest.digest()


def _plain(value: Any) -> Iterator[torch.Tensor]:
    """The tensors that a quantised tensor consists of."""
    if is_traceable_wrapper_subclass(value):
        for name in value.__tensor_flatten__()[0]:
            yield from _plain(getattr(value, name))
    elif isinstance(value, torch.Tensor):
        yield value


def _captured(model: Transformer, config: LlmConfig) -> dict[str, ExportedProgram]:
    with torch.no_grad():
        return {name: capture(model, config, count) for name, count in _methods(model, config).items()}


def _multimodal(config: LlmConfig) -> MultimodalModel | None:
    """The model of a folder that takes pictures or sound; None for other checkpoints. Raises SettingsError for settings
    that such models do not have in this version."""
    if not is_multimodal(config.base.checkpoint):
        return None
    default = LlmConfig()
    refused = [
        name
        for name in (
            "base.params",
            "base.lora_config",
            "model.input_prune_map",
            "model.output_prune_map",
            "model.dtype_override",
            "multimethod.methods",
            "quantization.pt2e_quantize",
            "export.export_only",
        )
        if attrgetter(name)(config) != attrgetter(name)(default)
    ]
    if refused:
        raise SettingsError(f"not supported for models with pictures or sound: {', '.join(refused)}; leave them out")
    if not config.model.use_kv_cache or not config.model.enable_dynamic_shape:
        raise SettingsError(
            "models with pictures or sound need model.use_kv_cache=true and model.enable_dynamic_shape=true"
        )
    return load_multimodal(Path(str(config.base.checkpoint)), overrides_of(config))


def _methods(model: Transformer, config: LlmConfig) -> dict[str, int | None]:
    """The number of tokens of a call by method; None: any number."""
    methods: dict[str, int | None] = {}
    for method in config.multimethod.methods:
        count = method.export_seq_len
        if method.lora_config is not None:
            raise SettingsError(
                f"multimethod.methods: adapters of the method {method.method_name!r} alone are not supported in this "
                "version; use base.lora_config"
            )
        if method.method_name in methods:
            raise SettingsError(f"multimethod.methods: there are two methods {method.method_name!r}")
        if count is not None and not 1 <= count <= model.params.max_seq_len:
            raise SettingsError(
                f"multimethod.methods: export_seq_len of {method.method_name!r} is {count}, expected 1 to "
                f"export.max_seq_length, {model.params.max_seq_len}"
            )
        methods[method.method_name] = count
    if len(methods) > 1 and config.export.export_only:
        raise SettingsError("export.export_only writes one method; leave out multimethod.methods")
    return methods or {"forward": None}


def _weights_file(config: LlmConfig) -> Callable[[Node], str | None] | None:
    """A function from a constant to its .ptd file (None: in the program); None if the settings name no .ptd files."""
    base, adapters = config.export.foundation_weights_file, config.export.lora_weights_file
    if base is None and adapters is None:
        return None
    for name in (base, adapters):
        if name is not None and Path(name).name != name:
            raise SettingsError(f"{name}: files of weights are written beside the program; expected a name alone")
    return lambda node: adapters if re.search(r"_lora_[ab]_", node.name) else base
