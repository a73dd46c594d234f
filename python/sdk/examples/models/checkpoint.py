# SPDX-License-Identifier: BSD-3-Clause
"""Files of weights that PyTorch wrote, and the names in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdk.exir._serialize._regular_file import read_file
from sdk.exir.serde._weights_file import load_weights


def get_default_model_resource_dir(model_file_path: str) -> Path:
    """Returns the folder `params` next to the module of a model."""
    return Path(model_file_path).absolute().parent / "params"


def get_checkpoint_dtype(checkpoint: dict[str, Any]) -> torch.dtype | None:
    """The dtype of the first weight, None for a checkpoint without weights. Prints the other dtypes, if any."""
    dtypes = {name: value.dtype for name, value in checkpoint.items() if isinstance(value, Tensor)}
    first = next(iter(dtypes.values()), None)
    if others := [f"{name} ({dtype})" for name, dtype in dtypes.items() if dtype != first]:
        print(f"the checkpoint has weights of several dtypes: {first}, and {', '.join(others)}")
    return first


def load_checkpoint_from_pytorch_model(input_dir: str) -> dict[str, Tensor]:
    """The weights of a folder with `pytorch_model.bin`, or with several files that
    `pytorch_model.bin.index.json` lists. Raises FileNotFoundError for a folder without these files."""
    folder = Path(input_dir)
    index = folder / "pytorch_model.bin.index.json"
    if index.exists():
        places: dict[str, str] = json.loads(read_file(index))["weight_map"]
        files = {name: _read(folder / name) for name in sorted(set(places.values()))}
        return {weight: files[file][weight] for weight, file in places.items()}
    if not (folder / "pytorch_model.bin").exists():
        raise FileNotFoundError(f"{folder}: expected pytorch_model.bin or pytorch_model.bin.index.json")
    return _read(folder / "pytorch_model.bin")


def _read(path: Path) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = load_weights(path)
    return weights


def get_mapped_key(key: str, mapping_dict: dict[str, str]) -> str:
    """Translates the name of a weight by a table. In the names of the table, `{}` matches the number of a layer.

    Raises ValueError for a name that is not in the table.
    """
    number = re.search(r"\.(\d+)", key)
    found = mapping_dict.get(re.sub(r"\.\d+", ".{}", key) if number else key)
    if found is None:
        raise ValueError(f"{key} is not a name of this kind of checkpoint")
    return found.format(number[1]) if number else found
