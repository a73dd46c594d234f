# SPDX-License-Identifier: BSD-3-Clause
"""Features of speech models, compared with those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.backends.registry import BackendError
from sdk.extension.audio.mel_spectrogram import WhisperAudioProcessor, export_processor
from sdk.runtime import Runtime

SMALL: dict[str, Any] = {"chunk_length": 1, "max_audio_len": 3}


def _sound(count: int) -> torch.Tensor:
    """Two tones and noise."""
    torch.manual_seed(count)
    time = torch.arange(count) / 16000
    return 0.5 * torch.sin(2764.6 * time) + 0.2 * torch.sin(19000 * time) + 0.01 * torch.randn(count)


@pytest.mark.parametrize("feature_size", [80, 128])
def test_the_features_of_transformers(feature_size: int) -> None:
    transformers = pytest.importorskip("transformers")
    extractor = transformers.WhisperFeatureExtractor(feature_size=feature_size, chunk_length=1)
    model = WhisperAudioProcessor(feature_size=feature_size, **SMALL)
    torch.testing.assert_close(
        model.mel_filters.double(), torch.from_numpy(extractor.mel_filters).double().T, rtol=1e-5, atol=1e-8
    )
    for count in (1000, 15999, 16000):
        sound = _sound(count)
        expected = extractor(sound.numpy(), sampling_rate=16000, return_tensors="pt").input_features
        # Quiet bands hold little but rounding before the logarithm.
        torch.testing.assert_close(model(sound), expected.float(), rtol=0, atol=1e-3)


def test_shapes() -> None:
    sound = _sound(16000 + 160)
    assert WhisperAudioProcessor()(sound).shape == (1, 80, 3000)
    assert WhisperAudioProcessor(**SMALL)(sound).shape == (1, 80, 200)
    stacked = WhisperAudioProcessor(**SMALL, stack_output=True)(sound)
    assert stacked.shape == (2, 80, 100)
    torch.testing.assert_close(torch.cat(list(stacked), 1)[None], WhisperAudioProcessor(**SMALL)(sound))
    assert WhisperAudioProcessor(streaming=True)(sound[:5000]).shape == (1, 80, 31)
    with pytest.raises(ValueError, match="use one of the two"):
        WhisperAudioProcessor(streaming=True, stack_output=True)


@pytest.mark.parametrize("options", [{}, {"stack_output": True}, {"streaming": True, "feature_size": 128}])
def test_the_program(options: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "folder" / "audio.pte"
    export_processor(str(file), **SMALL, **options)
    program = Runtime.get().load_program(file)
    method = program.load_method("forward")
    assert method is not None
    model = WhisperAudioProcessor(**SMALL, **options)
    for count in (400, 1000, 16000, 16001, 32000):
        sound = _sound(count)
        torch.testing.assert_close(method.execute([sound])[0], model(sound), rtol=0, atol=1e-3)


def test_a_backend_that_is_not_here(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="mlx"):
        export_processor(str(tmp_path / "x.pte"), backend="mlx")
