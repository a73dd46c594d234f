# SPDX-License-Identifier: BSD-3-Clause
"""Measure how fast a model reads a prompt and generates tokens.

The prompt has random tokens, and every token counts, also one that would end the text. Each round begins a new
conversation, after one that is not measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from sdk.command import FAILED, OK, CommandError, Parser, describe, finish, print_json
from sdk.command.arguments import count
from sdk.command.memory import peak_memory
from sdk.llm._open import add_model, open_runner


def main(argv: Sequence[str], prog: str) -> int:
    """Measures a program; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "a generation fails")
    add_model(parser)
    parser.add_argument("--prompt-tokens", type=count(1), default=128, help="tokens of the prompt (128)")
    parser.add_argument("--new-tokens", type=count(2), default=64, help="tokens to generate (64)")
    parser.add_argument("--rounds", type=count(1), default=5, help="how often (5)")
    return finish(parser, argv, _bench)


def _bench(options: argparse.Namespace) -> int:
    from sdk.extension.llm.runner import GenerationConfig, make_token_input

    start = time.perf_counter()
    runner = open_runner(options)
    loaded = time.perf_counter() - start
    room = runner.metadata["get_max_context_len"]
    if options.prompt_tokens + options.new_tokens > room:
        raise CommandError(
            f"--prompt-tokens and --new-tokens: {options.prompt_tokens} and {options.new_tokens} do not fit into the "
            f"context of {room} tokens"
        )
    choose = random.Random(0)
    tokens = [choose.randrange(runner.get_vocab_size()) for _ in range(options.prompt_tokens)]
    config = GenerationConfig(echo=False, max_new_tokens=options.new_tokens, temperature=0, ignore_eos=True)
    prefill, decode = [], []
    try:
        for number in range(options.rounds + 1):
            runner.reset()
            start = time.perf_counter()
            runner.prefill([make_token_input(tokens)])
            middle = time.perf_counter()
            runner.generate("", config)
            end = time.perf_counter()
            if number > 0:  # the first one touches all memory
                prefill.append(len(tokens) / (middle - start))
                # The first token comes from the prompt's logits, without a call of the program.
                decode.append((len(runner.generated_tokens) - 1) / (end - middle))
    except RuntimeError as error:
        print(f"{options.model}: {describe(error)}", file=sys.stderr)
        return FAILED
    facts: dict[str, Any] = {
        "model": str(options.model),
        "load_seconds": loaded,
        "prompt_tokens": options.prompt_tokens,
        "new_tokens": options.new_tokens,
        "prefill_tokens_per_second": _spread(prefill),
        "decode_tokens_per_second": _spread(decode),
        "peak_memory_bytes": peak_memory(),
        "file_bytes": options.model.stat().st_size,
    }
    if options.json:
        print_json(facts)
        return OK
    print(f"load     {loaded:.2f} s")
    for name, what in (("prefill", f"{options.prompt_tokens} tokens"), ("decode", f"{options.new_tokens} tokens")):
        found = facts[f"{name}_tokens_per_second"]
        print(f"{name:<8} {found['median']:.1f} tokens a second ({found['min']:.1f} to {found['max']:.1f}; {what})")
    memory, file = facts["peak_memory_bytes"], facts["file_bytes"] / 1e6
    said = "not known on this system" if memory is None else f"{memory / 1e6:.0f} MB at most, with Python"
    print(f"memory   {said} (file: {file:.0f} MB)")
    return OK


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
