# SPDX-License-Identifier: BSD-3-Clause
"""Compiled tokenizers, whose tables need no parsing. A program contains one next to the model."""

from __future__ import annotations

import json
from typing import Any

from sdk.extension.llm.tokenizers import _tokenizers


def compile_tokenizer(tokenizer_json: bytes, config_json: bytes = b"") -> bytes:
    """Compiles a `tokenizer.json` for `HFTokenizer::load_compiled`, which uses the result in place.

    Of `config_json`, the content of a `tokenizer_config.json`, the tokens that begin and end a text are kept. Only
    BPE models can be compiled; any other `tokenizer.json` is returned as it is. Raises ValueError or RuntimeError for a
    tokenizer that is not valid.
    """
    tokenizer = _tokenizers.HFTokenizer()
    tokenizer.load_from_buffer(tokenizer_json, config_json)
    settings: dict[str, Any] = json.loads(tokenizer_json)
    model = settings["model"]
    if model.get("type", "BPE" if "merges" in model else "") != "BPE":
        return tokenizer_json
    names = ("bos_token", "eos_token")
    kept = {name: value for name, value in json.loads(config_json or b"{}").items() if name in names}
    rest = {name: value for name, value in model.items() if name not in ("vocab", "merges")}
    settings["model"] = {**rest, "type": "BPE"}
    return tokenizer.compile(_text(settings), _text(kept) if kept else b"")


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
