# SPDX-License-Identifier: BSD-3-Clause
"""Turns sound into text.

    runner = AsrRunner("whisper.pte")
    print(runner.transcribe_file("speech.wav"))

One call at a time; `stop()` may come from any thread. Errors are `ExecuTorchError`, a RuntimeError.
"""

from __future__ import annotations

from sdk.extension.asr._asr_runner import AsrRunner, AsrTranscribeConfig, Language, Segment, Word

Seq2SeqRunner = AsrRunner
Seq2SeqTranscribeConfig = AsrTranscribeConfig

__all__ = [
    "AsrRunner",
    "AsrTranscribeConfig",
    "Language",
    "Segment",
    "Seq2SeqRunner",
    "Seq2SeqTranscribeConfig",
    "Word",
]
