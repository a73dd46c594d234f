# SPDX-License-Identifier: BSD-3-Clause
"""Runs a `.pte` in the C++ program `executor_runner`. Tensors are passed in files of raw, row-major bytes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor


def run(runner: Path, program: Path, inputs: Sequence[Tensor], like: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of the program's method `forward`, with the dtypes and shapes of `like`.

    Raises RuntimeError with the runner's message if it fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = []
        for index, tensor in enumerate(inputs):
            files.append(folder / f"input{index}.bin")
            files[-1].write_bytes(tensor.contiguous().numpy().tobytes())
        command = [
            str(runner),
            f"--model_path={program}",
            f"--inputs={','.join(map(str, files))}",
            f"--output_file={folder / 'output'}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"executor_runner failed with status {done.returncode}:\n{done.stderr}{done.stdout}")
        return [_read(folder / f"output-{index}.bin", tensor) for index, tensor in enumerate(like)]


def _read(file: Path, like: Tensor) -> Tensor:
    data = bytearray(file.read_bytes())
    if len(data) != like.numel() * like.element_size():
        raise RuntimeError(
            f"executor_runner wrote {len(data)} bytes where {tuple(like.shape)} of {like.dtype} was expected."
        )
    return torch.frombuffer(data, dtype=like.dtype).reshape(like.shape)
