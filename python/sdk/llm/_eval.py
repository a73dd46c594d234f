# SPDX-License-Identifier: BSD-3-Clause
"""Perplexity of a text: e to the mean negative log-likelihood of its tokens, each given the tokens before it.

The text is cut into windows of the context's length; each window begins with an empty context. The program gives the
logits of one token a call unless it was exported with debug.generate_full_logits=true, which makes the evaluation many
times faster.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from sdk.command import FAILED, OK, CommandError, Parser, describe, existing, finish, print_json
from sdk.command.arguments import count
from sdk.llm._open import add_model, open_runner
from sdk.util.paths import file_path


def main(argv: Sequence[str], prog: str) -> int:
    """Evaluates a program; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "the program fails")
    add_model(parser)
    parser.add_argument("--text", type=file_path, required=True, metavar="FILE", help="the text, UTF-8")
    parser.add_argument("--tokens", type=count(2), help="how many of its first tokens are evaluated (all)")
    parser.add_argument("--window", type=count(2), help="size of a window in tokens (the context)")
    return finish(parser, argv, _eval)


def _eval(options: argparse.Namespace) -> int:
    runner = open_runner(options)
    try:
        text = existing(options.text).read_text(encoding="utf-8")
        tokens = runner.encode(text, add_bos=False)[: options.tokens]
    except (UnicodeDecodeError, ValueError) as error:
        raise CommandError(f"--text: {describe(error)}") from None
    if len(tokens) < 2:
        raise CommandError(f"--text: the text has {len(tokens)} tokens; expected at least 2")
    metadata = runner.metadata
    if not metadata.get("use_kv_cache"):
        raise CommandError(f"`{options.model}` has no key-value cache: export it with model.use_kv_cache=true")
    longest = metadata["get_max_context_len"]
    window = options.window or longest
    if window > longest:
        raise CommandError(f"--window: {window} is more than the context of {longest} tokens")
    del runner  # frees its memory: below, the program is loaded again
    try:
        total, predicted, method = 0.0, 0, _load(options)
        for at in range(0, len(tokens) - 1, window):
            part = tokens[at : at + window]
            for likelihood in _log_likelihoods(method, part, metadata["get_max_seq_len"]):
                total += likelihood
                predicted += 1
            _progress(min(at + window, len(tokens)), len(tokens), total, predicted)
    except RuntimeError as error:
        print(f"{options.model}: {describe(error)}", file=sys.stderr)
        return FAILED
    perplexity = math.exp(-total / predicted)
    if options.json:
        print_json({"perplexity": perplexity, "tokens": predicted, "window": window})
    else:
        print(f"perplexity {perplexity:.4f} over {predicted} tokens, in windows of {window}")
    return OK


def _load(options: argparse.Namespace) -> Any:
    from sdk.runtime import Runtime

    return Runtime.get().load_program(options.model, data_map=options.data).load_method("forward")


def _log_likelihoods(method: Any, tokens: list[int], chunk: int) -> Iterator[float]:
    """The log-likelihood of each token of a window but the first."""
    import torch

    position = 0
    while position < len(tokens) - 1:
        part = tokens[position : min(position + chunk, len(tokens) - 1)]
        (logits,) = method.execute([torch.tensor([part]), torch.tensor([position])])
        if logits.dim() == 2:  # the program returns the logits of the last token only
            if len(part) > 1:
                chunk = 1
                continue
            logits = logits[:, None]
        following = torch.tensor(tokens[position + 1 : position + 1 + len(part)])
        found = torch.log_softmax(logits[0].float(), dim=-1).gather(1, following[:, None])
        yield from found[:, 0].tolist()
        position += len(part)


def _progress(done: int, count: int, total: float, predicted: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == count else ""
        print(f"\r{done} of {count} tokens: {math.exp(-total / predicted):.4f}", end=end, file=sys.stderr, flush=True)
