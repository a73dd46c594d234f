# SPDX-License-Identifier: BSD-3-Clause
"""Adapters of Unsloth and PEFT under the names that the model has."""

from __future__ import annotations

from torch import Tensor

from sdk.extension.llm.export.checkpoint import adapter_weights, read_adapter
from sdk.extension.llm.model.model_args import ModelArgs


def unsloth_to_meta(state_dict: dict[str, Tensor]) -> dict[str, Tensor]:
    """Renames the weights; the order of their rows does not change. Raises ValueError (`CheckpointError`) for unknown
    names."""
    return adapter_weights(state_dict.items(), ModelArgs(use_hf_rope=True))


def load_and_convert_unsloth_to_meta(checkpoint_path: str) -> dict[str, Tensor]:
    """Reads a .safetensors file and renames its weights. Raises ValueError (`CheckpointError`) if it is not an
    adapter."""
    return unsloth_to_meta(read_adapter(checkpoint_path))
