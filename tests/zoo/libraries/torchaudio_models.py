# SPDX-License-Identifier: BSD-3-Clause
"""Models of torchaudio, small ones: speech recognition, separation, synthesis."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torchaudio import models

from zoo.libraries.case import MAKERS, Model, Tensors


def entry(function: Callable[[], Model]) -> Callable[[], Model]:
    MAKERS[f"torchaudio/{function.__name__}"] = function
    return function


@entry
def conformer() -> Model:
    module = models.Conformer(32, 4, 64, 2, 31)
    return Model(
        Tensors(module, "input", "lengths"), lambda n: [(torch.randn(2, n, 32), torch.tensor([n, n - 5]))],
        (1, None), (8, 20, 30), "frames", 20,
    )  # fmt: skip


@entry
def conformer_group_norm() -> Model:
    module = models.Conformer(32, 4, 64, 2, 31, use_group_norm=True, convolution_first=True)
    return Model(
        Tensors(module, "input", "lengths"), lambda n: [(torch.randn(1, n, 32), torch.tensor([n]))],
        (1, None), (8, 20, 30), "frames", 20,
    )  # fmt: skip


@entry
def emformer() -> Model:
    module = models.Emformer(32, 4, 64, 2, segment_length=4, left_context_length=4, right_context_length=2)
    return Model(
        Tensors(module, "input", "lengths"), lambda n: [(torch.randn(n, 18, 32), torch.full((n,), 16))], (0, 0)
    )


@entry
def emformer_memory() -> Model:
    module = models.Emformer(32, 4, 64, 2, segment_length=4, max_memory_size=2, tanh_on_mem=True)
    return Model(
        Tensors(module, "input", "lengths"), lambda n: [(torch.randn(n, 16, 32), torch.full((n,), 16))], (0, 0)
    )


class Streaming(nn.Module):
    """Computes one segment in each call. The states of the previous segment are inputs."""

    def __init__(self, emformer: nn.Module) -> None:
        super().__init__()
        self.emformer = emformer

    def forward(self, segment: Tensor, lengths: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        grouped = [list(states[i : i + 4]) for i in range(0, len(states), 4)]
        output, lengths, after = self.emformer.infer(segment, lengths, grouped)
        return output, lengths, *(state for layer in after for state in layer)


@entry
def emformer_streaming() -> Model:
    module = models.Emformer(32, 4, 64, 2, segment_length=4, left_context_length=4, right_context_length=2)
    layers = 2

    def calls(batch: int) -> list[tuple[Tensor, ...]]:
        states = [
            state
            for _ in range(layers)
            for state in (
                torch.randn(0, batch, 32), torch.randn(4, batch, 32), torch.randn(4, batch, 32),
                torch.full((1, batch), 4, dtype=torch.int32),
            )
        ]  # fmt: skip
        return [(torch.randn(batch, 6, 32), torch.full((batch,), 6), *states)]

    return Model(Streaming(module), calls, (0, 0, *(1,) * 4 * layers))


def wav2vec2(module: nn.Module) -> Model:
    return Model(
        Tensors(module, "waveforms"), lambda n: [(torch.randn(1, n),)], (1,), (800, 1600, 3200), "samples", 1600
    )


def small_wav2vec2(mode: str) -> nn.Module:
    convolutions = [(32, 10, 5), (32, 3, 2), (32, 3, 2), (32, 2, 2)]
    module: nn.Module = models.wav2vec2_model(
        mode, convolutions, mode == "layer_norm", 32, 0.0, 16, 4, 2, 4, 0.0, 64, 0.0, 0.0, mode == "layer_norm", 0.0, 29
    )
    return module


@entry
def wav2vec2_group_norm() -> Model:
    return wav2vec2(small_wav2vec2("group_norm"))


@entry
def wav2vec2_layer_norm() -> Model:
    return wav2vec2(small_wav2vec2("layer_norm"))


@entry
def wav2vec2_base() -> Model:
    return wav2vec2(models.wav2vec2_base(aux_num_out=29))


@entry
def wavlm() -> Model:
    convolutions = [(32, 10, 5), (32, 3, 2), (32, 3, 2), (32, 2, 2)]
    return wav2vec2(
        models.wavlm_model(
            "group_norm", convolutions, False, 32, 0.0, 16, 4, 2, 4, 32, 80, 0.0, 64, 0.0, 0.0, False, 0.0, 29
        )
    )


@entry
def tacotron2_encoder() -> Model:
    module = models.Tacotron2(encoder_embedding_dim=64, n_symbol=40, symbol_embedding_dim=64)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.encoder = module.embedding, module.encoder

        def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
            encoded: Tensor = self.encoder(self.embedding(ids).transpose(1, 2), lengths)
            return encoded

    return Model(
        Encoder(), lambda n: [(torch.randint(0, 40, (1, n)), torch.tensor([n]))], (1, None), (4, 12, 20), "symbols", 12
    )


@entry
def tacotron2_postnet() -> Model:
    module = models.Tacotron2(n_mels=20, postnet_embedding_dim=64).postnet
    return Model(module, lambda n: [(torch.randn(1, 20, n),)], (2,), (8, 20, 40), "frames", 20)


@entry
def tacotron2() -> Model:
    """The spectrogram is an input, as in training, so the decoder runs once per frame."""
    module = models.Tacotron2(
        n_mels=8, n_symbol=40, symbol_embedding_dim=32, encoder_embedding_dim=32, attention_rnn_dim=32,
        attention_hidden_dim=16, decoder_rnn_dim=32, prenet_dim=16, postnet_embedding_dim=32,
    )  # fmt: skip

    def calls(batch: int) -> list[tuple[Tensor, ...]]:
        return [
            (
                torch.randint(0, 40, (batch, 10)),
                torch.full((batch,), 10),
                torch.randn(batch, 8, 6),
                torch.full((batch,), 6),
            )
        ]

    return Model(module, calls, (0, 0, 0, 0))


@entry
def wavernn() -> Model:
    module = models.WaveRNN([2, 2, 2], 16, 8, n_res_block=2, n_rnn=32, n_fc=32, n_freq=16, n_hidden=16, n_output=16)
    return Model(module, lambda n: [(torch.randn(n, 1, (10 - 4) * 8), torch.randn(n, 1, 16, 10))], (0, 0))


@entry
def conv_tasnet() -> Model:
    module = models.ConvTasNet(2, 16, 32, 3, 16, 32, 3, 2, "sigmoid")
    return Model(module, lambda n: [(torch.randn(n, 1, 512),)], (0,))


@entry
def deepspeech() -> Model:
    module = models.DeepSpeech(20, 64)
    return Model(module, lambda n: [(torch.randn(1, 1, n, 20),)], (2,), (4, 12, 20), "frames", 12)


@entry
def wav2letter() -> Model:
    module = models.Wav2Letter(input_type="mfcc", num_features=13)
    return Model(module, lambda n: [(torch.randn(1, 13, n),)], (2,), (40, 80, 120), "frames", 80)


@entry
def hdemucs() -> Model:
    module = models.hdemucs_low(["drums", "voice"])
    return Model(module, lambda n: [(torch.randn(n, 2, 8192),)], (0,))


@entry
def rnnt_transcriber() -> Model:
    module = models.emformer_rnnt_base(64)
    return Model(
        Tensors(module.transcriber, "input", "lengths"),
        lambda n: [(torch.randn(n, 36, 80), torch.full((n,), 36))],
        (0, 0),
    )


@entry
def squim_objective() -> Model:
    module = models.squim_objective_model(
        feat_dim=32, win_len=16, d_model=32, nhead=4, hidden_dim=32, num_blocks=2, rnn_type="LSTM", chunk_size=15
    )
    return Model(Tensors(module, "x"), lambda n: [(torch.randn(n, 800),)], (0,))
