# SPDX-License-Identifier: BSD-3-Clause
"""Saving exported programs before they are lowered. A lowered program is saved as `.pte` by
`ExecutorchProgramManager`."""

from __future__ import annotations

import io
import os
from typing import Any

import torch
from torch._export.serde.serialize import SerializedArtifact
from torch._export.serde.serialize import deserialize as _deserialize
from torch._export.serde.serialize import serialize as _serialize
from torch.export import ExportedProgram

from sdk.exir.error import ExportError, ExportErrorType


def serialize(exported_program: ExportedProgram, opset_version: dict[str, int] | None = None) -> SerializedArtifact:
    """An ATen program as data."""
    _require_aten(exported_program)
    return _serialize(exported_program, opset_version)


def deserialize(artifact: SerializedArtifact) -> ExportedProgram:
    """The program of `serialize`."""
    return _deserialize(artifact)


def save(
    ep_save: ExportedProgram,
    f: str | os.PathLike[str] | io.BytesIO,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
) -> None:
    """Writes an ATen program to a `.pt2` file."""
    _require_aten(ep_save)
    torch.export.save(ep_save, f, extra_files=extra_files, opset_version=opset_version)


def load(f: str | os.PathLike[str] | io.BytesIO, *, extra_files: dict[str, Any] | None = None) -> ExportedProgram:
    """Reads a `.pt2` file."""
    return torch.export.load(f, extra_files=extra_files)


def _require_aten(program: ExportedProgram) -> None:
    if program.verifiers and program.verifiers[0].dialect not in ("ATEN", "TRAINING"):
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"programs in {program.verifiers[0].dialect} dialect cannot be saved. Save the program that "
            "torch.export.export returned and lower it again, or save the result of to_executorch().",
        )
