# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program of the suite: with the runtime under test, with the runner of a backend's declaration, or with an
executor_runner for another processor."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from backends.targets import Target
from sdk.exir.tensor import dim_order_of
from sdk.extension.pybindings import portable_lib

Run = Callable[[tuple[Any, ...]], list[Tensor]]


def runner(buffer: bytes, target: Target, folder: Path, outputs: Sequence[Tensor] = ()) -> Run:
    """Loads a program. `folder` is for files. An executor_runner writes the bytes of outputs only, so `outputs` gives
    their dtypes and shapes. One size of each shape may depend on data."""
    file = folder / "program.pte"
    if target.command:
        file.write_bytes(buffer)
        return lambda inputs: _run_command(target.command, file, pytree.tree_leaves(inputs), outputs)
    if target.backend is not None and target.backend.runner is not None:
        file.write_bytes(buffer)
        program = target.backend.find("runner")(file, None)
        return lambda inputs: tensors_in(program.run_method("forward", inputs))
    loaded = portable_lib._load_for_executorch_from_buffer(buffer)
    return lambda inputs: tensors_in(loaded.forward(pytree.tree_leaves(inputs)))


def tensors_in(results: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor)]


def _run_command(command: str, program: Path, inputs: list[Tensor], outputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs that an executor_runner writes to files."""
    files = []
    for index, value in enumerate(inputs):
        files.append(program.with_name(f"in{index}.bin"))
        files[-1].write_bytes(_bytes_of(value))
    arguments = [f"--model_path={program}", f"--output_file={program.with_name('out')}", "--noprint_output"]
    arguments += [f"--inputs={','.join(map(str, files))}"] if files else []
    done = subprocess.run([*shlex.split(command), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[-200:]}")
    return [_tensor_of(program.with_name(f"out-{index}.bin"), like) for index, like in enumerate(outputs)]


def _bytes_of(value: Tensor) -> bytes:
    """The elements in the order of the tensor's dimensions in memory, as executor_runner reads and writes them."""
    ordered = value.detach().permute(dim_order_of(value)).contiguous()
    return ordered.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""


def _tensor_of(file: Path, like: Tensor) -> Tensor:
    data = bytearray(file.read_bytes())
    sizes = [size if isinstance(size, int) else -1 for size in like.shape]  # -1: it depends on data
    if not data:
        return torch.empty([max(size, 0) for size in sizes], dtype=like.dtype)
    order = dim_order_of(like)
    ordered = torch.frombuffer(data, dtype=like.dtype).reshape([sizes[dim] for dim in order])
    return ordered.permute([order.index(dim) for dim in range(like.dim())])
