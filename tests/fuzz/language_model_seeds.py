# SPDX-License-Identifier: BSD-3-Clause
"""Usage: language_model_seeds.py tokenizers|templates FOLDER: writes small valid inputs of those fuzz targets.

A tokenizer is a byte that chooses the format, the file, a zero byte and a text; a template has variables as JSON after
its zero byte. Needs only Python.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "python/llm"))
TEXT = " aab ba, Abé1\u0301 a<s>b\n"
VOCABULARY = {token: i for i, token in enumerate(["<unk>", "<s>", "a", "b", "ab", "Ġ", "Ġa", "##a", "▁", "▁a", "aab"])}
HF_JSON, TIKTOKEN, SENTENCEPIECE, LLAMA2C = range(4)

PARTS: dict[str, list[dict[str, Any]]] = {
    "normalizer": [
        *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Replace", "pattern": {"Regex": r"\s+|a(?=b)"}, "content": "-"},
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "NFC"}]},
        {
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(struct.pack("<III", 8, 0, 1) + b"a\0").decode(),
        },
    ],
    "pre_tokenizer": [
        *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True},
        *(
            {
                "type": "Split",
                "pattern": {"Regex": r"(?i:'s)|[^\r\n\p{L}]?\p{L}+|\s+(?!\S)"},
                "behavior": way,
                "invert": False,
            }
            for way in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
        ),
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        {"type": "FixedLength", "length": 3},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "CharDelimiterSplit", "delimiter": "a"},
        {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "Whitespace"}]},
    ],
    "post_processor": [
        {"type": "BertProcessing", "sep": ["<s>", 1], "cls": ["<s>", 1]},
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        {"type": "Sequence", "processors": [{"type": "ByteLevel"}]},
    ],
    "decoder": [
        *({"type": kind} for kind in ("ByteLevel", "Fuse", "ByteFallback")),
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "CTC", "pad_token": "<unk>", "word_delimiter_token": "▁", "cleanup": True},
        {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
    ],
}
MODELS: list[dict[str, Any]] = [
    {
        "type": "BPE",
        "unk_token": "<unk>",
        "byte_fallback": True,
        "fuse_unk": True,
        "ignore_merges": False,
        "vocab": VOCABULARY,
        "merges": [["a", "b"], ["Ġ", "a"], ["a", "ab"]],
    },
    {
        "type": "WordPiece",
        "unk_token": "<unk>",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 9,
        "vocab": VOCABULARY,
    },
    {"type": "WordLevel", "unk_token": "<unk>", "vocab": VOCABULARY},
    {
        "type": "Unigram",
        "unk_id": 0,
        "byte_fallback": False,
        "vocab": [[token, -float(i)] for token, i in VOCABULARY.items()],
    },
]
CHAT_VARIABLES = {
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
    ],
    "tools": [{"function": {"name": "f", "parameters": {"b": 1.5, "a": [True, None]}}}],
    "add_generation_prompt": True,
    "bos_token": "<s>",
}


def hf_json(model: dict[str, Any], **parts: Any) -> bytes:
    special = {"single_word": False, "lstrip": True, "rstrip": False, "normalized": False, "special": True}
    whole = {"version": "1.0", "added_tokens": [{"id": 1, "content": "<s>", **special}], **parts, "model": model}
    return json.dumps(whole, ensure_ascii=False).encode()


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf with a length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def sentencepiece(algorithm: int) -> bytes:
    """A model of SentencePiece: `algorithm` is 1 for Unigram, 2 for BPE, 3 for words, 4 for characters."""
    kinds = {"<unk>": 2, "<s>": 3}
    pieces = b"".join(
        field(1, field(1, token.encode()) + b"\x15" + struct.pack("<f", -i) + b"\x18" + varint(kinds.get(token, 1)))
        for token, i in VOCABULARY.items()
    )
    return pieces + field(2, b"\x18" + varint(algorithm)) + field(3, b"\x18\x01\x20\x01\x28\x01")


def llama2c() -> bytes:
    tokens = [token.encode() for token in VOCABULARY]
    head = struct.pack("<IIII", len(tokens), 1, 0, max(map(len, tokens)))
    return head + b"".join(struct.pack("<fI", -i, len(token)) + token for i, token in enumerate(tokens))


def tokenizers() -> Iterator[tuple[str, bytes]]:
    for i, model in enumerate(MODELS):
        yield f"model{i}", bytes([HF_JSON]) + hf_json(model)
    for part, values in PARTS.items():
        for i, value in enumerate(values):
            yield f"{part}{i}", bytes([HF_JSON]) + hf_json(MODELS[i % len(MODELS)], **{part: value})
    ranks = [bytes([byte]) for byte in range(256)] + [b"ab", b" a", b"aab"]
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(ranks))
    yield "tiktoken", bytes([TIKTOKEN]) + lines
    for algorithm in (1, 2, 3, 4):
        yield f"sentencepiece{algorithm}", bytes([SENTENCEPIECE]) + sentencepiece(algorithm)
    yield "llama2c", bytes([LLAMA2C]) + llama2c()


def templates() -> Iterator[tuple[str, bytes]]:
    from chat_template_grammar import expression, template
    from chat_templates import TEMPLATES

    for name, source in TEMPLATES.items():
        yield name, source.encode()
    for seed in range(100):
        yield f"expression{seed}", expression(seed).encode()
        yield f"template{seed}", template(seed).encode()


def chat_variables() -> dict[str, Any]:
    """Returns the variables that the templates of models and those of the grammar read."""
    from chat_template_grammar import VALUES

    return {**CHAT_VARIABLES, **VALUES}


def main(kind: str, folder: str) -> None:
    rest = TEXT if kind == "tokenizers" else json.dumps(chat_variables())
    for name, content in tokenizers() if kind == "tokenizers" else templates():
        (Path(folder) / f"seed_{name}").write_bytes(content + b"\0" + rest.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
