# SPDX-License-Identifier: BSD-3-Clause
"""A small Whisper with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers

VOCABULARY = 96
START, LANGUAGE, EOS = 92, 93, 94
"""The tokens that begin the text, name its language and end it."""
SUPPRESSED = [7, 8]
NO_TIMES = 95
"""The token that turns off the timestamps of a model that can write them."""
WINDOW = 32000
"""The largest number of samples in a call: two seconds."""


def whisper(**more: Any) -> Any:
    """A model with a window of two seconds. `more`: fields of its configuration."""
    fields: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "num_mel_bins": 16,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "max_source_positions": 100,
        "max_target_positions": 40,
        "pad_token_id": EOS,
        "bos_token_id": START,
        "eos_token_id": EOS,
        "decoder_start_token_id": START,
    }
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**{**fields, **more}))
    torch.manual_seed(8)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.3)
    settings: Any = model.generation_config
    settings.decoder_start_token_id, settings.eos_token_id = START, EOS
    settings.suppress_tokens, settings.begin_suppress_tokens = SUPPRESSED, [EOS]
    settings.no_timestamps_token_id = LANGUAGE
    settings._from_model_config = False  # otherwise transformers ignores these settings when it loads the model
    return model.eval()


def timed() -> Any:
    """A model that also writes times: 101 steps of 0.02 s, up to two seconds."""
    model = whisper(vocab_size=NO_TIMES + 1 + 101, max_target_positions=60)
    model.generation_config.no_timestamps_token_id = NO_TIMES
    model.generation_config.max_initial_timestamp_index = 50
    return model


def save(model: Any, folder: Path) -> None:
    """Writes a folder of Hugging Face's form; a printable character of ASCII is a token."""
    model.save_pretrained(folder)
    save_tokenizer(folder)


def save_tokenizer(folder: Path) -> None:
    """Writes only the tokenizer."""
    letters = {chr(32 + i): i for i in range(92)}
    special = {"<start>": START, "<en>": LANGUAGE, "<end>": EOS, "<95>": 95}
    tokenizer = {
        "added_tokens": [{"id": number, "content": text, "special": True} for text, number in special.items()],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "model": {"type": "WordLevel", "vocab": letters | special, "unk_token": "?"},
        "decoder": {"type": "Fuse"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def features_of(sound: torch.Tensor) -> torch.Tensor:
    """Returns the features [1, bins, frames] that the feature extractor of transformers computes from samples."""
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=2)
    return extractor(sound.numpy(), sampling_rate=16000, return_tensors="pt").input_features


def transcribed(model: Any, features: torch.Tensor, count: int) -> tuple[list[int], torch.Tensor]:
    """Returns the likeliest tokens that are not ruled out, each computed from the whole sequence without a cache, and
    the logits of the first one."""
    found: list[int] = []
    first = torch.empty(0)
    while len(found) < count:
        with torch.no_grad():
            given = torch.tensor([[START, LANGUAGE, *found]])
            logits = model(input_features=features, decoder_input_ids=given, use_cache=False).logits[0, -1]
        if not found:
            first = logits.clone()
        logits[SUPPRESSED] = float("-inf")
        if not found:
            logits[EOS] = float("-inf")
        found.append(int(logits.argmax()))
        if found[-1] == EOS:
            break
    return found, first


def sound_of(count: int, seed: int = 0) -> torch.Tensor:
    """Two tones and noise."""
    torch.manual_seed(count + seed)
    time = torch.arange(count) / 16000
    pitch = 2000 + 700 * seed
    return 0.5 * torch.sin(pitch * time) + 0.2 * torch.sin(19000 * time) + 0.01 * torch.randn(count)
