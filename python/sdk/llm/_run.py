# SPDX-License-Identifier: BSD-3-Clause
"""Complete a prompt, or answer it through the model's chat template. Only the text is printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from sdk.command import FAILED, OK, CommandError, Parser, describe, existing, finish, print_json
from sdk.command.programs import program_file
from sdk.llm._media import check_methods, content_of, inputs_of, methods_of, takes_media, with_pictures
from sdk.llm._open import add_model, add_sampling, chat_template, open_runner, rendered, sampling
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk llm run smollm2.pte --prompt "What is the capital of France?"
  sdk llm run smollm2.pte --raw --prompt "Once upon a time" --temperature 0 --max-new-tokens 64
  sdk llm run llava.pte --image photo.jpg --prompt "What is this?"
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Generates one text; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "the generation fails", _EPILOG)
    add_model(parser)
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", help="the text to answer or to continue")
    prompt.add_argument("--prompt-file", type=file_path, help="a file with it, or - for the standard input")
    parser.add_argument("--system", help="the system prompt (the template's)")
    parser.add_argument(
        "--image",
        type=file_path,
        action="append",
        default=[],
        help="a picture before the prompt (Pillow); repeatable",
    )
    parser.add_argument(
        "--audio", type=file_path, action="append", default=[], help="sound before the prompt, a WAV file; repeatable"
    )
    parser.add_argument("--raw", action="store_true", help="continue the prompt as it is, without the chat template")
    parser.add_argument("--stats", action="store_true", help="print tokens and times on the standard error")
    add_sampling(parser)
    return finish(parser, argv, _run)


def _run(options: argparse.Namespace) -> int:
    if options.raw and options.system is not None:
        raise CommandError("--system needs the chat template: leave out --raw")
    prompt = _prompt(options)
    methods = methods_of(program_file(options.model))
    check_methods(methods, options.image, options.audio)
    runner = open_runner(options, methods)
    given = _inputs(runner, prompt, methods, options)
    config = sampling(options)
    stats: dict[str, Any] = {}
    pieces: list[str] = []

    def write(piece: str) -> None:
        pieces.append(piece)
        if not options.json:
            sys.stdout.write(piece)
            sys.stdout.flush()

    try:
        runner.generate(given, config, write, lambda found: stats.update(json.loads(found.to_json_string())))
    except RuntimeError as error:
        print(f"{options.model}: {describe(error)}", file=sys.stderr)
        return FAILED
    if options.json:
        counts = {"prompt_tokens": stats["prompt_tokens"], "generated_tokens": len(runner.generated_tokens)}
        print_json({"text": "".join(pieces), **counts, "stats": stats})
    elif pieces and not pieces[-1].endswith("\n"):
        print()
    if options.stats and not options.json:
        prompt_speed = _speed(stats["prompt_tokens"], stats["prompt_eval_end_ms"] - stats["inference_start_ms"])
        # The first token comes from the prompt's logits, without a call of the program.
        generated = len(runner.generated_tokens)
        speed = _speed(generated - 1, stats["inference_end_ms"] - stats["prompt_eval_end_ms"])
        print(f"{stats['prompt_tokens']} tokens of prompt{prompt_speed}, {generated} generated{speed}", file=sys.stderr)
    return OK


def _speed(tokens: int, milliseconds: int) -> str:
    return f" ({tokens * 1e3 / milliseconds:.1f} a second)" if tokens > 0 and milliseconds > 0 else ""


def _prompt(options: argparse.Namespace) -> str:
    if options.prompt_file is None:
        return str(options.prompt)
    if str(options.prompt_file) == "-":
        return sys.stdin.read()
    try:
        return existing(options.prompt_file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"--prompt-file: `{options.prompt_file}` is not UTF-8: {error.reason}") from None


def _inputs(runner: Any, prompt: str, methods: set[str], options: argparse.Namespace) -> list[Any]:
    """Returns the inputs of the runner: tokens, or the parts of a prompt with pictures or sound."""
    template = None if options.raw else chat_template(runner)
    text = prompt
    if template is not None:
        system = [] if options.system is None else [{"role": "system", "content": options.system}]
        content = content_of(prompt, options.image, options.audio)
        text = rendered(template, runner, [*system, {"role": "user", "content": content}], True)
    elif not options.raw:
        if options.system is not None:
            raise CommandError("--system: the program has no chat template, in which a system prompt has its place")
        print("the program has no chat template: the prompt is continued as it is", file=sys.stderr)
    try:
        if takes_media(methods) and "get_image_processor" in methods and not options.audio:
            found: list[Any] = list(with_pictures(runner, text, options.image, template is None))
        else:
            found = list(runner.encode(text, add_bos=template is None))
            if found and takes_media(methods):
                found = inputs_of(runner, found, options.image, options.audio, options.model)
    except ValueError as error:
        raise CommandError(f"--prompt: {error}") from None
    if not found:
        raise CommandError("--prompt: the text has no tokens; expected at least one")
    return found
