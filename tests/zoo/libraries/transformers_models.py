# SPDX-License-Identifier: BSD-3-Clause
"""Architectures of transformers with shrunk configurations: encoders, decoders, vision, audio, multimodal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from zoo.libraries.case import MAKERS, Model
from zoo.libraries.transformers_kinds import (
    decoder,
    detr,
    encoder,
    llava,
    plain_decoder,
    segment_anything,
    series,
    spectrogram,
    speech,
    text_and_image,
    two_sided,
    vision,
    whisper,
)

MOE = {
    "moe_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_local_experts": 4,
    "n_routed_experts": 4,
}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 99}
STAGES = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}

MODELS: dict[str, Callable[[], Model]] = {
    # Encoders of text.
    "bert": partial(encoder, "bert"),
    "bert_mlm": partial(encoder, "bert", "AutoModelForMaskedLM"),
    "roberta": partial(encoder, "roberta", "AutoModelForSequenceClassification"),
    "distilbert": partial(encoder, "distilbert", dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "albert": partial(encoder, "albert", embedding_size=16),
    "electra": partial(encoder, "electra", embedding_size=16),
    "deberta_v2": partial(
        encoder,
        "deberta-v2",
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=16,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
    ),
    "mpnet": partial(encoder, "mpnet"),
    "xlm_roberta": partial(encoder, "xlm-roberta", "AutoModelForTokenClassification"),
    "modernbert": partial(encoder, "modernbert", local_attention=8, pad_token_id=0, cls_token_id=1, sep_token_id=2),
    "squeezebert": partial(encoder, "squeezebert", embedding_size=32),
    "mobilebert": partial(encoder, "mobilebert", embedding_size=16, intra_bottleneck_size=16, hidden_size=32),
    "fnet": partial(plain_decoder, "fnet", "AutoModel"),
    "roformer": partial(encoder, "roformer", embedding_size=32),
    "esm": partial(encoder, "esm", position_embedding_type="rotary", pad_token_id=1),
    # Decoders with a cache of fixed size.
    "gpt2": partial(decoder, "gpt2", small=GPT2),
    "gpt_neo": partial(
        decoder, "gpt_neo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=8
    ),
    "gpt_neox": partial(decoder, "gpt_neox"),
    "opt": partial(decoder, "opt", ffn_dim=64, word_embed_proj_dim=32),
    "bloom": partial(plain_decoder, "bloom", n_layer=2, n_head=4),
    "falcon": partial(decoder, "falcon", multi_query=False),
    "llama": partial(decoder, "llama", num_key_value_heads=2),
    "mistral": partial(decoder, "mistral", num_key_value_heads=2, sliding_window=16),
    "qwen2": partial(decoder, "qwen2", num_key_value_heads=2),
    "qwen3": partial(decoder, "qwen3", num_key_value_heads=2, head_dim=8),
    "gemma": partial(decoder, "gemma", num_key_value_heads=2, head_dim=8),
    "gemma2": partial(decoder, "gemma2", num_key_value_heads=2, head_dim=8, sliding_window=16),
    "gemma3": partial(
        decoder,
        "gemma3_text",
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "phi": partial(decoder, "phi"),
    "phi3": partial(decoder, "phi3", num_key_value_heads=2, pad_token_id=0),
    "olmo2": partial(decoder, "olmo2", num_key_value_heads=2),
    "stablelm": partial(decoder, "stablelm", num_key_value_heads=2),
    "starcoder2": partial(decoder, "starcoder2", num_key_value_heads=2),
    "smollm3": partial(decoder, "smollm3", num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "granite": partial(decoder, "granite", num_key_value_heads=2),
    "cohere": partial(decoder, "cohere", num_key_value_heads=2),
    "mixtral": partial(decoder, "mixtral", num_key_value_heads=2, **MOE),
    "qwen3_moe": partial(decoder, "qwen3_moe", num_key_value_heads=2, head_dim=8, **MOE),
    "gpt_oss": partial(
        decoder,
        "gpt_oss",
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=16,
        num_local_experts=4,
        num_experts_per_tok=2,
    ),
    "mamba": partial(plain_decoder, "mamba", state_size=4, intermediate_size=64),
    "rwkv": partial(plain_decoder, "rwkv", attention_hidden_size=32, context_length=32),
    # Encoders and decoders.
    "t5": partial(two_sided, "t5"),
    "bart": partial(two_sided, "bart"),
    "marian": partial(two_sided, "marian", pad_token_id=0, decoder_start_token_id=0),
    "whisper": whisper,
    # Vision.
    "vit": partial(vision, "vit", "AutoModelForImageClassification"),
    "deit": partial(vision, "deit"),
    "beit": partial(vision, "beit", use_relative_position_bias=True, use_mean_pooling=True),
    "dinov2": partial(vision, "dinov2"),
    "dinov3_vit": partial(vision, "dinov3_vit"),
    "swin": partial(
        vision,
        "swin",
        small={},
        image_size=64,
        side=64,
        patch_size=4,
        embed_dim=16,
        depths=[1, 1, 1],
        num_heads=[2, 2, 4],
        window_size=4,
    ),
    "swinv2": partial(
        vision,
        "swinv2",
        small={},
        image_size=64,
        side=64,
        patch_size=4,
        embed_dim=16,
        depths=[1, 1],
        num_heads=[2, 4],
        window_size=4,
    ),
    "convnextv2": partial(vision, "convnextv2", small=STAGES, side=64),
    "segformer": partial(
        vision,
        "segformer",
        "SegformerForSemanticSegmentation",
        small={},
        side=64,
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 3, 4],
        decoder_hidden_size=16,
    ),
    "mobilevit": partial(
        vision,
        "mobilevit",
        small={},
        side=64,
        image_size=64,
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 64],
    ),
    "mobilenet_v2": partial(vision, "mobilenet_v2", small={}, side=64, depth_multiplier=0.35),
    "resnet": partial(
        vision, "resnet", small={}, side=64, embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]
    ),
    "poolformer": partial(vision, "poolformer", small=STAGES, side=64),
    "levit": partial(
        vision,
        "levit",
        small={},
        side=64,
        image_size=64,
        hidden_sizes=[16, 32, 48],
        num_attention_heads=[2, 4, 6],
        depths=[1, 1, 1],
        key_dim=[8, 8, 8],
    ),
    "yolos": partial(vision, "yolos", "YolosForObjectDetection", side=32, image_size=[32, 32], num_detection_tokens=10),
    "detr": partial(detr, "detr", "DetrForObjectDetection"),
    "conditional_detr": partial(detr, "conditional_detr", "ConditionalDetrForObjectDetection"),
    "segment_anything": segment_anything,
    # Audio.
    "wav2vec2": partial(speech, "wav2vec2", "Wav2Vec2ForCTC", pad_token_id=0),
    "hubert": partial(speech, "hubert"),
    "wavlm": partial(speech, "wavlm"),
    "data2vec_audio": partial(speech, "data2vec-audio", conv_pos_kernel_size=5),
    "sew": partial(speech, "sew", squeeze_factor=2),
    "audio_spectrogram_transformer": spectrogram,
    # Several kinds of input.
    "clip": partial(text_and_image, "clip"),
    "siglip": partial(text_and_image, "siglip"),
    "chinese_clip": partial(text_and_image, "chinese_clip"),
    "align": partial(text_and_image, "altclip", text={"project_dim": 16}),
    "blip": partial(
        text_and_image, "blip", "BlipForImageTextRetrieval", text={"encoder_hidden_size": 32}, image_text_hidden_size=16
    ),
    "llava": llava,
    "vilt": partial(text_and_image, "vilt"),
    # Time series.
    "patchtst": partial(series, "patchtst", "PatchTSTForPrediction"),
    "patchtsmixer": partial(series, "patchtsmixer", "PatchTSMixerForPrediction"),
}

for _name, _maker in MODELS.items():
    MAKERS[f"transformers/{_name}"] = _maker
