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
EOS, IMAGE, AUDIO, BEGIN, END = 95, 94, 93, 92, 91
"""The ids of the tokens that end a sequence, stand for one position of a picture or of sound, and surround a picture in
Gemma 3."""
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


_VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 28,
    "patch_size": 7,
}


def llava(**text: Any) -> Any:
    """28 x 28 pixels become 4 positions. `text`: other fields of the text model's configuration."""
    vision = {**_VISION, "model_type": "clip_vision_model", "num_hidden_layers": 3, "patch_size": 14}
    config = transformers.LlavaConfig(vision_config=vision, text_config={**_TEXT, **text}, image_token_id=IMAGE)
    return _random(transformers.LlavaForConditionalGeneration(config))


def gemma3(**text: Any) -> Any:
    """28 x 28 pixels become 4 positions, which attend to each other; layers with a window of 6 and of everything."""
    vision = {**_VISION, "model_type": "siglip_vision_model", "vision_use_head": False}
    decoder = {**_TEXT, "model_type": "gemma3_text", "num_hidden_layers": 3, "query_pre_attn_scalar": 8}
    decoder |= {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
    config = transformers.Gemma3Config(
        vision_config=vision,
        text_config={**decoder, **text},
        image_token_index=IMAGE,
        boi_token_index=BEGIN,
        eoi_token_index=END,
        mm_tokens_per_image=4,
    )
    return _random(transformers.Gemma3ForConditionalGeneration(config))


def smolvlm(**text: Any) -> Any:
    """A tile of 28 x 28 pixels becomes 4 positions."""
    vision = {**_VISION, "model_type": "smolvlm_vision"}
    config = transformers.SmolVLMConfig(
        vision_config=vision, text_config={**_TEXT, **text}, image_token_id=IMAGE, scale_factor=2, pad_token_id=0
    )
    return _random(transformers.SmolVLMForConditionalGeneration(config))


_PATCHES: dict[str, Any] = {"num_heads": 2, "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2}


def qwen2_5_vl(**text: Any) -> Any:
    """Patches of 4 x 4 pixels, of which 2 x 2 become a position; layers with windows of 2 x 2 positions and without."""
    vision = {**_PATCHES, "model_type": "qwen2_5_vl_vision", "hidden_size": 32, "intermediate_size": 40, "depth": 3}
    vision |= {"window_size": 16, "fullatt_block_indexes": [1]}
    vision["out_hidden_size"] = text.get("hidden_size", _TEXT["hidden_size"])
    return _qwen_vl(transformers.Qwen2_5_VLConfig, "qwen2_5_vl_text", vision, text)


def qwen2_vl(**text: Any) -> Any:
    """The same without windows."""
    vision = {**_PATCHES, "model_type": "qwen2_vl_vision", "embed_dim": 32, "mlp_ratio": 2, "depth": 2}
    vision["hidden_size"] = text.get("hidden_size", _TEXT["hidden_size"])
    return _qwen_vl(transformers.Qwen2VLConfig, "qwen2_vl_text", vision, text)


def _qwen_vl(config: Any, kind: str, vision: dict[str, Any], text: dict[str, Any]) -> Any:
    rope = {"type": "mrope", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    made = config(
        vision_config=vision,
        text_config={**_TEXT, "model_type": kind, "bos_token_id": None, "rope_parameters": rope, **text},
        image_token_id=IMAGE,
        vision_start_token_id=BEGIN,
        vision_end_token_id=END,
    )
    model = _random(transformers.AutoModelForImageTextToText.from_config(made, dtype=torch.float32))
    for name, weight in model.named_parameters():
        if "q_proj" in name or "k_proj" in name or "qkv" in name:
            weight.data *= 6  # otherwise, the positions of a picture would hardly change the logits
    return model


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


def image_processor(kind: str) -> Any:
    """The image processor of transformers for a model of this type, the one that uses Pillow."""
    models = transformers.models
    size: dict[str, int] = {"height": 28, "width": 28}
    more: dict[str, Any] = {"image_mean": MEAN, "image_std": DEVIATION}
    if kind == "gemma3":
        return models.gemma3.image_processing_pil_gemma3.Gemma3ImageProcessorPil(size=size, **more)
    if kind == "smolvlm":
        longest = {"size": {"longest_edge": 56}, "max_image_size": {"longest_edge": 28}}
        return models.smolvlm.image_processing_pil_smolvlm.SmolVLMImageProcessorPil(**longest, **more)
    if kind in ("qwen2_5_vl", "qwen2_vl"):
        pixels = {"shortest_edge": 8 * 8 * 2, "longest_edge": 8 * 8 * 30}
        patches = {"size": pixels, "patch_size": 4, "merge_size": 2}
        return models.qwen2_vl.image_processing_pil_qwen2_vl.Qwen2VLImageProcessorPil(**patches, **more)
    shortest = {"size": {"shortest_edge": 28}, "crop_size": size}
    return models.clip.image_processing_pil_clip.CLIPImageProcessorPil(**shortest, **more)


def text_around(kind: str, rows: int, columns: int) -> str:
    """Returns the text that replaces a picture in the prompts of a model's processor, with one image token for each
    picture or tile."""
    image = f"<{IMAGE}>"
    if kind == "llava":
        return image
    if kind in ("qwen2_5_vl", "qwen2_vl"):
        return f"<{BEGIN}>{image}<{END}>"
    if kind == "gemma3":
        return f"\n\n<{BEGIN}>{image}<{END}>\n\n"
    made: str = transformers.models.smolvlm.processing_smolvlm.get_image_prompt_string(
        rows, columns, 1, "<fake_token_around_image>", image, "<global-img>"
    )
    return made


def save(model: Any, folder: Path, images: bool = False) -> None:
    """Writes the files of a folder of Hugging Face's form; `images`: also the settings of the processor."""
    model.save_pretrained(folder)
    tokenizer = json.loads(write_tokenizer(folder / "tokenizer.json").read_text())
    special = (AUDIO, IMAGE, BEGIN, END)
    tokenizer["added_tokens"] += [{"id": i, "content": f"<{i}>", "special": True} for i in special]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    if images:
        image_processor(model.config.model_type).save_pretrained(folder)


def program_of(folder: Path, *settings: str) -> Path:
    """The program of a folder, by default with chunks of up to 16 positions and a context of 64."""
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
    """Returns the likeliest tokens after a prompt, each computed from the whole sequence, and the logits of the first
    one.

    `media`: pictures as [pictures, channels, height, width], whichever form the model takes.
    """
    found: list[int] = []
    first = torch.empty(0)
    kind = model.config.model_type
    if kind == "smolvlm" and "pixel_values" in media:
        media["pixel_values"] = media["pixel_values"][None]
    while len(found) < count:
        given = torch.tensor([tokens + found])
        if kind == "gemma3":
            media["token_type_ids"] = (given == IMAGE).int()
        if "image_grid_thw" in media:
            media["mm_token_type_ids"] = (given == IMAGE).int()
        with torch.no_grad():
            logits = model(input_ids=given, use_cache=False, **media).logits[0, -1]
        if not found:
            first = logits
        found.append(int(logits.argmax()))
        if found[-1] == EOS:
            break
    return found, first
