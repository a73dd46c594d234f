# SPDX-License-Identifier: BSD-3-Clause
"""Small language models with random weights: those of transformers, and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from sdk.examples.models.llama.llama_transformer import Transformer, construct_transformer
from sdk.examples.models.llama.model_args import ModelArgs
from sdk.extension.llm.export.checkpoint import hugging_face_args, hugging_face_weights, load_model, set_weights
from sdk.extension.llm.export.gguf import ExportableGGUFTensor
from sdk.extension.llm.export.gguf._blocks import FORMATS

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
SLIDING = ["sliding_attention", "full_attention", "sliding_attention"]
CONFIGS: dict[str, Any] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "llama3": lambda: transformers.LlamaConfig(**SMALL, rope_parameters=LLAMA3_ROPE, tie_word_embeddings=True),
    "llama_with_wide_heads": lambda: transformers.LlamaConfig(**SMALL, head_dim=16),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL, head_dim=16),
    "phi3": lambda: transformers.Phi3Config(**SMALL, rope_parameters=LONG_ROPE, original_max_position_embeddings=64),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **SMALL,
        head_dim=16,
        sliding_window=5,
        layer_types=SLIDING,
        query_pre_attn_scalar=20,
        final_logit_softcapping=3.0,
    ),
    "lfm2": lambda: transformers.Lfm2Config(
        **SMALL, layer_types=["conv", "full_attention", "conv"], block_multiple_of=16
    ),
}


def both(name: str, **overrides: Any) -> tuple[Any, Transformer]:
    """A model of transformers with random weights, and ours with the same."""
    torch.manual_seed(0)
    theirs: Any = transformers.AutoModelForCausalLM.from_config(CONFIGS[name]()).eval()
    for parameter in theirs.parameters():  # norms and biases must not be ones and zeros
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    config = theirs.config.to_dict()
    args = hugging_face_args(config, max_context_len=40, generate_full_logits=True, **overrides)
    ours = construct_transformer(args).eval()
    set_weights(ours, hugging_face_weights(theirs.state_dict().items(), config["model_type"], args))
    return theirs, ours


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
    halves = {"q4_1": {0: 1.0, 2: 1.0}, "q5_1": {0: 1.0, 2: 1.0}, "q6_k": {208: 1.0}}
    halves |= {"q4_k": {0: 1.0, 2: 7.5}, "q5_k": {0: 1.0, 2: 15.5}}
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
