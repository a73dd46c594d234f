# SPDX-License-Identifier: BSD-3-Clause
"""Turn a checkpoint of Whisper into a program with its front end, its cache and its tokenizer.

MODEL is a folder with config.json, .safetensors files and tokenizer.json. The program turns sound into text with
`sdk asr transcribe`, and in every runtime.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from sdk.command import OK, CommandError, Parser, check_writable, describe, finish, print_json
from sdk.command.arguments import chosen_backend
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk asr export whisper-tiny -o whisper.pte
  sdk asr export whisper-base -o whisper.pte --language de
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Exports a model; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG, extra="examples")
    parser.add_argument("model", type=file_path, metavar="MODEL", help="a folder of Hugging Face's form")
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="OUT.pte", help="the program to write")
    parser.add_argument("--backend", help="the backend, or `portable` for no backend (the one for CPUs)")
    parser.add_argument(
        "--language", default="en", help="the language of the sound, for models of several languages (en)"
    )
    parser.add_argument(
        "--task", choices=("transcribe", "translate"), default="transcribe", help="translate: into English"
    )
    return finish(parser, argv, _export)


def _export(options: argparse.Namespace) -> int:
    output: Path = options.output
    if output.suffix != ".pte":
        raise CommandError(f"--output: expected a file that ends in .pte, found `{output}`")
    check_writable([output])
    if not (options.model / "config.json").is_file():
        raise CommandError(f"`{options.model}` is not a model: expected a folder with a config.json")
    backend = chosen_backend(options.backend)
    from sdk.extension.asr.whisper import export_whisper, is_whisper

    if not is_whisper(options.model):
        raise CommandError(f'`{options.model}` is not Whisper: expected "model_type": "whisper" in its config.json')
    try:
        export_whisper(options.model, backend, options.language, options.task).save(output)
    except (ValueError, RuntimeError) as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json({"program": str(output), "bytes": output.stat().st_size})
    else:
        print(f"written: {output} ({output.stat().st_size / 1e6:.1f} MB)")
    return OK
