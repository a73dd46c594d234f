# SPDX-License-Identifier: BSD-3-Clause
"""Models of transformers, with the weights of a folder of Hugging Face's form."""

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
        purpose: What needs transformers, for the error without it.
        unused: Beginnings of names of weights that the folder may lack, because the program does not need them.
        options: Of `from_pretrained`.

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
    # transformers gives random numbers to weights that it does not find.
    missing = sorted(name for name in found["missing_keys"] if not name.startswith(unused))
    if missing:
        rest = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise CheckpointError(f"{folder}: its files lack weights of the model: {', '.join(missing[:5])}{rest}")
    return model.eval()
