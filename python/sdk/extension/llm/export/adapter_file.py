# SPDX-License-Identifier: BSD-3-Clause
"""Writes adapters to files that a program loads instead of the adapters that it was exported with.

A program with adapters in a separate file (`export.lora_weights_file`) names their matrices; its method `get_lora` says
how it applies them. Another adapter of the same model becomes a file with the same names: an adapter of a smaller rank
is padded with zeros, and so are layers that it does not have.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sdk.command import write_bytes
from sdk.exir import schema
from sdk.exir._serialize._flat_tensor import FlatTensorSerializer
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir._serialize.data_serializer import DataEntry, DataPayload
from sdk.exir.tensor import get_scalar_type
from sdk.exir.tensor_layout import TensorLayout
from sdk.extension.llm.export.checkpoint import CheckpointError, adapter_args, adapter_weights, read_adapter
from sdk.extension.llm.model.model_args import ModelArgs

LORA_METHOD = "get_lora"
_MATRIX = re.compile(r"(.*\.lora_)([ab])(\.weight)")
_FILES = ("adapter_model.safetensors", "adapter_model.bin")
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_MOST_BYTES = 4 << 30
"""Limit of the matrices of one adapter. Those of rank 256 for all layers of a model of 70B take 2 GB in float16."""


class _Place(NamedTuple):
    """A matrix that a program reads from another file."""

    sizes: list[int]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        return math.prod(self.sizes) * self.dtype.itemsize


def lora_metadata(params: ModelArgs) -> dict[str, str]:
    """The method that says how a model applies its adapters; {} without any."""
    if not params.target_modules or not params.r or params.lora_alpha is None:
        return {}
    how = {"scale": params.lora_alpha / params.r, "use_hf_rope": params.use_hf_rope, "head_dim": params.head_dim}
    return {LORA_METHOD: json.dumps(how)}


def write_adapter(folder: Path, program: Path, output: Path) -> list[str]:
    """Writes the adapter in a folder of PEFT's form as a file for a program. Returns the layers that it changes.

    Raises CheckpointError for an adapter or a program that cannot be used, OSError for files that cannot be read, and
    CommandError if the file cannot be written; no partial file is left.
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
    for name, weight in weights.items():
        _check_sizes(name, weight, places[name].sizes)
    scale = config["lora_alpha"] / config["r"] / how["scale"]
    filled = {}
    for name, place in places.items():
        weight = weights.get(name)
        filled[name] = _padded(name, weight, scale if "lora_b" in name else 1.0, place)
    write_bytes(Path(output), _flat_tensors(filled))
    return sorted({_MATRIX.sub(r"\1", name).removesuffix(".lora_") for name in weights})


def _places(program: Path) -> tuple[dict[str, _Place], dict[str, Any]]:
    """The matrices that a program reads from another file, by their names, and its `get_lora`."""
    try:
        plans = deserialize_pte_binary(read_file(program)).program.execution_plan
    except ValueError as error:
        raise CheckpointError(f"{program}: {error}") from None
    found: dict[str, _Place] = {}
    how: str | None = None
    for plan in plans:
        for value in plan.values:
            tensor = value.val
            info = tensor.extra_tensor_info if isinstance(tensor, schema.Tensor) else None
            if not isinstance(tensor, schema.Tensor) or info is None:
                continue
            is_external = info.location == schema.TensorDataLocation.EXTERNAL
            if is_external and _MATRIX.fullmatch(info.fully_qualified_name or ""):
                name = str(info.fully_qualified_name)
                found[name] = _place(f"{program}: {name}", tensor)
        if plan.name == LORA_METHOD and plan.outputs:
            index = plan.outputs[0]
            output = plan.values[index].val if 0 <= index < len(plan.values) else None
            how = output.string_val if isinstance(output, schema.String) else None
    if not found or how is None:
        raise CheckpointError(
            f"{program}: the program has no adapters in a separate file: export it with base.lora_config and "
            "export.lora_weights_file, and without a backend that takes these layers (--backend portable)"
        )
    if (total := sum(place.nbytes for place in found.values())) > _MOST_BYTES:
        raise CheckpointError(
            f"{program}: expected matrices of adapters of at most {_MOST_BYTES} bytes, found {total}: export the "
            "program with an adapter of a smaller rank, or of fewer layers"
        )
    return found, _how(program, how)


def _place(where: str, tensor: schema.Tensor) -> _Place:
    try:
        dtype = get_scalar_type(tensor.scalar_type)
    except (KeyError, ValueError):
        dtype = None
    if dtype not in _DTYPES:
        raise CheckpointError(f"{where}: expected a matrix of {' or '.join(map(str, _DTYPES))}, found {dtype}")
    if len(tensor.sizes) != 2 or min(tensor.sizes) < 1:
        raise CheckpointError(f"{where}: expected two positive sizes, found {list(tensor.sizes)}")
    return _Place(list(tensor.sizes), dtype)


def _how(program: Path, text: str) -> dict[str, Any]:
    """Parses the text of `get_lora`. Raises CheckpointError if it is not what `lora_metadata` writes."""
    try:
        how = json.loads(text)
    except (ValueError, RecursionError):
        how = None
    if not isinstance(how, dict):
        raise CheckpointError(f"{program}: {LORA_METHOD}: expected a JSON object, found {text[:80]!r}")
    scale, head_dim, halves = how.get("scale"), how.get("head_dim"), how.get("use_hf_rope")
    has_scale = isinstance(scale, int | float) and not isinstance(scale, bool) and 0 < scale <= sys.float_info.max
    has_head_dim = isinstance(head_dim, int) and not isinstance(head_dim, bool) and head_dim > 0
    for name, value, is_right, expected in (
        ("scale", scale, has_scale, "a positive number"),
        ("head_dim", head_dim, has_head_dim, "a positive whole number"),
        ("use_hf_rope", halves, isinstance(halves, bool), "true or false"),
    ):
        if not is_right:
            raise CheckpointError(f"{program}: {LORA_METHOD}: expected {expected} as {name}, found {repr(value)[:80]}")
    return how


def _check_sizes(name: str, weight: Tensor, sizes: list[int]) -> None:
    rank = 1 if "lora_b" in name else 0
    if weight.shape[1 - rank] != sizes[1 - rank] or weight.shape[rank] > sizes[rank]:
        raise CheckpointError(
            f"{name}: expected {sizes[0]} x {sizes[1]} numbers, or fewer in dimension {rank}, which is the rank; found "
            f"{' x '.join(map(str, weight.shape))}"
        )


def _padded(name: str, weight: Tensor | None, scale: float, place: _Place) -> Tensor:
    """The matrix at the rank and in the dtype of the program; zeros for a layer that the adapter does not have."""
    whole = torch.zeros(place.sizes, dtype=place.dtype)
    if weight is None:
        return whole
    scaled = (weight * scale).to(place.dtype)
    if not scaled.isfinite().all():
        raise CheckpointError(f"{name}: expected finite numbers of {place.dtype}, in which the program has this matrix")
    whole[: weight.shape[0], : weight.shape[1]] = scaled
    return whole


def _flat_tensors(tensors: dict[str, Tensor]) -> bytes:
    buffers, entries = [], {}
    for index, (name, tensor) in enumerate(tensors.items()):
        entries[name] = DataEntry(index, 16, TensorLayout.from_tensor(tensor))
        buffers.append(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return bytes(FlatTensorSerializer().serialize(DataPayload(buffers, entries)))
