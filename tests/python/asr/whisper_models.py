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
    model.generation_config.alignment_heads = [[1, 3], [0, 1], [1, 0]]
    return model


def written(model: Any, features: torch.Tensor, count: int) -> list[int]:
    """Returns at most `count` tokens, the likeliest by transformers' rules for timestamps, without the end token."""
    rules = transformers.generation.logits_process.WhisperTimeStampLogitsProcessor(model.generation_config, 1)
    found = torch.tensor([[START]])
    while found.shape[1] <= count:
        with torch.no_grad():
            logits = model(input_features=features, decoder_input_ids=found, use_cache=False).logits[:, -1]
        logits[:, SUPPRESSED] = float("-inf")
        if found.shape[1] == 1:
            logits[:, EOS] = float("-inf")
        found = torch.cat([found, rules(found, logits).argmax(-1, keepdim=True)], dim=1)
        if found[0, -1] == EOS:
            break
    return [token for token in found[0, 1:].tolist() if token != EOS]


def parts(model: Any, tokens: list[int], samples: int) -> tuple[list[dict[str, Any]], int]:
    """The parts of a window as transformers cuts it, and the samples after which the next window begins."""
    segments, frames = type(model)._retrieve_segment(
        seek_sequence=torch.tensor(tokens), seek_outputs=[{}], time_offset=torch.zeros(1, dtype=torch.float64),
        timestamp_begin=NO_TIMES + 1, seek_num_frames=torch.tensor([samples // 160]), time_precision=0.02,
        time_precision_features=0.01, input_stride=2, prev_idx=0, idx=0, return_token_timestamps=False,
        decoder_input_ids=torch.zeros(1, 1, dtype=torch.int64),
    )  # fmt: skip
    last = segments[-1]["tokens"]
    if len(last) > 1 and min(last[-2:]) > NO_TIMES:  # the start of the next part, which transformers does not remove
        segments[-1]["tokens"] = last[:-1]
    return segments, int(frames) * 160


Timed = tuple[str, float, float]
"""A text, and when it begins and ends."""


def words_of_window(model: Any, sound: torch.Tensor, count: int) -> list[list[Timed]]:
    """The words of each part of a window that transformers finds with at most `count` tokens."""
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=2)
    given = extractor(sound.numpy(), sampling_rate=16000, return_tensors="pt", return_attention_mask=True)
    return [words for _, _, words in timed_parts(model, given.input_features, given.attention_mask, count)]


def timed_parts(
    model: Any, features: torch.Tensor, mask: torch.Tensor, count: int
) -> list[tuple[float, float, list[Timed]]]:
    """Start, end and words of each part that transformers finds in a window's features. `mask` marks the frames of the
    sound."""
    with torch.no_grad():
        found = model.generate(
            features, attention_mask=mask, return_timestamps=True, return_token_timestamps=True, return_segments=True,
            max_new_tokens=count, num_beams=1, do_sample=False,
        )  # fmt: skip
    segments = found["segments"][0]
    window, first = segments[0]["result"], segments[0]["idxs"][0]
    tokens, times = window["sequences"].tolist(), window["token_timestamps"].tolist()
    parts = []
    for segment in segments:
        if segment["result"] is not window:
            break  # transformers continues behind the last time in the window
        places = [i for i in range(*segment["idxs"]) if tokens[i] < START]
        spans = [(times[i - 1] if i > first else 0.0, times[i]) for i in places]
        words = timed_words([tokens[i] for i in places], spans)
        parts.append((float(segment["start"]), float(segment["end"]), words))
    return parts


class Letters:
    """The tokenizer of `save_tokenizer` as transformers' functions for words call it."""

    language, eos_token_id = None, START

    def decode(self, tokens: list[int], **_: Any) -> str:
        return "".join(chr(32 + token) for token in tokens)


def timed_words(tokens: list[int], times: list[tuple[float, float]], tokenizer: Any = None) -> list[Timed]:
    """Words of tokens, each with the times at which it begins and ends."""
    combine = transformers.models.whisper.tokenization_whisper._combine_tokens_into_words
    texts, _, places = combine(tokenizer or Letters(), tokens)
    return [(text, times[at[0]][0], times[at[-1]][1]) for text, at in zip(texts, places, strict=True)]


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
