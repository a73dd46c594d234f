# SPDX-License-Identifier: BSD-3-Clause
"""Small language models with random weights: those of transformers, and ours."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
import transformers

from sdk.extension.llm.export.checkpoint import hugging_face_args, hugging_face_weights, load_model, set_weights
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.gguf._blocks import FORMATS
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import Transformer, construct_transformer

SMALL = {
    "vocab_size": 96,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}
LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "short_factor": [1.0, 1.25, 1.5],
    "long_factor": [1.0, 2.0, 4.0],
    "original_max_position_embeddings": 64,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN_ROPE = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}
SLIDING = ["sliding_attention", "full_attention", "sliding_attention"]
CONFIGS: dict[str, Any] = {
    "llama": lambda **more: transformers.LlamaConfig(**{**SMALL, **more}),
    "llama3": lambda **more: transformers.LlamaConfig(
        **{**SMALL, "rope_parameters": LLAMA3_ROPE, "tie_word_embeddings": True, **more}
    ),
    "llama_with_wide_heads": lambda **more: transformers.LlamaConfig(**{**SMALL, "head_dim": 16, **more}),
    "llama_with_biases": lambda **more: transformers.LlamaConfig(
        **{**SMALL, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu", **more}
    ),
    "llama_linear": lambda **more: transformers.LlamaConfig(
        **{**SMALL, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}, **more}
    ),
    "llama_dynamic": lambda **more: transformers.LlamaConfig(
        **{**SMALL, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.5}, **more}
    ),
    "llama_yarn": lambda **more: transformers.LlamaConfig(**{**SMALL, "rope_parameters": YARN_ROPE, **more}),
    "mistral": lambda **more: transformers.MistralConfig(**{**SMALL, "sliding_window": 5, **more}),
    "qwen2": lambda **more: transformers.Qwen2Config(**{**SMALL, **more}),
    "qwen2_with_windows": lambda **more: transformers.Qwen2Config(
        **{**SMALL, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1, **more}
    ),
    "qwen3": lambda **more: transformers.Qwen3Config(**{**SMALL, "head_dim": 16, "attention_bias": True, **more}),
    "qwen3_moe": lambda **more: transformers.Qwen3MoeConfig(
        **{
            **SMALL,
            "head_dim": 16,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "mlp_only_layers": [1],
            **more,
        }
    ),
    "phi3": lambda **more: transformers.Phi3Config(
        **{**SMALL, "rope_parameters": LONG_ROPE, "original_max_position_embeddings": 64, **more}
    ),
    "phi3_with_windows": lambda **more: transformers.Phi3Config(**{**SMALL, "sliding_window": 5, **more}),
    "smollm3": lambda **more: transformers.SmolLM3Config(
        **{
            **SMALL,
            "no_rope_layer_interval": 2,
            "use_sliding_window": True,
            "sliding_window": 5,
            "mlp_bias": True,
            **more,
        }
    ),
    "granite": lambda **more: transformers.GraniteConfig(
        **{
            **SMALL,
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.4,
            "attention_multiplier": 0.2,
            "logits_scaling": 0.5,
            "attention_bias": True,
            **more,
        }
    ),
    "olmo2": lambda **more: transformers.Olmo2Config(**{**SMALL, **more}),
    "gemma2": lambda **more: transformers.Gemma2Config(
        **{
            **SMALL,
            "head_dim": 16,
            "sliding_window": 5,
            "query_pre_attn_scalar": 20,
            "final_logit_softcapping": 3.0,
            "attn_logit_softcapping": 2.0,
            **more,
        }
    ),
    "gemma3": lambda **more: transformers.Gemma3TextConfig(
        **{
            **SMALL,
            "head_dim": 16,
            "sliding_window": 5,
            "layer_types": SLIDING,
            "query_pre_attn_scalar": 20,
            "final_logit_softcapping": 3.0,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
            **more,
        }
    ),
    "lfm2": lambda **more: transformers.Lfm2Config(
        **{**SMALL, "layer_types": ["conv", "full_attention", "conv"], "block_multiple_of": 16, **more}
    ),
}
"""Configurations of transformers by name; more of their fields may be given."""


def random_model(config: Any) -> Any:
    """A model of transformers with random weights."""
    torch.manual_seed(0)
    theirs: Any = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in theirs.parameters():  # norms and biases must not be ones and zeros
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return theirs


def with_weights_of(theirs: Any, config: dict[str, Any], **overrides: Any) -> Transformer:
    """Our model of a `config.json`, with the weights of a model of transformers."""
    args = hugging_face_args(config, max_context_len=40, generate_full_logits=True, **overrides)
    ours = construct_transformer(args).eval()
    set_weights(ours, hugging_face_weights(theirs.state_dict().items(), config["model_type"], args))
    return ours


def both(name: str, **overrides: Any) -> tuple[Any, Transformer]:
    """A model of transformers with random weights, and ours with the same."""
    theirs = random_model(CONFIGS[name]())
    return theirs, with_weights_of(theirs, theirs.config.to_dict(), **overrides)


def small(**fields: Any) -> Transformer:
    """A model whose rows are whole blocks."""
    torch.manual_seed(1)
    common: dict[str, Any] = {
        "dim": 64,
        "n_layers": 2,
        "n_heads": 4,
        "n_kv_heads": 2,
        "vocab_size": 96,
        "hidden_dim": 128,
    }
    common |= {"max_context_len": 40, "generate_full_logits": True}
    return construct_transformer(ModelArgs(**{**common, **fields})).eval()


def blocks(type: str, rows: int, columns: int, seed: int = 0, size: float = 0.01) -> ExportableGGUFTensor:
    """Random blocks of a GGUF type whose float16 scales are from 0.1 to 1.1 times `size`.

    Factors of minima are so much larger that the mean of the weights of Q4_K and Q5_K is near 0, as in a model.
    """
    format = FORMATS[type]
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randint(0, 256, (rows, columns // format.weights, format.bytes), dtype=torch.uint8, generator=generator)
    halves = {"q4_1": {0: 1.0, 2: 1.0}, "q5_1": {0: 1.0, 2: 1.0}, "q3_k": {108: 1.0}, "q6_k": {208: 1.0}, "mxfp4": {}}
    halves |= {"q2_k": {80: 1.0, 82: 1.5}, "q4_k": {0: 1.0, 2: 7.5}, "q5_k": {0: 1.0, 2: 15.5}}
    halves |= {"tq1_0": {52: 1.0}, "tq2_0": {64: 1.0}}
    if type == "mxfp4":  # powers of two from size / 2 to size
        raw[..., 0] = raw[..., 0] % 2 + 127 + int(math.log2(size))
    for offset, times in halves.get(type, {0: 1.0}).items():
        scales = (torch.rand(rows, columns // format.weights, 1, generator=generator) + 0.1) * size * times
        scales = scales.half()
        raw[..., offset : offset + 2] = scales.view(torch.uint8)
    return ExportableGGUFTensor.from_raw(raw.reshape(rows, -1), type, torch.float32)


def dequantised(file: Path, context: int) -> Transformer:
    """The model of a GGUF file with the same weights in float32; logits of all tokens."""
    model = load_model(
        file,
        use_kv_cache=True,
        use_sdpa_with_kv_cache_op=True,
        generate_full_logits=True,
        max_seq_len=context,
        max_context_len=context,
    ).eval()
    for module in model.modules():
        weight: Any = getattr(module, "weight", None)
        if isinstance(weight, ExportableGGUFTensor):
            module.weight = torch.nn.Parameter(weight.dequantize(torch.float32), requires_grad=False)
    return model


ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {"rope_theta": 1e5},
    "qwen3": {"use_hf_rope": True, "use_qk_norm": True, "qk_norm_before_rope": True, "head_dim": 32},
    "qwen2": {"use_hf_rope": True, "attention_qkv_bias": True},
    "phi3": {
        "use_hf_rope": True,
        "partial_rotary_factor": 0.5,
        "rope_scaling_short_factor": [1.0, 1.5, 2.0, 4.0],
        "rope_scaling_long_factor": [1.0, 2.0, 3.0, 4.0],
        "original_max_position_embeddings": 64,
        "max_position_embeddings": 256,
    },
}
"""Fields of `ModelArgs` by the architecture of a GGUF file."""
