# SPDX-License-Identifier: BSD-3-Clause
"""Loads models of the `transformers` package with weights from a folder in Hugging Face's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.settings import SettingsError


def pretrained_model(kind: str, folder: Path, purpose: str, unused: tuple[str, ...] = (), **options: Any) -> Any:
    """The model of a folder with `config.json` and safetensors files, in float32.

    Args:
        kind: The class of transformers that implements the model.
        folder: The folder.
        purpose: The subject of the error message when transformers is not installed, for instance "exporting Whisper".
        unused: Beginnings of names of weights that the folder may lack, because the program does not need them.
        options: Keyword arguments of `from_pretrained`.

    Raises CheckpointError for a folder that cannot be used, SettingsError where transformers is missing.
    """
    try:
        import transformers
        from safetensors import SafetensorError
    except ModuleNotFoundError:
        raise SettingsError(f"{purpose} needs transformers: pip install 'pte-sdk[examples]'") from None
    try:
        model, found = getattr(transformers, kind).from_pretrained(
            folder,
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )
    except (
        OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, ImportError, SafetensorError
    ) as error:  # fmt: skip
        raise CheckpointError(f"{folder}: {error}") from None
    # transformers initialises weights that it does not find with random values.
    missing = sorted(name for name in found["missing_keys"] if not name.startswith(unused))
    if missing:
        rest = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise CheckpointError(f"{folder}: its files lack weights of the model: {', '.join(missing[:5])}{rest}")
    return model.eval()
