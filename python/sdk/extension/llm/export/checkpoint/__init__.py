# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of language models: from files to a `Transformer` with its weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from sdk.exir._serialize._regular_file import JSONFileError, read_json
from sdk.extension.llm.export.checkpoint._gguf import gguf_args, gguf_weights
from sdk.extension.llm.export.checkpoint._hub import HUB_IDS, downloaded, is_hub_id
from sdk.extension.llm.export.checkpoint._hugging_face import hugging_face_args, hugging_face_weights, read_config
from sdk.extension.llm.export.checkpoint._lora import adapter_args, adapter_weights, read_adapter, with_adapters
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Weights, split_rows
from sdk.extension.llm.export.checkpoint._prequantized import prequantized_weights
from sdk.extension.llm.export.checkpoint._safetensors import read_safetensors
from sdk.extension.llm.export.gguf import GGUFFile
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import Transformer, construct_transformer

__all__ = [
    "HUB_IDS",
    "CheckpointError",
    "adapter_args",
    "adapter_weights",
    "downloaded",
    "gguf_args",
    "gguf_weights",
    "hugging_face_args",
    "hugging_face_weights",
    "is_hub_id",
    "load_model",
    "model_of",
    "prequantized_weights",
    "read_adapter",
    "read_safetensors",
    "set_weights",
    "split_rows",
]


def load_model(path: str | Path, adapter: Weights | None = None, **overrides: Any) -> Transformer:
    """The model of a GGUF file, or of a folder with `config.json` and safetensors files, with its weights.

    `adapter`: weights of LoRA adapters under PEFT's names, for the layers that `overrides` name. `overrides`: fields
    of `ModelArgs`, such as `max_context_len` and `use_kv_cache`. Quantised weights of GGUF files stay quantised
    (`ExportableGGUFTensor`). Raises CheckpointError for a checkpoint that is incomplete or of a model that is not
    supported, `GGUFError` for a file that is not valid, OSError for files that cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        return _load_folder(path, adapter, overrides)
    if path.suffix.lower() != ".gguf":
        raise CheckpointError(f"{path}: expected a .gguf file, or a folder with config.json and .safetensors files")
    file = GGUFFile(path)
    with _named(path):
        args = gguf_args(file, **overrides)
        return model_of(args, gguf_weights(file, args), adapter)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """While active, ValueErrors that do not name the checkpoint become CheckpointErrors that do."""
    try:
        yield
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise CheckpointError(f"{path}: {error}") from None


def _load_folder(folder: Path, adapter: Weights | None, overrides: dict[str, Any]) -> Transformer:
    try:
        config = read_json(folder / "config.json")
    except JSONFileError as error:
        raise CheckpointError(str(error)) from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{folder / 'config.json'}: expected a JSON object")
    with _named(folder):
        args, tied = read_config(config, overrides)
        weights = hugging_face_weights(read_safetensors(folder), config["model_type"], args, tied)
        return model_of(args, {name: value.float() for name, value in weights.items()}, adapter)


def model_of(args: ModelArgs, weights: Weights, adapter: Weights | None = None) -> Transformer:
    """A model with these hyperparameters and weights, and with the weights of LoRA adapters under PEFT's names."""
    with _WithoutWeights():
        model = construct_transformer(args)
    set_weights(model, {**weights, **adapter_weights((adapter or {}).items(), args)})
    return model


class _WithoutWeights(TorchFunctionMode):
    """While active, new layers have parameters without memory, which are replaced later by the checkpoint's."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **{**(kwargs or {}), **({"device": "meta"} if func is torch.empty else {})})


def set_weights(model: torch.nn.Module, weights: Weights) -> None:
    """Assigns tensors to the parameters of a model, without copying them.

    The names are the model's; weights below LoRA adapters may have the names of a model without them. Raises
    CheckpointError, before it changes anything, if names or shapes differ from the model's.
    """
    weights = with_adapters(model, weights)
    expected = dict(model.named_parameters(remove_duplicate=False))
    problems = [f"{name} is missing" for name in expected.keys() - weights.keys()]
    problems += [f"{name} is not part of the model" for name in weights.keys() - expected.keys()]
    problems += [
        f"{name} has the shape {list(weights[name].shape)}, expected {list(value.shape)}"
        for name, value in expected.items()
        if name in weights and weights[name].shape != value.shape
    ]
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise CheckpointError("; ".join(sorted(problems)[:5]) + more)
    for name, value in weights.items():
        owner, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(owner), attribute, torch.nn.Parameter(value, requires_grad=False))
