# SPDX-License-Identifier: BSD-3-Clause
"""Whisper: encoder and decoder in one module, without a cache. `sdk asr export` makes programs that transcribe."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sdk.examples.models.model_base import EagerModelBase


class WhisperWrapper(nn.Module):
    """The last hidden states of a decoder's tokens."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_features: Tensor, decoder_input_ids: Tensor) -> Tensor:
        """Takes mel features, [1, bands, frames], and tokens, int64 [1, tokens]. Returns [1, tokens, hidden size]."""
        result: Tensor = self.model(
            input_features=input_features, decoder_input_ids=decoder_input_ids, use_cache=False
        ).last_hidden_state
        return result


class WhisperModel(EagerModelBase):
    """Whisper of Hugging Face, by the name or the folder of its checkpoint."""

    def __init__(self, model_name: str = "openai/whisper-base") -> None:
        super().__init__()
        from transformers import WhisperModel as Whisper

        self.model: Any = Whisper.from_pretrained(model_name)

    def get_eager_model(self) -> nn.Module:
        """The module."""
        return WhisperWrapper(self.model).eval()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Half a minute of sound, and the token that begins a text."""
        config = self.model.config
        frames = 2 * config.max_source_positions
        return torch.randn(1, config.num_mel_bins, frames), torch.tensor([[config.decoder_start_token_id]])
