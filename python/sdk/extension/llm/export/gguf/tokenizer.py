# SPDX-License-Identifier: BSD-3-Clause
"""Tokenizers of GGUF files, as Hugging Face's `tokenizer.json`.

A GGUF file has the tokens, and either the merges of byte-level BPE (`tokenizer.ggml.model` is `gpt2`) or the scores of
SentencePiece's BPE (`llama`). Of the rule by which byte-level BPE splits text into words, the file has only the name
(`tokenizer.ggml.pre`). The keys are those of ggml's `docs/gguf.md`. A file does not say which tokens end a turn, and
which take the white space after them. They are found as in llama.cpp: by the tokens' texts and the model's name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from sdk.extension.llm.export.gguf._file import GGUFError
from sdk.extension.llm.export.gguf._parts import GGUFFile
from sdk.extension.llm.export.gguf._pre_tokenizers import FAMILIES, byte_level

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
"""Values of `tokenizer.ggml.token_type`."""
_ENDS_OF_TURN = frozenset(
    [
        "<|eot_id|>",
        "<|eom_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "<end_of_turn>",
        "<turn|>",
        "<|tool_response>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<｜end▁of▁sentence｜>",
        "<end_of_utterance>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "[EOS]",
        "</s>",
        "<eos>",
        "[e~[",
        "<|fim_pad|>",
        "<fim-pad>",
        "<fim_pad>",
        "<PAD>",
        "[PAD]",
        "<|fim_repo|>",
        "<|repo_name|>",
        "<fim-repo>",
        "<REPO>",
        "<reponame>",
        "<|file_sep|>",
    ]
)
"""Tokens that end an answer by their text, whatever their type."""
_HAVE_ANOTHER_END = frozenset(["<|tool_response>", "<|plamo:eos|>"])
"""Tokens of models whose </s> is text like any other."""
_SPACE = "▁"
"""The character that SentencePiece writes instead of a space."""


@dataclass(frozen=True)
class GGUFTokenizer:
    """The tokenizer of a GGUF file."""

    tokenizer_json: bytes
    """The content of a `tokenizer.json`."""
    config_json: bytes
    """The content of a `tokenizer_config.json`: the tokens that begin and end a text."""
    bos_id: int | None
    eos_ids: tuple[int, ...]
    """Tokens that end a text or a turn of a conversation."""
    chat_template: str | None
    """A Jinja template."""


def gguf_tokenizer(file: GGUFFile) -> GGUFTokenizer:
    """The tokenizer of a file. Raises GGUFError for one that is missing, damaged or of a kind that is not supported."""
    metadata = _Metadata(file)
    tokens = metadata.strings("tokens")
    if len(set(tokens)) != len(tokens):
        raise metadata.error("tokens", "has a token twice")
    kinds = metadata.numbers("token_type", len(tokens)) or [_NORMAL] * len(tokens)
    kind = metadata.get("model")
    if kind == "gpt2":
        settings, adds_bos = _bpe(metadata, tokens)
    elif kind == "llama":
        settings, adds_bos = _sentencepiece(metadata, tokens, kinds)
    else:
        raise metadata.error("model", f"is {kind!r}; supported are 'gpt2' (byte-level BPE) and 'llama' (SentencePiece)")
    ends_of_turn = _ENDS_OF_TURN - ({"</s>"} if _HAVE_ANOTHER_END.intersection(tokens) else set())
    kinds = [_CONTROL if token in ends_of_turn else kind for token, kind in zip(tokens, kinds, strict=True)]
    bos, eos = metadata.token("bos_token_id", len(tokens)), metadata.token("eos_token_id", len(tokens))
    adds_bos, adds_eos = metadata.get("add_bos_token", adds_bos), metadata.get("add_eos_token", False)
    around = (bos if adds_bos else None, eos if adds_eos else None)
    strips = kind == "llama" and _is_phi3(file.metadata)
    added = [
        _added(i, tokens[i], kind, strips and tokens[i] not in ("<unk>", "<s>", "<|endoftext|>"))
        for i, kind in enumerate(kinds)
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED)
    ]
    settings |= {"added_tokens": added, "post_processor": _post_processor(tokens, *around)}
    named = (
        metadata.token(f"{name}_token_id", len(tokens)) for name in ("eot", "eom", "fim_pad", "fim_rep", "fim_sep")
    )
    ends = [eos, *named, *_ends_of_turn(tokens, ends_of_turn)]
    names = {"bos_token": bos, "eos_token": eos}
    template = file.metadata.get("tokenizer.chat_template")
    return GGUFTokenizer(
        tokenizer_json=_json({"version": "1.0", "truncation": None, "padding": None, **settings}),
        config_json=_json({name: tokens[i] for name, i in names.items() if i is not None}),
        bos_id=bos,
        eos_ids=tuple(dict.fromkeys(i for i in ends if i is not None)),
        chat_template=template if isinstance(template, str) else None,
    )


class _Metadata:
    """The entries `tokenizer.ggml.*` of a file, whose errors name the file and the key."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file

    def get(self, name: str, default: Any = None) -> Any:
        return self._file.metadata.get(f"tokenizer.ggml.{name}", default)

    def error(self, name: str, what: str) -> GGUFError:
        return GGUFError(f"{self._file.path}: tokenizer.ggml.{name} {what}")

    def strings(self, name: str) -> list[str]:
        found = self.get(name)
        if not isinstance(found, list) or not found or not all(isinstance(item, str) for item in found):
            raise self.error(name, "is missing" if found is None else "must be strings, at least one")
        return found

    def numbers(self, name: str, count: int) -> list[Any] | None:
        found = self.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(item, (int, float)) for item in found):
            raise self.error(name, "must be numbers")
        if len(found) != count:
            raise self.error(name, f"has {len(found)} numbers, expected one for each of the {count} tokens")
        return found

    def token(self, name: str, count: int) -> int | None:
        found = self.get(name)
        if found is not None and not (isinstance(found, int) and 0 <= found < count):
            raise self.error(name, f"is {found!r}, expected one of the {count} tokens")
        return found


def _bpe(metadata: _Metadata, tokens: Sequence[str]) -> tuple[dict[str, Any], bool]:
    name = metadata.get("pre")
    if name is None:
        raise metadata.error(
            "pre",
            "is missing, which says how text is split into words: convert the model again, with a llama.cpp of "
            "May 2024 or later",
        )
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None:
        raise metadata.error("pre", f"is {name!r}; supported are {', '.join(sorted(FAMILIES))}")
    merges = metadata.strings("merges")
    settings = {
        "normalizer": {"type": "NFC"} if family.nfc else None,
        "pre_tokenizer": _sequence("pretokenizers", family.splits),
        "decoder": byte_level(True),
        "model": _model(tokens, merges, ignore_merges=family.ignore_merges),
    }
    return settings, family.adds_bos


def _sentencepiece(metadata: _Metadata, tokens: Sequence[str], kinds: Sequence[int]) -> tuple[dict[str, Any], bool]:
    scores = metadata.numbers("scores", len(tokens))
    if scores is None:
        raise metadata.error("scores", "is missing, which says in which order tokens are merged")
    prefix = metadata.get("add_space_prefix", True)
    unknown = next((token for token, kind in zip(tokens, kinds, strict=True) if kind == _UNKNOWN), None)
    to_spaces: dict[str, Any] = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    decoders: list[dict[str, Any]] = [to_spaces, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if prefix:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    normalizers: list[dict[str, Any]] = [{"type": "Prepend", "prepend": _SPACE}] if prefix else []
    normalizers.append({"type": "Replace", "pattern": {"String": " "}, "content": _SPACE})
    merges = _merges_of_scores(tokens, kinds, scores)
    settings = {
        "normalizer": _sequence("normalizers", normalizers),
        "pre_tokenizer": None,
        "decoder": _sequence("decoders", decoders),
        "model": _model(tokens, merges, byte_fallback=True, fuse_unk=True, unk_token=unknown),
    }
    return settings, True


def _merges_of_scores(tokens: Sequence[str], kinds: Sequence[int], scores: Sequence[float]) -> list[list[str]]:
    """Returns all pairs of tokens whose concatenation is a token, sorted by its score, highest first."""
    known = {token for token, kind in zip(tokens, kinds, strict=True) if kind == _NORMAL}
    found: list[tuple[float, int, str, str]] = []
    for i, token in enumerate(tokens):
        if kinds[i] == _NORMAL:
            for at in range(1, len(token)):
                if token[:at] in known and token[at:] in known:
                    found.append((-scores[i], i, token[:at], token[at:]))
    return [[left, right] for _, _, left, right in sorted(found, key=lambda merge: merge[:2])]


def _model(tokens: Sequence[str], merges: Sequence[Any], **options: Any) -> dict[str, Any]:
    none = dict.fromkeys(("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"))
    flags = dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), False)
    vocabulary = {token: i for i, token in enumerate(tokens)}
    return {"type": "BPE", **none, **flags, **options, "vocab": vocabulary, "merges": list(merges)}


def _sequence(name: str, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return steps[0] if len(steps) == 1 else {"type": "Sequence", name: list(steps)}


def _ends_of_turn(tokens: Sequence[str], texts: Set[str]) -> list[int]:
    """Tokens that end an answer by their text."""
    found = {token: i for i, token in enumerate(tokens) if token in texts}
    # In these models, <|end|> follows each of the messages of an answer.
    if {"<|return|>", "<|call|>"} <= found.keys() or {"<|flush|>", "<|calls|>"} <= found.keys():
        found.pop("<|end|>", None)
    return list(found.values())


def _is_phi3(metadata: Mapping[str, Any]) -> bool:
    """Phi-3 and 3.5: the tokenizers of their later relatives are not SentencePiece's."""
    name = str(metadata.get("general.name", "")).lower()
    return metadata.get("general.architecture") == "phi3" or "phi-3" in name or "phi3" in name


def _added(token_id: int, content: str, kind: int, strips: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "normalized"), False)
    return {"id": token_id, "content": content, **flags, "rstrip": strips, "special": kind != _USER_DEFINED}


def _post_processor(tokens: Sequence[str], bos: int | None, eos: int | None) -> dict[str, Any] | None:
    def special(i: int | None) -> list[dict[str, Any]]:
        return [] if i is None else [{"SpecialToken": {"id": tokens[i], "type_id": 0}}]

    if bos is None and eos is None:
        return None
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    ids = [i for i in (bos, eos) if i is not None]
    return {
        "type": "TemplateProcessing",
        "single": [*special(bos), first, *special(eos)],
        "pair": [*special(bos), first, *special(eos), *special(bos), second, *special(eos)],
        "special_tokens": {tokens[i]: {"id": tokens[i], "ids": [i], "tokens": [tokens[i]]} for i in ids},
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
