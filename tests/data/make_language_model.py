#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes language_model.pte: random weights, one token per letter, a chat template and a context of 64 tokens.

It prints how eager mode continues the prompt of the tests (c_api_llm_test.cpp), and the least difference between the
logits of the likeliest token and of the second one.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import torch

from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.settings import read_settings

FOLDER = Path(__file__).parent
PROMPT, COUNT = "Once upon a time", 20


def settings_of(params: dict[str, int], *settings: str) -> list[str]:
    """Settings for a model of these sizes and for its tokenizer, which has one token per letter."""
    folder = Path(tempfile.mkdtemp())
    (folder / "params.json").write_text(json.dumps(params))
    tokenizer = {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "model": {
            "type": "WordLevel",
            "vocab": {chr(127 - params["vocab_size"] + i): i for i in range(params["vocab_size"])},
            "unk_token": "~",
        },
        "decoder": {"type": "Fuse"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return [
        f"base.params={folder / 'params.json'}",
        f"base.tokenizer_path={folder / 'tokenizer.json'}",
        "model.use_kv_cache=true",
        "export.embed_tokenizer=true",
        *settings,
    ]


def main() -> None:
    settings = settings_of(
        {"dim": 32, "n_layers": 1, "n_heads": 2, "vocab_size": 95, "hidden_dim": 32},
        "export.max_seq_length=32",
        "export.max_context_length=64",
        f"export.output_dir={FOLDER}",
        "export.output_name=language_model.pte",
    )
    torch.manual_seed(7)
    export(None, settings)
    torch.manual_seed(7)
    model = make_model(read_settings(None, settings))
    tokens, position, text, least = [ord(letter) - 32 for letter in PROMPT], 0, "", float("inf")
    with torch.no_grad():
        for _ in range(COUNT):
            logits = model(torch.tensor([tokens]), {"input_pos": torch.tensor([position])})
            best = logits[0].topk(2)
            least = min(least, float(best.values[0] - best.values[1]))
            position += len(tokens)
            tokens = [int(best.indices[0])]
            text += chr(32 + tokens[0])
    print(f"{text!r}, by {least:.3f} at least")


if __name__ == "__main__":
    main()
