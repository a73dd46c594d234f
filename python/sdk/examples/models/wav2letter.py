# SPDX-License-Identifier: BSD-3-Clause
"""Wav2Letter: recognises the letters in sound."""

from __future__ import annotations

import torch
from torch import nn

from sdk.examples.models.model_base import EagerModelBase


class Wav2LetterModel(EagerModelBase):
    """torchaudio's Wav2Letter with random weights."""

    def __init__(self) -> None:
        super().__init__()
        self.batch_size, self.input_frames, self.vocab_size = 10, 700, 4096

    def get_eager_model(self) -> nn.Module:
        """The module."""
        from torchaudio.models import Wav2Letter  # type: ignore[import-not-found, import-untyped, unused-ignore]

        model: nn.Module = Wav2Letter(num_classes=self.vocab_size)
        return model

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Waveforms, [batch_size, 1, input_frames]."""
        return (torch.randn(self.batch_size, 1, self.input_frames),)
