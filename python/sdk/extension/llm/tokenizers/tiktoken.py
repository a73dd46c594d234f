# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers of tiktoken."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from typing import Literal

from sdk.extension.llm.tokenizers import _tokenizers
from sdk.extension.llm.tokenizers.constants import CL100K_PAT_STR, LLAMA_SPECIAL_TOKENS


class TiktokenTokenizer:
    """A file of tiktoken with the pattern and the special tokens of Llama 3, unless others are given.

    `special_tokens` are ids by name, `n_words` is the number of ids.
    """

    def __init__(
        self,
        model_path: str,
        pat_str: str = CL100K_PAT_STR,
        special_tokens: Sequence[str] = tuple(LLAMA_SPECIAL_TOKENS),
    ) -> None:
        names = list(special_tokens)
        missing = [name for name in ("<|begin_of_text|>", "<|end_of_text|>") if name not in names]
        if missing:
            raise ValueError(f"special_tokens lacks {' and '.join(missing)}, which begin and end a text")
        begin, end = names.index("<|begin_of_text|>"), names.index("<|end_of_text|>")
        self.model = _tokenizers.Tiktoken(pat_str, names, begin, end)
        self.model.load(str(model_path))
        self.n_words: int = self.model.vocab_size()
        self.special_tokens = {name: self.n_words - len(names) + index for index, name in enumerate(names)}
        self.bos_id: int = self.model.bos_tok()
        self.eos_id: int = self.model.eos_tok()

    def encode(
        self,
        s: str,
        *,
        bos: bool,
        eos: bool,
        allowed_special: Literal["all"] | Set[str] | None = None,
        disallowed_special: Literal["all"] | Collection[str] = (),
    ) -> list[int]:
        """The ids of a text.

        Names of special tokens in the text are text, unless `allowed_special` has them. One that `disallowed_special`
        has, and `allowed_special` does not, raises ValueError.
        """
        names = set(self.special_tokens)
        allowed = names if allowed_special == "all" else set(allowed_special or ()) & names
        refused = (names if disallowed_special == "all" else set(disallowed_special)) - allowed
        for name in refused:
            if name in s:
                raise ValueError(f"the text has {name!r}, which disallowed_special refuses. Take it out, or allow it.")
        ids = [self.bos_id] if bos else []
        if allowed == names:
            ids += self.model.encode(s)
        elif allowed:
            longest_first = sorted(allowed, key=len, reverse=True)
            for part in re.split("(" + "|".join(map(re.escape, longest_first)) + ")", s):
                ids += [self.special_tokens[part]] if part in allowed else self.model.encode_ordinary(part)
        else:
            ids += self.model.encode_ordinary(s)
        return [*ids, self.eos_id] if eos else ids

    def decode(self, t: Sequence[int], skip_special_tokens: bool = False) -> str:
        """The text of ids. Bytes that are not valid UTF-8 become U+FFFD."""
        return self.model.decode_batch(list(t), skip_special_tokens)

    def decode_token(self, t: int) -> str:
        """Returns the text of one id. Raises UnicodeDecodeError if it is part of a character."""
        return self.model.id_to_piece(t).decode("utf-8")
