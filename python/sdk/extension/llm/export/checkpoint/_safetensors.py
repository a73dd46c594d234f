# SPDX-License-Identifier: BSD-3-Clause
"""Weights of safetensors files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from torch import Tensor

from sdk.exir._serialize._regular_file import read_json, regular
from sdk.extension.llm.export.checkpoint._names import CheckpointError


def read_safetensors(path: Path) -> Iterator[tuple[str, Tensor]]:
    """Yields names and values of the weights in a file, or in the files of a folder. Reads a weight when it is
    requested.

    Weights that torchao quantised and saved become torchao's tensor subclasses again. Raises CheckpointError for files
    that are not valid.
    """
    from safetensors import SafetensorError, safe_open

    files = _weight_files(path) if path.is_dir() else [path]
    with ExitStack() as stack:
        where: dict[str, Any] = {}
        about: dict[str, str] = {}
        quantized: dict[str, None] = {}
        for file in files:
            try:
                opened = stack.enter_context(safe_open(regular(file), framework="pt"))
                where.update(dict.fromkeys(opened.keys(), opened))
                found = opened.metadata() or {}
                about.update(found)
                quantized.update(dict.fromkeys(json.loads(found.get("tensor_names", "[]"))))
            except (SafetensorError, ValueError, TypeError) as error:
                raise CheckpointError(f"{file}: {error}") from None
        if not quantized:
            for name, file in where.items():
                yield name, file.get_tensor(name)
        for name in quantized:
            yield name, where[name].get_tensor(name) if name in where else _assembled(path, name, where, about)


def _assembled(path: Path, name: str, where: dict[str, Any], about: dict[str, str]) -> Tensor:
    """The torchao weight whose parts are stored under names derived from `name`."""
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict

    owner, _, kind = name.rpartition(".")
    parts = {key: file.get_tensor(key) for key, file in where.items() if key.startswith(f"{owner}._{kind}_")}
    try:
        read, _ = unflatten_tensor_state_dict(parts, {name: about[name], "tensor_names": json.dumps([name])})
        weight: Tensor = read[name]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: {name} cannot be made of its parts {sorted(parts)}: {error!r}") from None
    return weight


def _weight_files(folder: Path) -> list[Path]:
    """Returns the safetensors files that transformers reads: those of the index, or `model.safetensors`, or else all
    files of the folder, because older programs split weights without an index.

    Mistral's folders have the weights twice, the second time under other names.
    """
    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if not index.exists():
        files = [single] if single.exists() else sorted(folder.glob("*.safetensors"))
        if not files:
            raise CheckpointError(f"{folder} has no .safetensors files")
        return files
    try:
        names = set(read_json(index)["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError):
        names = {""}
    if not all(isinstance(name, str) and Path(name).name == name != "" for name in names):
        raise CheckpointError(f"{index}: expected an object whose weight_map has the file of each weight")
    if missing := sorted(name for name in names if not (folder / name).exists()):
        raise CheckpointError(f"{folder} lacks {', '.join(missing)}, which {index.name} names")
    return [folder / name for name in sorted(names)]
