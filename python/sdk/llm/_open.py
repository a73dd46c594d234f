# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the commands that run a language model: its files, sampling, prompts."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdk.command import CommandError, describe, existing
from sdk.command.arguments import count, number
from sdk.util.paths import file_path

if TYPE_CHECKING:
    from sdk.extension.llm.runner import ChatTemplate, GenerationConfig, TextLLMRunner


def add_model(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the program, its tokenizer, its weights and the number of threads."""
    parser.add_argument("model", type=file_path, metavar="MODEL.pte", help="a program of a language model")
    parser.add_argument("--tokenizer", type=file_path, help="its tokenizer (the one inside the program)")
    parser.add_argument(
        "--data",
        type=file_path,
        action="append",
        help="external weights (.ptd), such as an adapter; repeatable",
    )
    parser.add_argument("--threads", type=count(1), help="how many threads kernels run on (one for each fast core)")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Adds the options for sampling."""
    group = parser.add_argument_group("choosing tokens")
    group.add_argument("--max-new-tokens", type=count(1), help="maximum number of tokens in an answer (as many as fit)")
    group.add_argument("--temperature", type=number(0), default=0.8, help="0 always takes the likeliest token (0.8)")
    group.add_argument("--top-k", type=count(0), default=0, help="only the K likeliest tokens (0: all)")
    group.add_argument("--top-p", type=number(0, 1), default=0.9, help="only the likeliest tokens that sum to P (0.9)")
    group.add_argument(
        "--min-p", type=number(0, 1), default=0.0, help="only tokens at least P times as likely as the best (0)"
    )
    group.add_argument("--repetition-penalty", type=number(1e-6), default=1.0, help="above 1: repeat less (1)")
    group.add_argument("--seed", type=count(0), help="seed of the random numbers: gives the same text each time")
    group.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="ends the answer before it; repeatable"
    )
    group.add_argument(
        "--grammar",
        type=file_path,
        help="a file that answers follow: a JSON schema (.json), or a .gbnf, .lark or .regex file",
    )


def _grammar(path: Path | None) -> tuple[str, str]:
    """A grammar and its type. Raises CommandError for a file of another name."""
    if path is None:
        return "", ""
    types = {".json": "json_schema", ".gbnf": "gbnf", ".lark": "lark", ".regex": "regex"}
    if path.suffix not in types:
        raise CommandError(f"--grammar: `{path}` ends in {path.suffix!r}; expected one of {', '.join(types)}")
    try:
        text = existing(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"--grammar: `{path}` is not UTF-8: {error.reason}") from None
    kind = types[path.suffix]
    return text.rstrip("\n") if kind == "regex" else text, kind


def sampling(options: argparse.Namespace) -> GenerationConfig:
    """The options of `add_sampling`."""
    from sdk.extension.llm.runner import GenerationConfig

    grammar, grammar_type = _grammar(options.grammar)
    return GenerationConfig(
        echo=False,
        max_new_tokens=options.max_new_tokens or -1,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
        stop=options.stop,
        grammar=grammar,
        grammar_type=grammar_type,
    )


def open_runner(options: argparse.Namespace, methods: Collection[str] = ()) -> TextLLMRunner:
    """The program of `add_model`. `methods`: its methods, if it may take pictures or sound. Raises CommandError."""
    from sdk.command.programs import data_file, program_file, set_threads
    from sdk.extension.llm.runner import MultimodalRunner, TextLLMRunner

    set_threads(options.threads)
    model = program_file(options.model)
    tokenizer = None if options.tokenizer is None else str(existing(options.tokenizer))
    data = [str(data_file(path)) for path in options.data or ()]
    try:
        kind = MultimodalRunner if "text_decoder" in methods else TextLLMRunner
        return kind(str(model), tokenizer, data or None)
    except (RuntimeError, ValueError) as error:
        raise CommandError(_why(describe(error), model, tokenizer)) from None


def _why(said: str, model: Path, tokenizer: str | None) -> str:
    """Why a program cannot be opened, from the runner's message."""
    from sdk.llm._media import methods_of

    if not methods_of(model) & {"get_max_seq_len", "max_seq_len"}:
        return f"`{model}` is not a language model: expected a program of `sdk llm export`"
    if tokenizer is None and "no tokenizer inside" in said:
        return f"`{model}` has no tokenizer inside: pass --tokenizer, or export it with `sdk llm export`"
    return f"--tokenizer {tokenizer}: {said}" if tokenizer and "tokenizer" in said and tokenizer not in said else said


def chat_template(runner: TextLLMRunner) -> ChatTemplate | None:
    """The template inside the program. Raises CommandError for one that cannot be used."""
    from sdk.extension.llm.runner import ChatTemplate

    if runner.chat_template is None:
        return None
    try:
        return ChatTemplate(runner.chat_template)
    except RuntimeError as error:
        raise CommandError(describe(error)) from None


def rendered(template: ChatTemplate, runner: TextLLMRunner, messages: list[dict[str, Any]], answer: bool) -> str:
    """Renders a conversation with the model's template, including the beginning of the answer if one is requested.
    Raises CommandError for a conversation that the template refuses."""
    try:
        return template.render(
            messages, add_generation_prompt=answer, bos_token=runner.bos_token, eos_token=runner.eos_token
        )
    except RuntimeError as error:
        raise CommandError(describe(error)) from None
