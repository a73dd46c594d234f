# SPDX-License-Identifier: BSD-3-Clause
"""Turn sound into text. Only the text is printed.

Sound is a WAV file with the sampling rate of the model, 16 kHz; several channels are averaged. A long file is
transcribed in windows of the length that the model takes, 30 s for Whisper, independently of each other; with
--timestamps or --word-times, a window begins where the last complete segment of the previous window ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from sdk.command import FAILED, OK, CommandError, Parser, describe, existing, finish, print_json
from sdk.command.arguments import count, number
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk asr transcribe whisper.pte speech.wav
  sdk asr transcribe whisper.pte rede.wav --language de --task translate
  sdk asr transcribe whisper.pte gespraech.wav --language auto
  sdk asr transcribe whisper.pte talk.wav --timestamps
  sdk asr transcribe whisper.pte talk.wav --word-times
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Transcribes a file; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "the transcription fails", _EPILOG)
    parser.add_argument("model", type=file_path, metavar="MODEL.pte", help="a program of `sdk asr export`")
    parser.add_argument("sound", type=file_path, metavar="FILE.wav", help="the sound")
    parser.add_argument("--tokenizer", type=file_path, help="its tokenizer (the one inside the program)")
    parser.add_argument("--data", type=file_path, help="a file of external weights (.ptd)")
    parser.add_argument("--threads", type=count(1), help="how many threads kernels run on (one for each fast core)")
    parser.add_argument(
        "--language",
        help="the language of the sound: en, de ..., or auto, which detects it (the export's)",
    )
    parser.add_argument("--task", choices=("transcribe", "translate"), help="translate: into English (the export's)")
    parser.add_argument(
        "--max-new-tokens", type=count(1), help="maximum number of tokens in a window (what the model has room for)"
    )
    parser.add_argument("--temperature", type=number(0), default=0.0, help="0 always takes the likeliest token (0)")
    parser.add_argument("--timestamps", action="store_true", help="print each part of the text with its times")
    parser.add_argument("--word-times", action="store_true", help="print each word with its times")
    return finish(parser, argv, _transcribe)


def _transcribe(options: argparse.Namespace) -> int:
    from sdk.command.programs import data_file, program_file, set_threads

    set_threads(options.threads)
    model, sound = program_file(options.model), existing(options.sound)
    tokenizer = None if options.tokenizer is None else str(existing(options.tokenizer))
    data = None if options.data is None else str(data_file(options.data))
    from sdk.extension.asr.runner import AsrRunner

    try:
        runner = AsrRunner(str(model), tokenizer, data)
        config = runner.default_config()
    except (RuntimeError, ValueError) as error:
        raise CommandError(describe(error)) from None
    config.temperature = options.temperature
    if options.max_new_tokens is not None:
        config.max_new_tokens = options.max_new_tokens
    config.word_times = options.word_times
    found: dict[str, Any] = {}
    if options.language == "auto":
        try:
            options.language = found["language"] = runner.detect_language(str(sound)).code
        except RuntimeError as error:
            raise CommandError(f"{sound}: --language auto: {describe(error)}") from None
    config.prompt_token_ids = _prompt(runner, config.prompt_token_ids, options)

    def write(piece: str) -> None:
        if not options.json:
            sys.stdout.write(piece)
            sys.stdout.flush()

    def write_segment(segment: Any) -> None:
        parts = [segment] if options.timestamps or not options.word_times else []
        for part in [*parts, *(segment.words if options.word_times else [])]:
            if not options.json:
                print(f"[{_clock(part.start)} --> {_clock(part.end)}] {part.text.strip()}", flush=True)

    try:
        if options.timestamps or options.word_times:
            segments = runner.transcribe_segments(str(sound), config, write_segment)
            found["segments"] = [_described(s) for s in segments]
            if options.word_times:
                found["words"] = [_described(word) for segment in segments for word in segment.words]
            text = "".join(segment.text for segment in segments)
        else:
            text = runner.transcribe_file(str(sound), config, write)
    except RuntimeError as error:
        if getattr(error, "error", "") in ("InvalidExternalData", "AccessFailed", "InvalidArgument"):
            raise CommandError(f"{sound}: {describe(error)}") from None
        print(f"sdk asr transcribe: {sound}: {describe(error)}", file=sys.stderr)
        return FAILED
    if options.json:
        print_json({"text": text, **found, "stats": json.loads(runner.stats.to_json_string())})
    elif not (options.timestamps or options.word_times):
        print()
    return OK


def _described(part: Any) -> dict[str, Any]:
    return {"start": part.start, "end": part.end, "text": part.text}


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds * 100), 6000)
    return f"{minutes:02d}:{rest // 100:02d}.{rest % 100:02d}"


def _prompt(runner: Any, tokens: list[int], options: argparse.Namespace) -> list[int]:
    """The tokens after the start token: the program's options, with another language or task."""
    if options.language is None and options.task is None:
        return tokens
    if len(tokens) < 2:
        raise CommandError("--language, --task: the model knows one language and one task; leave them out")
    found = list(tokens)
    for at, name, value in ((0, "--language", options.language), (1, "--task", options.task)):
        if value is not None:
            token = runner.token_id(f"<|{value}|>")
            if token is None:
                raise CommandError(f"{name}: the model does not support `{value}`")
            found[at] = token
    return found
