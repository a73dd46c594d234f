# SPDX-License-Identifier: BSD-3-Clause
"""Reads what `torch.save` wrote, from untrusted files: checkpoints, adapters and example inputs."""

from __future__ import annotations

import os
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import torch

from sdk.exir._serialize._regular_file import regular
from sdk.exir.serde._legacy_tensor_file import read_legacy_tensors
from sdk.exir.serde._tensor_file import TensorFileError, read_tensors


def load_weights(path: str | os.PathLike[str]) -> Any:
    """The content of a checkpoint. Nothing of it is executed.

    Its tensors are mapped, so a file may be larger than the memory. A tensor beyond the end of its storage is an error,
    for which no memory is allocated. A file that another tool has compressed is unpacked first, because PyTorch would
    take its compressed bytes for weights. Files from before PyTorch 1.6 are copied.

    Raises OSError, TensorFileError, and RuntimeError, EOFError or UnpicklingError of torch.load.
    """
    file = regular(path)
    if not _is_archive(file):
        return read_legacy_tensors(file)
    try:
        with ZipFile(file) as archive:
            is_packed = any(info.compress_type != ZIP_STORED for info in archive.infolist())
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise TensorFileError(f"the ZIP file is damaged: {error}") from error
    if is_packed:
        return read_tensors(file.read_bytes(), packed=True)
    try:
        return torch.load(file, map_location="cpu", mmap=True, weights_only=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError, MemoryError):
        raise
    except Exception as error:  # raised by instructions on values of wrong types, and for damaged texts
        raise TensorFileError(
            f"the data is not what torch.save writes: {type(error).__name__}: {error!s:.200}"
        ) from error


def load_values(path: str | os.PathLike[str]) -> Any:
    """Like `load_weights`, for files that may be overwritten while the tensors are in use, so the tensors are
    copied."""
    file = regular(path)
    if not _is_archive(file):
        return read_legacy_tensors(file)
    return read_tensors(file.read_bytes(), packed=True)


def _is_archive(file: Path) -> bool:
    """Files from before PyTorch 1.6 are pickles."""
    with file.open("rb") as opened:
        return opened.read(4) == b"PK\x03\x04"
