# SPDX-License-Identifier: BSD-3-Clause
"""Builds and calls models of each kind of transformers: encoders, decoders, vision, audio, multimodal."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoConfig
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

from zoo.libraries.case import Model, Tensors

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 99,
    "max_position_embeddings": 128,
}
VISION = SMALL | {"image_size": 32, "patch_size": 8}
IMAGE, FRAMES, CONTEXT = 32, 24, 32


def config(kind: str, **options: Any) -> Any:
    return AutoConfig.for_model(kind, **options)


def build(auto: str, configuration: Any) -> nn.Module:
    auto_class = getattr(transformers, auto)
    module: nn.Module
    if auto.startswith("Auto"):
        module = auto_class.from_config(configuration)
    else:
        module = auto_class(configuration)
    return module


def tokens(*shape: int) -> Tensor:
    return torch.randint(5, 90, shape)


def encoder(kind: str, auto: str = "AutoModel", small: dict[str, Any] = SMALL, **options: Any) -> Model:
    """Token ids and a mask with a dynamic length."""
    module = build(auto, config(kind, **{**small, **options}))
    return Model(
        Tensors(module, "input_ids", "attention_mask"),
        lambda n: [(tokens(1, n), torch.ones(1, n, dtype=torch.int64))],
        (1, 1),
        (4, 8, 24),
        "sequence",
        8,
    )


def decoder(kind: str, auto: str = "AutoModelForCausalLM", small: dict[str, Any] = SMALL, **options: Any) -> Model:
    """A decoder with keys and values in a StaticCache: a prompt, then one token at a time."""
    module = build(auto, config(kind, **{**small, **options}))
    module.generation_config.cache_implementation = "static"  # type: ignore[union-attr]
    cached = TorchExportableModuleWithStaticCache(module, batch_size=1, max_cache_len=CONTEXT)

    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cached = cached

        def forward(self, ids: Tensor, position: Tensor) -> Tensor:
            logits: Tensor = self.cached(input_ids=ids, cache_position=position)
            return logits

    def calls(n: int) -> list[tuple[Tensor, ...]]:
        return [(tokens(1, n), torch.arange(n) + n * i) for i in range(2 if n > 1 else 3)]

    return Model(Cached(), calls, (1, 0), (2, 6, 12), "sequence", 1, strict=True)


def plain_decoder(
    kind: str, auto: str = "AutoModelForCausalLM", small: dict[str, Any] = SMALL, **options: Any
) -> Model:
    """A decoder without a cache: all tokens in one call with a dynamic length."""
    module = build(auto, config(kind, **{**small, **options}))
    return Model(
        Tensors(module, "input_ids", use_cache=False), lambda n: [(tokens(1, n),)], (1,), (4, 8, 24), "sequence", 8
    )


def vision(
    kind: str, auto: str = "AutoModel", small: dict[str, Any] = VISION, side: int = IMAGE, **options: Any
) -> Model:
    module = build(auto, config(kind, **{**small, **options}))
    return Model(Tensors(module, "pixel_values"), lambda n: [(torch.randn(n, 3, side, side),)], (0,))


def two_sided(kind: str, auto: str = "AutoModel", small: dict[str, Any] = SMALL, **options: Any) -> Model:
    """An encoder and a decoder of tokens."""
    options = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "d_ff": 64,
        "d_kv": 8,
        "num_layers": 2,
        "num_heads": 4,
    } | options
    module = build(auto, config(kind, **{**small, **options}))
    return Model(
        Tensors(module, "input_ids", "decoder_input_ids", use_cache=False),
        lambda n: [(tokens(1, n), tokens(1, n))],
        (1, 1),
        (4, 8, 24),
        "sequence",
        8,
    )


def speech(kind: str, auto: str = "AutoModel", **options: Any) -> Model:
    """Waveforms."""
    options = {
        "conv_dim": (32, 32, 32),
        "conv_kernel": (10, 3, 3),
        "conv_stride": (5, 2, 2),
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 4,
        "num_feat_extract_layers": 3,
    } | options
    module = build(auto, config(kind, **{**SMALL, **options}))
    return Model(
        Tensors(module, "input_values"), lambda n: [(torch.randn(1, n),)], (1,), (800, 1600, 3200), "samples", 1600
    )


def whisper() -> Model:
    module = build(
        "WhisperModel",
        config(
            "whisper",
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            vocab_size=99,
            num_mel_bins=16,
            max_source_positions=FRAMES // 2,
            max_target_positions=48,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        ),
    )
    return Model(
        Tensors(module, "input_features", "decoder_input_ids", use_cache=False),
        lambda n: [(torch.randn(1, 16, FRAMES), tokens(1, n))],
        (None, 1),
        (2, 6, 12),
        "sequence",
        6,
    )


def spectrogram() -> Model:
    module = build(
        "ASTForAudioClassification",
        config(
            "audio-spectrogram-transformer",
            **SMALL,
            patch_size=8,
            num_mel_bins=16,
            max_length=32,
            frequency_stride=8,
            time_stride=8,
        ),
    )
    return Model(Tensors(module, "input_values"), lambda n: [(torch.randn(n, 32, 16),)], (0,))


def text_and_image(
    kind: str,
    auto: str = "AutoModel",
    text: dict[str, Any] | None = None,
    image: dict[str, Any] | None = None,
    **options: Any,
) -> Model:
    module = build(
        auto,
        config(
            kind, text_config=SMALL | (text or {}), vision_config=VISION | (image or {}), projection_dim=16, **options
        ),
    )
    return Model(
        Tensors(module, "input_ids", "pixel_values", "attention_mask"),
        lambda n: [(tokens(n, 8), torch.randn(n, 3, IMAGE, IMAGE), torch.ones(n, 8, dtype=torch.int64))],
        (0, 0, 0),
    )


def llava() -> Model:
    """The tokens of the image replace a special token."""
    patches = (IMAGE // 8) ** 2
    module = build(
        "LlavaForConditionalGeneration",
        config(
            "llava",
            text_config=config("llama", **SMALL, num_key_value_heads=2),
            vision_config=config("clip_vision_model", **VISION),
            image_token_index=98,
            vision_feature_layer=-1,
        ),
    )

    def calls(n: int) -> list[tuple[Tensor, ...]]:
        ids = torch.cat([tokens(1, 2), torch.full((1, patches), 98), tokens(1, n)], dim=1)
        return [(ids, torch.randn(1, 3, IMAGE, IMAGE))]

    # The dynamic size is the number of all tokens: those of the text, of the patches, and two before them.
    return Model(
        Tensors(module, "input_ids", "pixel_values", use_cache=False),
        lambda n: calls(n - patches - 2),
        (1, None),
        (patches + 4, patches + 8, patches + 20),
        "sequence",
        patches + 8,
    )


def series(kind: str, auto: str) -> Model:
    module = build(
        auto,
        config(
            kind,
            num_input_channels=3,
            context_length=32,
            patch_length=8,
            patch_stride=8,
            prediction_length=8,
            d_model=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=64,
            num_layers=2,
        ),
    )
    return Model(Tensors(module, "past_values"), lambda n: [(torch.randn(n, 32, 3),)], (0,))


def segment_anything() -> Model:
    """A model that turns points in an image into masks."""
    module = build(
        "SamModel",
        config(
            "sam",
            vision_config={
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "mlp_dim": 64,
                "image_size": 64,
                "patch_size": 8,
                "output_channels": 16,
                "window_size": 4,
                "global_attn_indexes": [1],
                "num_pos_feats": 8,
            },
            prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4},
            mask_decoder_config={
                "hidden_size": 16,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "mlp_dim": 32,
                "iou_head_hidden_dim": 16,
                "iou_head_depth": 2,
            },
        ),
    )
    return Model(
        Tensors(module, "pixel_values", "input_points"),
        lambda n: [(torch.randn(n, 3, 64, 64), torch.rand(n, 1, 2, 2) * 64)],
        (0, 0),
    )


def detr(kind: str, auto: str, **options: Any) -> Model:
    backbone = config(
        "resnet",
        embedding_size=8,
        hidden_sizes=[8, 16, 16, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=options.pop("features", ["stage4"]),
    )
    options = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "num_queries": 10,
        "backbone": None,
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
    } | options
    module = build(auto, config(kind, backbone_config=backbone, **options))
    return Model(Tensors(module, "pixel_values"), lambda n: [(torch.randn(n, 3, 64, 64),)], (0,))
