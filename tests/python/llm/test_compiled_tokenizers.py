# SPDX-License-Identifier: BSD-3-Clause
"""The compiled form of tokenizers, against the tokenizers that it was compiled from."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gguf_tokenizers import FAMILIES
from test_tokenizers import OLD, compare, loaded, trained
from tokenizers import Tokenizer as Reference
from tokenizers import decoders, normalizers, pre_tokenizers

from sdk.extension.llm import tokenizers as sdk_tokenizers
from sdk.extension.llm.tokenizers.compiled import compile_tokenizer

COMPILED = {
    "bytes": {"decoder": decoders.ByteLevel(), **FAMILIES["llama-bpe"]},
    "characters": {"pre_tokenizer": pre_tokenizers.Metaspace(), "decoder": decoders.Metaspace()},
    "normalised": {
        "normalizer": normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
        "pre_tokenizer": pre_tokenizers.Whitespace(),
    },
}


@pytest.mark.parametrize("parts", COMPILED)
def test_compiled_tokenizers_are_the_same(parts: str) -> None:
    reference = trained("BPE", **COMPILED[parts])
    compiled = compile_tokenizer(reference.to_str().encode())
    assert compiled.startswith(b"PTETOK01")
    tokenizer = sdk_tokenizers.load_tokenizer_from_buffer(compiled)
    again, plain = sdk_tokenizers.CppHFTokenizer(), loaded(reference)
    again.load_from_buffer(compiled)
    assert tokenizer.vocab_size() == reference.get_vocab_size()
    for text in OLD:
        ids = reference.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text) == ids and again.encode(text) == ids, text
        assert again.decode_batch(ids) == plain.decode_batch(ids)
    for token in range(tokenizer.vocab_size()):
        piece = plain.id_to_piece(token)
        assert tokenizer.id_to_piece(token) == piece
        assert unicodedata.normalize("NFC", piece.decode()) and tokenizer.piece_to_id(piece.decode()) == token


@pytest.mark.parametrize("model", ["WordPiece", "WordLevel", "Unigram"])
def test_other_models_stay_as_they_are(model: str) -> None:
    content = trained(model, pre_tokenizer=pre_tokenizers.Whitespace()).to_str().encode()
    assert compile_tokenizer(content) == content
    compare(Reference.from_str(content.decode()), OLD[:20])
    with pytest.raises(RuntimeError, match="only BPE models have a compiled form"):
        tokenizer = sdk_tokenizers.CppHFTokenizer()
        tokenizer.load_from_buffer(content)
        tokenizer.compile(b"{}")


@pytest.fixture(scope="module")
def small_compiled() -> bytes:
    content = {
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "added_tokens": [{"id": 9, "content": "<|end|>", "special": True}],
        "model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1, "b": 2, "Ġa": 3, "ab": 4}, "merges": ["Ġ a", "a b"]},
    }
    return compile_tokenizer(json.dumps(content).encode())


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_damaged_compiled_tokenizers_are_refused_or_work(data: st.DataObject, small_compiled: bytes) -> None:
    """Damaged tables cause no read outside of them, and no endless search."""
    damaged = bytearray(small_compiled)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(damaged), data.draw(st.integers(0, len(damaged)))]))
    try:
        tokenizer = sdk_tokenizers.load_tokenizer_from_buffer(bytes(damaged[:cut]))
    except RuntimeError as error:
        assert str(error)
        return
    try:
        ids = tokenizer.encode("ab aab c<|end|>")
        tokenizer.decode_batch(ids)
    except (RuntimeError, ValueError, IndexError) as error:
        assert str(error)


@pytest.mark.parametrize("word", [0, 7, 1 << 24, 0xFFFFFFF0, 0xFFFFFFFF])
def test_each_word_of_a_compiled_tokenizer_may_be_wrong(word: int, small_compiled: bytes) -> None:
    """Entries of tables are not checked before they are used: a wrong one is refused, or leads to other tokens of the
    vocabulary."""
    text, refused = "ab aab c<|end|>", 0
    for at in range(16, len(small_compiled) - 3, 4):
        damaged = small_compiled[:at] + word.to_bytes(4, "little") + small_compiled[at + 4 :]
        try:
            tokenizer = sdk_tokenizers.load_tokenizer_from_buffer(damaged)
            ids = tokenizer.encode(text)
        except (RuntimeError, ValueError) as error:
            assert str(error)
            refused += 1
            continue
        assert all(0 <= token < tokenizer.vocab_size() for token in ids)
        for token in ids:
            assert isinstance(tokenizer.id_to_piece(token), bytes)
    assert refused > 0
