# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of the Hugging Face hub in another form, kept in a cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from sdk.extension.llm.export.checkpoint import downloaded


def download_and_convert_hf_checkpoint(repo_id: str, convert_weights: Callable[[str, str], None]) -> str:
    """Returns the file that `convert_weights(folder, file)` made from a model of the hub, in this or an earlier call.

    `export_llama` reads the models of the hub as they are, and needs no file. Raises `CheckpointError` for a model that
    cannot be downloaded.
    """
    target = Path.home() / ".cache" / "meta_checkpoints" / f"{repo_id.replace('/', '_')}.pth"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{target.stem}-", dir=target.parent) as folder:
            complete = Path(folder) / target.name
            convert_weights(str(downloaded(repo_id)), str(complete))
            complete.replace(target)
    return str(target)
