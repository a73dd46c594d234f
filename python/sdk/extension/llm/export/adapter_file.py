# SPDX-License-Identifier: BSD-3-Clause
"""Adapters as files that a program loads in place of those it was exported with.

A program with adapters in a file of their own (`export.lora_weights_file`) names their matrices; its method `get_lora`
says how it applies them. Another adapter of the same model becomes a file with the same names: an adapter of a smaller
rank is padded with zeros, and so are layers that it does not have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdk.exir import schema
from sdk.exir._serialize._flat_tensor import FlatTensorSerializer
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir._serialize.data_serializer import DataEntry, DataPayload
from sdk.exir.tensor_layout import TensorLayout
from sdk.extension.llm.export.checkpoint import CheckpointError, adapter_args, adapter_weights, read_adapter
from sdk.extension.llm.model.model_args import ModelArgs

LORA_METHOD = "get_lora"
_MATRIX = re.compile(r"(.*\.lora_)([ab])(\.weight)")
_FILES = ("adapter_model.safetensors", "adapter_model.bin")


def lora_metadata(params: ModelArgs) -> dict[str, str]:
    """The method that says how a model applies its adapters; {} without any."""
    if not params.target_modules or not params.r or params.lora_alpha is None:
        return {}
    how = {"scale": params.lora_alpha / params.r, "use_hf_rope": params.use_hf_rope, "head_dim": params.head_dim}
    return {LORA_METHOD: json.dumps(how)}


def write_adapter(folder: Path, program: Path, output: Path) -> list[str]:
    """Writes the adapter in a folder of PEFT's form as a file for a program. Returns the layers that it changes.

    Raises CheckpointError for an adapter or a program that cannot be used, OSError for files that cannot be read.
    """
    places, how = _places(program)
    config = adapter_args(folder / "adapter_config.json")
    file = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise CheckpointError(f"{folder}: expected {' or '.join(_FILES)}")
    args = ModelArgs(head_dim=how["head_dim"], use_hf_rope=how["use_hf_rope"])
    weights = adapter_weights(read_adapter(file).items(), args)
    if unknown := sorted(weights.keys() - places.keys()):
        raise CheckpointError(
            f"{program}: the program has no place for {unknown[0]}: export it with an adapter that has all "
            f"target_modules of this one ({', '.join(config['target_modules'])})"
        )
    scale = config["lora_alpha"] / config["r"] / how["scale"]
    filled = {}
    for name, sizes in places.items():
        weight = weights.get(name, torch.zeros(sizes))
        filled[name] = _padded(name, weight * scale if "lora_b" in name else weight, sizes)
    Path(output).write_bytes(_flat_tensors(filled))
    return sorted({_MATRIX.sub(r"\1", name).removesuffix(".lora_") for name in weights})


def _places(program: Path) -> tuple[dict[str, list[int]], dict[str, Any]]:
    """The sizes of the matrices that a program reads from another file, by their names, and its `get_lora`."""
    try:
        plans = deserialize_pte_binary(read_file(program)).program.execution_plan
    except ValueError as error:
        raise CheckpointError(f"{program}: {error}") from None
    found: dict[str, list[int]] = {}
    how: str | None = None
    for plan in plans:
        for value in plan.values:
            tensor = value.val
            info = tensor.extra_tensor_info if isinstance(tensor, schema.Tensor) else None
            if not isinstance(tensor, schema.Tensor) or info is None:
                continue
            is_external = info.location == schema.TensorDataLocation.EXTERNAL
            if is_external and _MATRIX.fullmatch(info.fully_qualified_name or ""):
                found[str(info.fully_qualified_name)] = tensor.sizes
        if plan.name == LORA_METHOD and plan.outputs:
            output = plan.values[plan.outputs[0]].val
            how = output.string_val if isinstance(output, schema.String) else None
    if not found or how is None:
        raise CheckpointError(
            f"{program}: the program has no adapters in a file of their own: export it with base.lora_config and "
            "export.lora_weights_file, and without a backend that takes these layers (--backend portable)"
        )
    return found, json.loads(how)


def _padded(name: str, weight: Tensor, sizes: list[int]) -> Tensor:
    """The matrix at the rank of the program."""
    rank = 1 if "lora_b" in name else 0
    fits = weight.dim() == 2 and weight.shape[1 - rank] == sizes[1 - rank] and weight.shape[rank] <= sizes[rank]
    if not fits:
        raise CheckpointError(
            f"{name}: expected {sizes[0]} x {sizes[1]} numbers, or fewer in dimension {rank}, which is the rank; found "
            f"{' x '.join(map(str, weight.shape))}"
        )
    whole = torch.zeros(sizes)
    whole[: weight.shape[0], : weight.shape[1]] = weight
    return whole


def _flat_tensors(tensors: dict[str, Tensor]) -> bytes:
    buffers, entries = [], {}
    for index, (name, tensor) in enumerate(tensors.items()):
        entries[name] = DataEntry(index, 16, TensorLayout.from_tensor(tensor))
        buffers.append(tensor.contiguous().numpy().tobytes())
    return bytes(FlatTensorSerializer().serialize(DataPayload(buffers, entries)))
