# SPDX-License-Identifier: BSD-3-Clause
"""Prints outputs, and writes them to files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdk.command import CommandError, describe, existing, write_bytes, write_files
from sdk.command.lines import columns, printable

Facts = dict[str, Any]

_CLASSES = 10
"""The fewest values of an output that is treated as the scores of a classifier."""


def facts(value: Any, dtype: str | None, top: int | None, labels: Sequence[str]) -> Facts:
    """dtype, shape and statistics of an output, and its largest values if they are scores of classes.

    Args:
        value: An array, a number, or a list of them.
        dtype: The dtype of a tensor according to the method, because NumPy lacks some dtypes.
        top: How many values to list. None lists 5 of an output that looks like scores: [N] or [1, N] with N >= 10.
        labels: Names of classes, by index.
    """
    if isinstance(value, (list, tuple)):
        return {"type": "list", "items": [facts(item, None, None, ()) for item in value]}
    if not hasattr(value, "shape"):
        return {"type": "none" if value is None else type(value).__name__, "value": value}
    array = _numpy(value)
    found: Facts = {"type": "tensor", "dtype": dtype or str(array.dtype), "shape": list(array.shape)}
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if array.dtype != bool:
        found["nan"], found["infinite"] = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
    if finite.size:
        found["min"], found["max"] = float(finite.min()), float(finite.max())
        found["mean"], found["std"] = float(finite.mean()), float(finite.std())
    scores = array.dtype.kind in "fiu" and array.size == array.shape[-1] if array.ndim else False
    if scores and (top is not None or (array.size >= _CLASSES and array.ndim <= 2)):
        flat = np.nan_to_num(wide.reshape(-1), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        order = np.argsort(-flat, kind="stable")[: 5 if top is None else top]
        found["top"] = [
            {"index": int(i), "value": float(wide.reshape(-1)[i]), **({"label": labels[i]} if i < len(labels) else {})}
            for i in order
        ]
    return found


def lines(outputs: Sequence[Facts]) -> list[str]:
    """The facts as text."""
    shown: list[str] = []
    for index, output in enumerate(outputs):
        name = f"output {index}"
        if output["type"] == "list":
            shown.append(f"{name}  list of {len(output['items'])}")
            shown += ["  " + line for line in lines(output["items"])]
        elif output["type"] != "tensor":
            shown.append(f"{name}  {output['type']} {printable(str(output['value']))}")
        else:
            shown.append(f"{name}  {output['dtype']}[{', '.join(map(str, output['shape']))}]")
            if "min" in output:
                shown[-1] += "  " + "  ".join(f"{key} {output[key]:.6g}" for key in ("min", "max", "mean", "std"))
            odd = [f"{output[key]} {key}" for key in ("nan", "infinite") if output.get(key)]
            shown[-1] += f"  ({', '.join(odd)})" if odd else ""
            rows = [
                (str(i + 1), str(entry["index"]), f"{entry['value']:.6g}", printable(entry.get("label", "")))
                for i, entry in enumerate(output.get("top", ()))
            ]
            shown += columns(rows, right=(0, 1))
        if "file" in output:
            shown.append(f"  written to {output['file']}")
    return shown


def read_labels(path: Path) -> list[str]:
    """Reads a file with a name on each line. Raises CommandError."""
    try:
        return existing(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CommandError(f"`{path}`: expected text in UTF-8 with a label in each line: {describe(error)}") from error


def write(paths: Sequence[Path], values: Sequence[Any]) -> list[str | None]:
    """Writes outputs. Returns the file of each.

    One `.npz` or `.pt` has all of them (`output0`, ..., or a list of tensors). Otherwise there is a file for each
    output, in order: `.npy`, or raw bytes. Raises CommandError.
    """
    if len(paths) == 1 and paths[0].suffix in (".npz", ".pt"):
        whole = io.BytesIO()
        if paths[0].suffix == ".npz":
            np.savez(whole, **{f"output{i}": _array(value, i) for i, value in enumerate(values)})
        else:
            import torch

            torch.save([torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in values], whole)
        write_bytes(paths[0], whole.getvalue())
        return [str(paths[0])] * len(values)
    if len(paths) != len(values):
        raise CommandError(
            f"--output: expected a file for each of {len(values)} outputs, or one .npz or .pt, found {len(paths)} files"
        )
    files: dict[Path, bytes] = {}
    for index, (path, value) in enumerate(zip(paths, values, strict=True)):
        if path in files:
            raise CommandError(f"--output: expected another file for output {index}, found `{path}` twice")
        if path.suffix == ".npy":
            file = io.BytesIO()
            np.save(file, _array(value, index))
            files[path] = file.getvalue()
        else:
            files[path] = _bytes(value, index)
    write_files(files)
    return [str(path) for path in paths]


def _numpy(value: Any) -> Any:
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach()
    name = str(tensor.dtype)
    return (tensor.float() if "bfloat16" in name or "float8" in name else tensor).numpy()  # NumPy lacks these


def _array(value: Any, index: int) -> Any:
    if isinstance(value, (list, tuple)) or value is None:
        raise CommandError(f"--output: output {index} is a {type(value).__name__}, not an array: write it to a .pt")
    return _numpy(value) if hasattr(value, "shape") else np.asarray(value)


def _bytes(value: Any, index: int) -> bytes:
    if not hasattr(value, "detach"):
        return bytes(np.ascontiguousarray(_array(value, index)).tobytes())
    from sdk.exir._serialize._tensor_data import memory_of

    return bytes(memory_of(value.detach().contiguous()))
