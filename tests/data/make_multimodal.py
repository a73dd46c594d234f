#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes multimodal/llava.pte, gemma3.pte, smolvlm.pte, qwen2_5_vl.pte and voxtral.pte, small models with random
weights, and what transformers computes with these: the likeliest tokens after a prompt with a picture or sound, and the
logits of the first of them. `*.prompt.expected` has the tokens of a prompt with a picture, as the model's processor
makes it.

The prompt is "ab", then the picture or the sound, then "cd". Both hold (37 i mod 256): as bytes, and divided by 256.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.export import exporter
from sdk.extension.llm.export.multimodal import MultimodalModel, load_multimodal

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / "python" / "llm")]

from multimodal_models import (  # noqa: E402
    AUDIO,
    DEVIATION,
    IMAGE,
    MEAN,
    continued,
    gemma3,
    image_processor,
    llava,
    program_of,
    qwen2_5_vl,
    save,
    smolvlm,
    text_around,
    voxtral,
)
from test_runner import ids  # noqa: E402

COUNT = 8


def numbers(*sizes: int) -> torch.Tensor:
    """uint8 numbers, 37 i mod 256."""
    return (torch.arange(torch.Size(sizes).numel()) * 37 % 256).to(torch.uint8).reshape(sizes)


def tokens_of(text: str) -> list[int]:
    """Returns a token for each printable character and for each "<94>", and the token of "?" for others."""
    parts = re.findall(r"<(\d\d)>|([\s\S])", text)
    return [int(number) if number else (ord(letter) - 32 if letter >= " " else ids("?")[0]) for number, letter in parts]


def write_expected(path: Path, tokens: list[int], logits: torch.Tensor) -> None:
    """Two lines of numbers."""
    lines = [" ".join(map(str, tokens)), " ".join(f"{value:.7g}" for value in logits.tolist())]
    path.write_text("\n".join(lines) + "\n")


def _without_front_end(folder: Path, overrides: dict[str, Any]) -> MultimodalModel:
    """The model without the method that computes features of samples, whose transform would be most of the file."""
    model = load_multimodal(folder, overrides)
    model.parts.pop("audio_preprocessor", None)
    return model


def write(name: str, model: Any, token: int, positions: int, **media: torch.Tensor) -> None:
    folder = Path(tempfile.mkdtemp())
    save(model, folder, images=token == IMAGE)
    with mock.patch.object(exporter, "load_multimodal", _without_front_end):
        program = program_of(folder)
    (FOLDER / "multimodal" / f"{name}.pte").write_bytes(program.read_bytes())
    tokens, logits = continued(model, [*ids("ab"), *[token] * positions, *ids("cd")], COUNT, **media)
    write_expected(FOLDER / "multimodal" / f"{name}.expected", tokens, logits)


class NoFeatures(torch.nn.Module):
    """Computes features of samples, but returns no window of them."""

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        return torch.zeros(0, 2, 3) + samples.sum()


class Uneven(torch.nn.Module):
    """Embeddings whose length depends on the number of windows in a call."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features.flatten(1).t() * 1.0


def write_uneven() -> None:
    """uneven.pte: methods that give no embeddings, or embeddings of several lengths."""
    count = {0: torch.export.Dim("count", min=1, max=2)}
    methods = {
        "audio_preprocessor": torch.export.export(NoFeatures(), (torch.ones(4),), strict=True),
        "audio_encoder": torch.export.export(Uneven(), (torch.ones(2, 2, 3),), dynamic_shapes=(count,), strict=True),
    }
    program = to_edge_transform_and_lower(methods).to_executorch()
    (FOLDER / "multimodal" / "uneven.pte").write_bytes(program.buffer)


def main() -> None:
    tiles = (2, 2)  # of a square picture
    for name in ("llava", "gemma3", "smolvlm", "qwen2_5_vl"):
        prompt = tokens_of("ab" + text_around(name, *tiles) + "cd")
        (FOLDER / "multimodal" / f"{name}.prompt.expected").write_text(" ".join(map(str, prompt)) + "\n")
    shrunk: dict[str, Any] = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 1}
    shrunk |= {"num_attention_heads": 3, "num_key_value_heads": 1}
    (FOLDER / "multimodal").mkdir(exist_ok=True)
    write_uneven()
    pixels = numbers(3, 28, 28).float() / 255
    pixels = (pixels - torch.tensor(MEAN)[:, None, None]) / torch.tensor(DEVIATION)[:, None, None]
    write("llava", llava(**shrunk), IMAGE, 4, pixel_values=pixels[None])
    write("gemma3", gemma3(**shrunk | {"layer_types": ["sliding_attention"]}), IMAGE, 4, pixel_values=pixels[None])
    write("smolvlm", smolvlm(**shrunk), IMAGE, 4, pixel_values=pixels[None])
    picture = numbers(3, 28, 28).numpy()  # which becomes 32 x 32 pixels
    patches = image_processor("qwen2_5_vl")(picture, return_tensors="pt", input_data_format="channels_first")
    write("qwen2_5_vl", qwen2_5_vl(**shrunk), IMAGE, 16, **patches)
    write("voxtral", voxtral(**shrunk), AUDIO, 25, input_features=numbers(1, 16, 200).float() / 256)


if __name__ == "__main__":
    main()
