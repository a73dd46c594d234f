#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of fuzz_session and fuzz_wav: a small language model with random weights (seeds/session_model.pte),
sessions that its runner saves, and WAV files of every format that is read.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import torch

from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner

SEEDS = Path(__file__).parent / "seeds"
sys.path.insert(0, str(SEEDS.parents[1] / "data"))

from make_language_model import settings_of  # noqa: E402

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE


def write_sessions() -> None:
    """Writes a session in the middle of a conversation, one after a prompt that was only prefilled, and one without
    tokens."""
    torch.manual_seed(7)
    export(
        None,
        settings_of(
            {"dim": 8, "n_layers": 1, "n_heads": 1, "vocab_size": 31, "hidden_dim": 8},
            "debug.generate_full_logits=true",
            "export.max_seq_length=8",
            "export.max_context_length=24",
            f"export.output_dir={SEEDS}",
            "export.output_name=session_model.pte",
        ),
    )
    runner = TextLLMRunner(str(SEEDS / "session_model.pte"))
    runner.save_session(str(SEEDS / "empty.session"))
    runner.prefill("abc")
    runner.save_session(str(SEEDS / "prefilled.session"))
    runner.reset()
    runner.generate("abcab", GenerationConfig(echo=False, max_new_tokens=4, temperature=0.0, ignore_eos=True))
    runner.save_session(str(SEEDS / "saved.session"))


def chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def wav(kind: int, channels: int, bits: int, count: int, *before: bytes) -> bytes:
    """Returns a file with `count` samples in each channel. `before`: chunks before the format chunk."""
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, 16000, 16000 * block, block, bits)
    if kind == EXTENSIBLE:
        form += struct.pack("<HHIH", 22, bits, 3, PCM) + bytes(14)
    if kind == FLOAT:
        values = [(i % 9 - 4) / 4 for i in range(count * channels)]
        data = struct.pack(f"<{len(values)}{'f' if bits == 32 else 'd'}", *values)
    else:
        data = bytes(i * 37 % 256 for i in range(count * block))
    chunks = b"".join(before) + chunk(b"fmt ", form) + chunk(b"data", data)
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def write_wavs() -> None:
    for bits in (8, 16, 24, 32):
        (SEEDS / f"pcm{bits}.wav").write_bytes(wav(PCM, 1 + bits // 16, bits, 5))
    for bits in (32, 64):
        (SEEDS / f"float{bits}.wav").write_bytes(wav(FLOAT, 1, bits, 3))
    (SEEDS / "extensible.wav").write_bytes(wav(EXTENSIBLE, 2, 16, 4, chunk(b"LIST", b"odd")))


if __name__ == "__main__":
    write_sessions()
    write_wavs()
