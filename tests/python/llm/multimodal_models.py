# SPDX-License-Identifier: BSD-3-Clause
"""Small models of transformers that take pictures or sound, with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from test_runner import write_tokenizer

from sdk.extension.llm.export.export_llm import export

VOCABULARY = 96
EOS, IMAGE, AUDIO = 95, 94, 93
"""Tokens that end a sequence, and that stand for a position of a picture or of sound."""
MEAN, DEVIATION = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
_TEXT: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "eos_token_id": EOS,
}


def llava(**text: Any) -> Any:
    """28 x 28 pixels become 4 positions. `text`: other fields of the text model's configuration."""
    vision = {
        "model_type": "clip_vision_model",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "image_size": 28,
        "patch_size": 14,
    }
    config = transformers.LlavaConfig(vision_config=vision, text_config={**_TEXT, **text}, image_token_id=IMAGE)
    return _random(transformers.LlavaForConditionalGeneration(config))


def voxtral(**text: Any) -> Any:
    """A chunk of two seconds of sound becomes 25 positions."""
    audio = {
        "model_type": "voxtral_encoder",
        "hidden_size": 32,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_mel_bins": 16,
        "max_source_positions": 100,
    }
    config = transformers.VoxtralConfig(
        audio_config=audio, text_config={**_TEXT, "rope_theta": 1e4, **text}, audio_token_id=AUDIO
    )
    return _random(transformers.VoxtralForConditionalGeneration(config))


def _random(model: Any) -> Any:
    torch.manual_seed(5)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.15)
    return model.eval()


def save(model: Any, folder: Path, images: bool = False) -> None:
    """Writes what a folder of Hugging Face's form has; `images`: also the settings of the processor."""
    model.save_pretrained(folder)
    tokenizer = json.loads(write_tokenizer(folder / "tokenizer.json").read_text())
    tokenizer["added_tokens"] += [{"id": i, "content": f"<{i}>", "special": True} for i in (AUDIO, IMAGE)]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    if images:
        settings = {
            "image_mean": MEAN,
            "image_std": DEVIATION,
            "rescale_factor": 1 / 255,
            "do_rescale": True,
            "do_normalize": True,
            "crop_size": {"height": 28, "width": 28},
        }
        (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def program_of(folder: Path, *settings: str) -> Path:
    """The program of a folder, with chunks of up to 16 positions and a context of 64."""
    return export(
        None,
        [
            f"base.checkpoint={folder}",
            "model.use_kv_cache=true",
            "export.max_seq_length=16",
            "export.max_context_length=64",
            "export.embed_tokenizer=true",
            f"export.output_dir={folder}",
            "export.output_name=model.pte",
            *settings,
        ],
    )


def continued(model: Any, tokens: list[int], count: int, **media: torch.Tensor) -> tuple[list[int], torch.Tensor]:
    """The likeliest tokens after a prompt, each from the whole sequence, and the logits of the first of them."""
    found: list[int] = []
    first = torch.empty(0)
    while len(found) < count:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([tokens + found]), use_cache=False, **media).logits[0, -1]
        if not found:
            first = logits
        found.append(int(logits.argmax()))
        if found[-1] == EOS:
            break
    return found, first
