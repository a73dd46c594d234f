# SPDX-License-Identifier: BSD-3-Clause
"""Finds the token that ends an answer in the chat template of a model.

Checkpoints name the token that ends a text. Templates often end the turns of a conversation with another one, and a
model that has learned it generates that token, and then goes on with the turn of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

_ANSWER = "xyzanswerxyz"
_MESSAGES = [("user", "question"), ("assistant", _ANSWER), ("user", "question")]
_VARIABLES: tuple[dict[str, Any], ...] = ({}, {"tools": [], "functions": "", "datetime": ""})
"""Variables that templates for tools read without checking that they exist."""


def end_of_turn(template: str, added_tokens: Iterable[Mapping[str, Any]], eos_token: str = "") -> int | None:
    """The id of the token that a template writes after an answer; None if it writes no token there.

    `added_tokens` have the form of a `tokenizer.json`, `eos_token` is the text of the token that ends a text. Returns
    None, too, if the template rejects a plain conversation.
    """
    from sdk.extension.llm.runner import ChatTemplate

    tokens = {str(token["content"]): int(token["id"]) for token in added_tokens if token.get("content")}
    # A template that writes nothing after the last answer may still write the token when another turn follows. Some
    # templates accept only lists of parts as content.
    for count, parts, more in product((2, 3), (False, True), _VARIABLES):
        messages = [
            {"role": role, "content": [{"type": "text", "text": text}] if parts else text}
            for role, text in _MESSAGES[:count]
        ]
        try:
            text = ChatTemplate(template).render(
                messages, add_generation_prompt=False, bos_token="", eos_token=eos_token, **more
            )
        except RuntimeError:
            continue
        behind = text.partition(_ANSWER)[2].lstrip()
        first = max((token for token in tokens if behind.startswith(token)), key=len, default=None)
        if first is not None:
            return tokens[first]
    return None
