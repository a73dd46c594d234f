# SPDX-License-Identifier: BSD-3-Clause
"""torchaudio's Wav2Vec 2.0 with random weights: features of sound, learned without labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.examples.cadence.command import main

SAMPLES = 1024


class Features(nn.Module):
    """Returns the features alone. The model also returns their lengths: None, because it is called without lengths."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, samples: Tensor) -> Tensor:
        features: Tensor = self.model(samples)[0]
        return features


def model_and_inputs() -> tuple[nn.Module, tuple[Tensor]]:
    """The base model, and 1024 samples. Raises ModuleNotFoundError, with what to install, without torchaudio."""
    try:
        from torchaudio.models.wav2vec2 import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
            wav2vec2_base,
        )
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("this example needs torchaudio: pip install torchaudio") from error
    return Features(wav2vec2_base()), (torch.randn(1, SAMPLES),)


if __name__ == "__main__":
    main(model_and_inputs)
