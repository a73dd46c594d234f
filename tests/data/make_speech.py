#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes speech/whisper.pte, a small model with random weights, and what transformers computes with these: the
likeliest tokens of features, and the logits of the first of them.

Features hold (37 i mod 256) / 256.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from torch.export import ExportedProgram

from sdk.extension.asr import whisper as exporter

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parent / "python" / "asr")]

from make_multimodal import numbers, write_expected  # noqa: E402
from whisper_models import save, transcribed, whisper  # noqa: E402

COUNT = 12
_capture = exporter.capture_whisper


def _without_front_end(model: Any) -> dict[str, ExportedProgram]:
    """The methods without the front end for samples, whose transform would be most of the file."""
    methods = _capture(model)
    methods.pop("preprocessor")
    return methods


def main() -> None:
    model, folder = whisper(), Path(tempfile.mkdtemp())
    save(model, folder)
    with mock.patch.object(exporter, "capture_whisper", _without_front_end):
        program = exporter.export_whisper(folder)
    (FOLDER / "speech").mkdir(exist_ok=True)
    program.save(FOLDER / "speech" / "whisper.pte")
    tokens, logits = transcribed(model, numbers(1, 16, 200).float() / 256, COUNT)
    write_expected(FOLDER / "speech" / "whisper.expected", tokens, logits)


if __name__ == "__main__":
    main()
