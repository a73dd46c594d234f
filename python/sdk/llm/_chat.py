# SPDX-License-Identifier: BSD-3-Clause
"""Talk to a model: a line is a message. `/reset` begins anew, `/exit` or the end of the input ends.

Where a conversation does not fit into the context any more, the model forgets its oldest messages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sdk.command import FAILED, OK, CommandError, Parser, describe, finish, print_json
from sdk.llm._open import add_model, add_sampling, chat_template, open_runner, rendered, sampling
from sdk.util.words import counted

if TYPE_CHECKING:
    from sdk.extension.llm.runner import ChatTemplate, GenerationConfig, TextLLMRunner


def main(argv: Sequence[str], prog: str) -> int:
    """Holds a conversation; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "a generation fails")
    add_model(parser)
    parser.add_argument("--system", help="the system prompt (the template's)")
    add_sampling(parser)
    return finish(parser, argv, _chat)


_ROOM = 4
"""Messages are dropped until an answer has 1 / _ROOM of the context, or the part that --max-new-tokens asks for, if
that is less."""


class Conversation:
    """The messages so far, and the part of their text that the runner has seen."""

    def __init__(self, runner: TextLLMRunner, template: ChatTemplate, system: str | None) -> None:
        self._runner, self._template, self._system = runner, template, system
        self._context = int(runner.metadata["get_max_context_len"])
        self.begin()

    def begin(self) -> None:
        """Forgets all messages but the system's."""
        self._runner.reset()
        self._messages: list[dict[str, Any]] = []
        if self._system is not None:
            self._messages.append({"role": "system", "content": self._system})
        self._seen: list[int] = []
        self.dropped = 0
        """The number of messages that the model has forgotten."""

    def is_full(self) -> bool:
        """Whether the last answer ended because the context is full."""
        return self._runner.position >= self._context

    def _fitting(
        self, messages: list[dict[str, Any]], config: GenerationConfig
    ) -> tuple[list[dict[str, Any]], list[int]]:
        """Drops the oldest messages until the rest and an answer fit into the context. Returns the messages and their
        tokens."""
        context, room = self._context, self._context // _ROOM
        if config.max_new_tokens > 0:
            room = min(room, config.max_new_tokens)
        kept = 0 if self._system is None else 1
        while True:
            tokens = self._runner.encode(rendered(self._template, self._runner, messages, True), add_bos=False)
            if len(tokens) + room <= context:
                return messages, tokens
            if len(messages) <= kept + 1:
                break
            messages = [*messages[:kept], *messages[kept + 2 :]]  # a message and its answer
        if len(tokens) >= context:
            raise CommandError(
                f"the message has {len(tokens)} tokens with what belongs to it, and the context has {context}: shorten "
                f"it, or export the model with a larger --context"
            )
        return messages, tokens

    def ask(self, text: str, config: GenerationConfig, write: Any) -> str:
        """Generates the answer to a message; `write` gets its pieces. Raises RuntimeError if the generation fails, and
        CommandError if the message by itself does not fit into the context; in both cases the conversation does not
        change."""
        messages, tokens = self._fitting([*self._messages, {"role": "user", "content": text}], config)
        # A template may write earlier turns in another way than the model did: the common beginning stays.
        same = 0
        while same < min(len(self._seen), len(tokens) - 1) and self._seen[same] == tokens[same]:
            same += 1
        if same < self._runner.position:
            same = 0
            self._runner.reset()
        pieces: list[str] = []

        def on_piece(piece: str) -> None:
            pieces.append(piece)
            write(piece)

        try:
            self._runner.generate(tokens[same:], config, on_piece)
        except (RuntimeError, KeyboardInterrupt):
            self._runner.reset()
            self._seen = []
            raise
        answer = "".join(pieces)
        self.dropped += len(self._messages) + 1 - len(messages)
        self._seen = [*tokens, *self._runner.generated_tokens][: self._runner.position]
        self._messages = [*messages, {"role": "assistant", "content": answer}]
        return answer


def _chat(options: argparse.Namespace) -> int:
    runner = open_runner(options)
    template = chat_template(runner)
    if template is None:
        raise CommandError(
            f"`{options.model}` has no chat template inside: export it with `sdk llm export`, or use "
            "`sdk llm run --raw`"
        )
    conversation, config = Conversation(runner, template, options.system), sampling(options)
    interactive = sys.stdin.isatty()
    while True:
        try:
            text = input("> " if interactive else "")
        except EOFError:
            if interactive:
                print()
            return OK
        if text.strip() in ("/exit", "/quit"):
            return OK
        if text.strip() == "/reset":
            conversation.begin()
        elif text.strip():
            status = _answer(conversation, text, config, options)
            if status != OK and not interactive:
                return status


def _answer(conversation: Conversation, text: str, config: GenerationConfig, options: argparse.Namespace) -> int:
    def write(piece: str) -> None:
        if not options.json:
            sys.stdout.write(piece)
            sys.stdout.flush()

    dropped = conversation.dropped
    try:
        answer = conversation.ask(text, config, write)
    except CommandError as error:  # of this message alone
        if not sys.stdin.isatty():
            raise
        print(error, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(" (stopped)", file=sys.stderr)
        return OK
    except RuntimeError as error:
        print(f"{options.model}: {describe(error)}", file=sys.stderr)
        return FAILED
    if options.json:
        print_json({"role": "assistant", "content": answer})
    else:
        print()
    if conversation.dropped > dropped:
        count = counted(conversation.dropped, "message")
        print(f"(the context is full: the model has forgotten the oldest {count}; /reset begins anew)", file=sys.stderr)
    if conversation.is_full():
        print("(the context is full: the answer ends here; /reset begins anew)", file=sys.stderr)
    return OK
