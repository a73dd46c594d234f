# SPDX-License-Identifier: BSD-3-Clause
"""A program that computes the input of speech models: the logarithmic mel spectrogram of Whisper.

python -m sdk.extension.audio.mel_spectrogram --feature_size 128 --output_file whisper_preprocess.pte
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, ShapesCollection, export

from sdk.backends.registry import backend as backend_of
from sdk.exir import to_edge_transform_and_lower

_LINEAR_HZ = 200 / 3
"""Hz of one mel below 1000 Hz, in Slaney's scale. Above it, 27 mels are a factor of 6.4."""
_FIRST_LOGARITHMIC_MEL = 15
_HIGHEST_MEL = _FIRST_LOGARITHMIC_MEL + 27 * math.log(8) / math.log(6.4)
"""The mel value of 8000 Hz, which does not depend on the sampling rate."""
_STREAMED_SECONDS = 2
"""The longest sound of a call in streaming mode."""


class WhisperAudioProcessor(nn.Module):
    """The features that transformers' WhisperFeatureExtractor computes, of one channel of samples.

    Sound is padded to whole chunks of `chunk_length` seconds with `padding_value`; with `stack_output` each chunk is an
    item of the batch. With `streaming`, sound is not padded to chunks. `max_audio_len`: the longest sound, in seconds,
    that a program of `export_processor` takes without `streaming`.
    """

    def __init__(
        self,
        feature_size: int = 80,
        sampling_rate: int = 16000,
        hop_length: int = 160,
        chunk_length: int = 30,
        n_fft: int = 400,
        padding_value: float = 0.0,
        max_audio_len: int = 600,
        stack_output: bool = False,
        streaming: bool = False,
    ) -> None:
        super().__init__()
        if streaming and stack_output:
            raise ValueError("streaming has no chunks that stack_output could stack; use one of the two")
        self.feature_size = feature_size
        self.sampling_rate = sampling_rate
        self.hop_length = hop_length
        self.chunk_length = chunk_length
        self.n_fft = n_fft
        self.padding_value = padding_value
        self.max_audio_len = max_audio_len
        self.stack_output = stack_output
        self.streaming = streaming
        self.n_samples = chunk_length * sampling_rate
        self.nb_max_frames = self.n_samples // hop_length
        self.register_buffer("mel_filters", self.get_mel_filters(sampling_rate, n_fft, feature_size), persistent=False)
        self.register_buffer("_waves", _waves(n_fft), persistent=False)

    def get_mel_filters(
        self, sr: int, n_fft: int, n_mels: int = 128, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """The weight of each frequency of a transform in each of `n_mels` bands: triangles of equal area."""
        mels = torch.linspace(0, _HIGHEST_MEL, n_mels + 2, dtype=torch.float64)
        above = (mels - _FIRST_LOGARITHMIC_MEL).clamp(min=0)
        corners = mels.clamp(max=_FIRST_LOGARITHMIC_MEL) * _LINEAR_HZ * torch.exp(above * math.log(6.4) / 27)
        low, centre, high = (corners[i : i + n_mels, None] for i in range(3))
        frequencies = torch.arange(n_fft // 2 + 1, dtype=torch.float64) * sr / n_fft
        rising, falling = (frequencies - low) / (centre - low), (high - frequencies) / (high - centre)
        return (torch.minimum(rising, falling).clamp(min=0) * 2 / (high - low)).to(dtype)

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Samples (count,) to (1, feature_size, frames), or to (chunks, feature_size, frames of a chunk)."""
        chunks = 1
        if not self.streaming:
            chunks = (waveform.shape[0] - 1) // self.n_samples + 1
            waveform = F.pad(waveform, (0, chunks * self.n_samples - waveform.shape[0]), value=self.padding_value)
        half = self.n_fft // 2
        samples = F.pad(waveform[None, None], (half, half), mode="reflect")
        # The Fourier transform as a convolution, which backends take. Whisper drops the last frame.
        parts = F.conv1d(samples, self._waves, stride=self.hop_length)[0, :, :-1]
        real, imaginary = parts[: half + 1], parts[half + 1 :]
        mel = self.mel_filters @ (real * real + imaginary * imaginary)
        logarithm = torch.log10(mel.clamp(min=1e-10))
        scaled = (torch.maximum(logarithm, logarithm.max() - 8) + 4) / 4
        if self.stack_output:
            return scaled.reshape(self.feature_size, chunks, self.nb_max_frames).transpose(0, 1)
        return scaled[None]


def _waves(n_fft: int) -> torch.Tensor:
    """Cosines and negative sines of each frequency under a Hann window, (2 * frequencies, 1, n_fft)."""
    time = torch.arange(n_fft, dtype=torch.float64)
    phase = 2 * math.pi / n_fft * (torch.arange(n_fft // 2 + 1, dtype=torch.float64)[:, None] * time % n_fft)
    window = torch.hann_window(n_fft, dtype=torch.float64)
    return (torch.cat([torch.cos(phase), -torch.sin(phase)]) * window)[:, None].to(torch.float32)


def export_processor(
    output_file: str = "whisper_preprocess.pte", backend: str = "xnnpack", **model_kwargs: Any
) -> None:
    """Writes the program of a WhisperAudioProcessor with these arguments. It takes from `n_fft` samples to the samples
    of `max_audio_len` or, in streaming mode, of two seconds.

    Raises `BackendError` for an unknown backend.
    """
    partitioner = backend_of(backend).find("partitioner")()
    model = WhisperAudioProcessor(**model_kwargs).eval()
    most = (_STREAMED_SECONDS if model.streaming else model.max_audio_len) * model.sampling_rate
    samples = torch.randn(min(most, model.n_samples + model.hop_length))
    shapes = ShapesCollection()
    shapes[samples] = {0: Dim("samples", min=model.n_fft, max=most)}
    # One chunk is treated like several, although torch.export makes size 1 a separate case.
    with torch.no_grad(), torch.fx.experimental._config.patch(backed_size_oblivious=True):
        program = export(model, (samples,), dynamic_shapes=shapes, strict=False)
    manager = to_edge_transform_and_lower(program, partitioner=[partitioner]).to_executorch()
    path = Path(output_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    manager.save(str(path))


def main() -> None:
    """The command of this module."""
    parser = argparse.ArgumentParser(description="Exports the computation of Whisper's features.")
    parser.add_argument("--feature_size", type=int, default=80, help="bands of the mel scale")
    parser.add_argument("--sampling_rate", type=int, default=16000, help="samples a second")
    parser.add_argument("--hop_length", type=int, default=160, help="samples from one frame to the next")
    parser.add_argument("--chunk_length", type=int, default=30, help="seconds of a chunk")
    parser.add_argument("--n_fft", type=int, default=400, help="samples of a frame")
    parser.add_argument("--output_file", default="whisper_preprocess.pte", help="the program")
    parser.add_argument("--max_audio_len", type=int, default=600, help="the longest sound, in seconds")
    parser.add_argument("--stack_output", action="store_true", help="make each chunk an item of the batch")
    parser.add_argument("--streaming", action="store_true", help="do not pad to chunks")
    parser.add_argument("--backend", default="xnnpack", help="the backend, such as xnnpack")
    export_processor(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
