# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of the Hugging Face hub: downloaded once, into its cache."""

from __future__ import annotations

import re
from pathlib import Path

from sdk.extension.llm.export.checkpoint._names import CheckpointError

HUB_IDS = {
    "qwen2_5_0_5b": "Qwen/Qwen2.5-0.5B",
    "qwen2_5_1_5b": "Qwen/Qwen2.5-1.5B",
    "qwen2_5_coder_32b": "Qwen/Qwen2.5-Coder-32B-Instruct",
    "qwen3_0_6b": "Qwen/Qwen3-0.6B",
    "qwen3_1_7b": "Qwen/Qwen3-1.7B",
    "qwen3_4b": "Qwen/Qwen3-4B",
    "phi_4_mini": "microsoft/Phi-4-mini-instruct",
    "smollm2": "HuggingFaceTB/SmolLM2-135M",
    "lfm2_350m": "LiquidAI/LFM2-350M",
    "lfm2_700m": "LiquidAI/LFM2-700M",
    "lfm2_1_2b": "LiquidAI/LFM2-1.2B",
    "lfm2_5_350m": "LiquidAI/LFM2.5-350M",
    "lfm2_5_1_2b": "LiquidAI/LFM2.5-1.2B-Instruct",
}
"""Repositories by `ModelType`, of checkpoints that anybody may download. Repositories of Llama are missing, because
they require an account that has accepted Meta's licence."""
_FILES = [
    "config.json",
    "generation_config.json",
    "*.safetensors",
    "model.safetensors.index.json",
    "tokenizer*",
    "chat_template*",
]
_OTHER_FORMS = ["consolidated*"]
"""Files with the same weights under other names, in Mistral's repositories."""
_ID = re.compile(r"[\w.-]+/[\w.-]+")


def is_hub_id(text: str) -> bool:
    """Whether a text that names no file or folder may be the id of a model on the hub, `ORGANISATION/NAME`."""
    return _ID.fullmatch(text) is not None and not text.endswith((".gguf", ".pth", ".pt")) and not text.startswith(".")


def downloaded(model: str) -> Path:
    """Returns the folder of a model of the hub, from the cache if it is there.

    Raises CheckpointError that says what to download when the hub cannot be reached.
    """
    by_hand = f"download config.json, *.safetensors and tokenizer.json of `{model}` into a folder and pass its path"
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise CheckpointError(
            f"downloading `{model}` needs the package huggingface_hub (pip install 'pte-sdk[llm]'); or {by_hand}"
        ) from None
    try:
        return Path(snapshot_download(model, allow_patterns=_FILES, ignore_patterns=_OTHER_FORMS))
    except Exception as error:  # the errors of its HTTP library have no common base class
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise CheckpointError(f"`{model}` cannot be downloaded from the hub: {reason}; {by_hand}") from error
