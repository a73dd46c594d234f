# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers of Hugging Face."""

from __future__ import annotations

from sdk.exir._serialize._regular_file import read_file
from sdk.extension.llm.tokenizers import _tokenizers


class HuggingFaceTokenizer:
    """A `tokenizer.json`, with the names of its first and last token from a `tokenizer_config.json`, if one is given.

    `bos_id` is None where the model has no such token. `n_words` is the number of ids, `stop_tokens` the ids that end a
    text, `model` the tokenizer in C++.
    """

    def __init__(self, model_path: str, config_path: str | None = None) -> None:
        config = read_file(config_path) if config_path else b""
        self.model = _tokenizers.HFTokenizer()
        self.model.load_from_buffer(read_file(model_path), config)
        self.n_words: int = self.model.vocab_size()
        self.bos_id: int | None = self.model.bos_id()
        self.eos_id: int | None = self.model.eos_id()
        self.stop_tokens = [] if self.eos_id is None else [self.eos_id]

    def encode(self, s: str, *, bos: bool, eos: bool) -> list[int]:
        """The ids of a text, between `bos` tokens that begin a text and `eos` tokens that end it.

        Neither is added for a model that lacks the token.
        """
        return self.model.encode(s, int(bos), int(eos))

    def decode(self, t: list[int]) -> str:
        """The text of ids, without special tokens."""
        return self.model.decode_batch(t, True)

    def decode_token(self, t: int) -> str:
        """The text of one id."""
        return self.model.decode_batch([t], True)
