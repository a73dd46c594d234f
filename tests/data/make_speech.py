#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes speech/whisper.pte, a small model with random weights, and what transformers computes with these: the
likeliest tokens of features, and the logits of the first of them. speech/preprocessor.pte makes features of samples,
in the same order. speech/samples.pte has an encoder that takes samples; each token of its answer is the previous one
plus the sum of the samples. speech/timed.pte also writes times; timed.expected has a line for each part of the text
that transformers finds in the features, and for each of its words: "part" or "word", start and end in seconds, and the
text, separated by tabs.

Features hold (37 i mod 256) / 256.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.extension.asr import whisper as exporter
from sdk.extension.llm.export.tokenizer.data import tokenizer_data

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / "python" / "asr")]

from make_multimodal import numbers, write_expected  # noqa: E402
from whisper_models import EOS, VOCABULARY, save, timed, timed_parts, transcribed, whisper  # noqa: E402

COUNT = 12
BINS, FRAMES = 16, 200
_capture = exporter.capture_whisper


def _without_front_end(model: Any) -> dict[str, ExportedProgram]:
    """The methods without `preprocessor`, whose Fourier transform would be most of the file."""
    methods = _capture(model)
    methods.pop("preprocessor")
    return methods


class Preprocessor(nn.Module):
    """Returns the samples in rows, followed by silence."""

    def forward(self, samples: Tensor) -> Tensor:
        return torch.cat([samples, torch.zeros(BINS * FRAMES)])[: BINS * FRAMES].view(1, BINS, FRAMES)


def write_preprocessor() -> None:
    most = Dim("samples", min=2, max=BINS * FRAMES)
    found = export(Preprocessor(), (torch.zeros(100),), dynamic_shapes=({0: most},), strict=False)
    to_edge(found).to_executorch().save(FOLDER / "speech" / "preprocessor.pte")


class SampleEncoder(nn.Module):
    """[1, samples, 1] to their sum."""

    def forward(self, samples: Tensor) -> Tensor:
        return samples.sum(dim=1)


class Counter(nn.Module):
    """The likeliest token is the last token plus the sum of the samples."""

    def forward(self, tokens: Tensor, encoded: Tensor, position: Tensor) -> Tensor:
        return -((torch.arange(VOCABULARY) - tokens[:, -1:] - encoded) ** 2) + 0 * position


def write_samples(folder: Path) -> None:
    most = Dim("samples", min=2, max=BINS * FRAMES)
    encoder = export(SampleEncoder(), (torch.zeros(1, 100, 1),), dynamic_shapes=({1: most},), strict=False)
    token, zero = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    decoder = export(Counter(), (token, torch.zeros(1, 1), zero), strict=False)
    metadata = {"get_eos_ids": [EOS], "get_vocab_size": VOCABULARY}
    edge = to_edge({"encoder": encoder, "text_decoder": decoder}, constant_methods=metadata)
    named_data = tokenizer_data(str(folder), None).named_data
    edge.to_executorch(ExecutorchBackendConfig(named_data=named_data)).save(FOLDER / "speech" / "samples.pte")


def write_model(model: Any, folder: Path, name: str) -> None:
    save(model, folder)
    with mock.patch.object(exporter, "capture_whisper", _without_front_end):
        exporter.export_whisper(folder).save(FOLDER / "speech" / name)


def write_timed() -> None:
    model = timed()
    write_model(model, Path(tempfile.mkdtemp()), "timed.pte")
    mask = torch.arange(FRAMES)[None] < BINS * FRAMES // 160  # the preprocessor takes a sample for each feature
    lines = []
    for start, end, words in timed_parts(model, numbers(1, BINS, FRAMES).float() / 256, mask.long(), COUNT):
        lines.append(("part", start, end, "".join(text for text, _, _ in words)))
        lines += [("word", start, end, text) for text, start, end in words]
    text = "".join(f"{kind}\t{start:.4f}\t{end:.4f}\t{text}\n" for kind, start, end, text in lines)
    (FOLDER / "speech" / "timed.expected").write_text(text)


def main() -> None:
    model, folder = whisper(), Path(tempfile.mkdtemp())
    (FOLDER / "speech").mkdir(exist_ok=True)
    write_model(model, folder, "whisper.pte")
    write_timed()
    tokens, logits = transcribed(model, numbers(1, BINS, FRAMES).float() / 256, COUNT)
    write_expected(FOLDER / "speech" / "whisper.expected", tokens, logits)
    write_preprocessor()
    write_samples(folder)


if __name__ == "__main__":
    main()
