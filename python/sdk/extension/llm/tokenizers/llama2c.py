# SPDX-License-Identifier: BSD-3-Clause
"""Models of SentencePiece, and their files for llama2.c."""

from __future__ import annotations

import pathlib
import struct

from sdk.exir._serialize._files import write_atomically
from sdk.extension.llm.tokenizers import _tokenizers


class Llama2cTokenizer:
    """A model of SentencePiece (`tokenizer.model`). `n_words` is the number of ids."""

    def __init__(self, model_path: str) -> None:
        self.sp_model = _tokenizers.SPTokenizer()
        self.sp_model.load(model_path)
        self.model_path = model_path
        self.n_words: int = self.sp_model.vocab_size()
        self.bos_id: int = self.sp_model.bos_tok()
        self.eos_id: int = self.sp_model.eos_tok()

    def encode(self, s: str, bos: bool, eos: bool) -> list[int]:
        """The ids of a text, between `bos` tokens that begin a text and `eos` tokens that end it."""
        return self.sp_model.encode(s, int(bos), int(eos))

    def decode(self, t: list[int]) -> str:
        """The text of ids, without special tokens."""
        return self.sp_model.decode_batch(t)

    def decode_token(self, t: int) -> str:
        """The text of one id."""
        return self.sp_model.decode_batch([t])

    def export(self, output_path: str, *, prepend_padding: bool = False) -> None:
        """Write the file of llama2.c that the C++ class Llama2cTokenizer reads.

        Little-endian: the number of tokens, the ids of the first and the last token of a text and the length of the
        longest token, each an int32; then of each token a float32 score, an int32 length and the bytes, with spaces
        instead of SentencePiece's U+2581.
        `prepend_padding`: a token "<pad>" before all others, so that every id is one more than the model's.
        """
        names = {self.bos_id: b"<s>", self.eos_id: b"</s>"}
        tokens = [(-1.0, b"<pad>")] if prepend_padding else []
        for token in range(self.n_words):
            piece = names.get(token, self.sp_model.id_to_piece(token).replace("▁".encode(), b" "))
            tokens.append((self.sp_model.score(token), piece))
        longest, shift = max(len(piece) for _, piece in tokens), int(prepend_padding)
        data = [struct.pack("<IIII", len(tokens), self.bos_id + shift, self.eos_id + shift, longest)]
        data += [struct.pack("<fI", score, len(piece)) + piece for score, piece in tokens]
        write_atomically(pathlib.Path(output_path), b"".join(data))
