# SPDX-License-Identifier: BSD-3-Clause
"""The hyperparameters of a language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor


class ActFn(Enum):
    """The activation function between the projections of a feed-forward block."""

    SILU = "silu"
    GELU = "gelu"
    GELU_APPROX = "gelu_approx"
    """GELU's approximation by tanh."""

    @classmethod
    def from_string(cls, value: str) -> ActFn:
        """Raises ValueError for a name that is not a value of this enumeration."""
        try:
            return cls(value)
        except ValueError:
            names = ", ".join(member.value for member in cls)
            raise ValueError(f"the activation function {value!r} is not known; known are {names}") from None

    def get_function(self) -> Callable[[Tensor], Tensor]:
        """The function that this names."""
        if self is ActFn.SILU:
            return F.silu
        return partial(F.gelu, approximate="tanh" if self is ActFn.GELU_APPROX else "none")


MoEScoreFunc = Literal["softmax", "softmax_all", "sigmoid"]
"""How scores become weights of experts. `softmax` is over the chosen experts, `softmax_all` over all of them. `sigmoid`
is applied to each score, and the results are divided by the sum over the chosen experts."""


@dataclass
class ModelArgs:
    """The hyperparameters of a decoder. The names are ExecuTorch's, so that its JSON files are read as they are.

    `construct_transformer` raises ValueError for fields that it does not support (the linear attention of Qwen 3.5,
    the gates and norms of `use_attn_o_gate` to `output_linear_intermediate_dim`).
    """

    dim: int = 4096
    """Width of the residual stream."""
    n_layers: int = 1
    n_heads: int = 32
    n_kv_heads: int | None = None
    """Heads of keys and values, each shared by n_heads / n_kv_heads heads of queries; n_heads when None."""
    vocab_size: int = 512
    hidden_dim: int | None = None
    """Width of feed-forward blocks; computed from `dim`, `multiple_of` and `ffn_dim_multiplier` when None."""
    head_dim: int | None = None
    """dim / n_heads when None."""
    linear_conv_kernel_dim: int = 4
    linear_key_head_dim: int | None = None
    linear_value_head_dim: int | None = None
    linear_num_key_heads: int | None = None
    linear_num_value_heads: int | None = None
    rms_norm_add_unit_offset: bool = False
    """Norms multiply by 1 + weight (Gemma)."""
    multiple_of: int = 256
    ffn_dim_multiplier: float | None = None
    attention_multiplier: float | None = None
    """Scale of q k^T; 1 / sqrt(head_dim) when None."""
    norm_eps: float = 1e-5
    post_attention_norm: bool = False
    """Normalise the output of attention before it is added to the residual stream."""
    post_ffn_norm: bool = False
    """Normalise the output of the feed-forward block before it is added to the residual stream."""
    max_batch_size: int = 1
    max_seq_len: int = 2048
    """The largest number of tokens in a call."""
    max_context_len: int = 2048
    """Positions that the key-value cache holds."""
    use_attention_norm: bool = True
    """Normalise the input of attention."""
    use_ffn_norm: bool = True
    """Normalise the input of the feed-forward block."""
    output_bias: bool = False
    moe: bool = False
    """Feed-forward blocks are mixtures of experts."""
    num_experts: int = 8
    num_activated_experts: int = 2
    """The number of experts that the router chooses for a token."""
    moe_hidden_dim: int | None = None
    """The width of an expert; None means the width of a feed-forward block."""
    moe_norm_topk: bool | None = None
    """Normalise the weights of the chosen experts to the sum 1; None: as `moe_score_func` says."""
    moe_layers: list[int] | None = None
    """For each layer, 1 if its feed-forward block is a mixture of experts, else 0; None: all are."""
    moe_shared_expert_hidden_dim: int | None = None
    """Width of a shared expert, which computes every token in addition to the chosen experts."""
    moe_use_expert_bias: bool = False
    """Experts are chosen by their probabilities plus a bias."""
    moe_score_func: MoEScoreFunc = "softmax"
    moe_route_scale: float = 1.0
    """Scale of the chosen experts' weights."""
    attention_type: str = "mha"
    """A key of `attention.ATTENTION_REGISTRY`."""
    use_q_gate: bool = False
    norm_type: str = "rmsnorm"
    act_fn: ActFn = ActFn.SILU
    """Activation of feed-forward blocks; in JSON, its name."""
    attention_qkv_bias: bool = False
    attention_output_bias: bool = False
    mlp_bias: bool = False
    """A bias of all three layers of feed-forward blocks."""
    use_kv_cache: bool = False
    use_sdpa_with_kv_cache_op: bool = False
    device: str = "cpu"
    generate_full_logits: bool = False
    """Logits of all positions, not of the last one only."""
    logits_scaling: float | None = None
    """Logits are divided by it."""
    enable_dynamic_shape: bool = False
    input_prune_map: dict[int, int] | None = None
    """Maps the id of a token in the pruned vocabulary to its id in the whole one, for the embedding."""
    output_prune_map: dict[int, int] | None = None
    """The same map for the logits. Tokens that are not in it have the logit -inf."""
    apply_embedding: bool = True
    embedding_scale_factor: float = 1.0
    apply_output: bool = True
    use_qk_norm: bool = False
    """Normalise each head of queries and keys."""
    qk_norm_before_rope: bool = False
    qk_norm_affine: bool = True
    qk_norm_whole: bool = False
    """Normalise all heads of queries together, and all heads of keys, before RoPE (OLMo 2)."""
    residual_multiplier: float | None = None
    """Scale of a block's output before it is added to the residual stream."""
    use_hf_rope: bool = False
    """Rotate halves of a head, as Hugging Face's weights expect, instead of neighbouring numbers."""
    no_rope_layer_interval: int | None = None
    """Every n-th layer has no RoPE."""
    no_rope_layers: list[int] | None = None
    """For each layer, 1 if it has RoPE, else 0; instead of no_rope_layer_interval."""
    partial_rotary_factor: float = 1.0
    """The fraction of a head's dimensions that RoPE rotates."""
    rope_theta: float | None = None
    """Overrides rope_freq_base."""
    local_rope_theta: float | None = None
    """The base frequency of layers with a sliding window."""
    rope_freq_base: float = 10000.0
    use_scaled_rope: bool = False
    """Stretch long wavelengths, as Llama 3.1 does."""
    rope_scale_factor: float = 8
    low_freq_factor: float = 1
    high_freq_factor: float = 4
    rope_scaling_type: str | None = None
    """Another scaling of RoPE for longer contexts: "linear", "dynamic" (the base frequency grows with the sequence
    beyond `max_position_embeddings`) or "yarn"."""
    rope_scaling_factor: float = 1.0
    """The factor of rope_scaling_type."""
    rope_scaling_beta_fast: float = 32.0
    """YaRN: frequencies that turn more often than this in `original_max_position_embeddings` stay."""
    rope_scaling_beta_slow: float = 1.0
    """YaRN: frequencies that turn less often than this are divided by the factor."""
    rope_scaling_truncate: bool = True
    """YaRN: round the indices of these two frequencies to integers."""
    rope_scaling_short_factor: list[float] | None = None
    """LongRoPE: a divisor for each frequency while the context fits `original_max_position_embeddings`."""
    rope_scaling_long_factor: list[float] | None = None
    """LongRoPE: the divisors beyond it."""
    original_max_position_embeddings: int | None = None
    """The trained length: of LongRoPE, YaRN, and of `use_scaled_rope`, where None is 8,192."""
    mrope_section: list[int] | None = None
    """M-RoPE: how many frequencies rotate by each of the three numbers of a position; see `GridPositions`."""
    max_position_embeddings: int | None = None
    rope_scaling_attention_factor: float | None = None
    """Scale of sines and cosines. LongRoPE computes it from the two lengths, YaRN from the factor when None."""
    bos_idx: int = 1
    eos_idx: int = 3
    bos_count: int = -1
    eos_count: int = 2
    quantization_args: dict[str, Any] | None = None
    lora_args: dict[str, Any] | None = None
    r: int | None = None
    """Rank of LoRA adapters."""
    lora_alpha: float | None = None
    target_modules: list[str] | None = None
    """Layers with LoRA adapters: q_proj, k_proj, v_proj, o_proj (or output_proj), gate_proj, up_proj, down_proj."""
    peft_type: str | None = None
    base_model_name_or_path: str | None = None
    kv_io_bit_width: int | None = None
    attention_kwargs: dict[str, Any] = field(default_factory=dict)
    layer_types: list[str] | None = None
    """The type of each layer: "full_attention", "sliding_attention" or "conv" (LFM2); None: all have full attention."""
    mlp_type: list[str] | None = None
    model_architecture: str | None = None
    sliding_window: int | None = None
    """Positions that a layer with a sliding window sees, its own included."""
    num_kv_shared_layers: int = 0
    final_logit_softcapping: float | None = None
    """c: logits become c tanh(logits / c)."""
    attn_logit_softcapping: float | None = None
    """c: attention scores become c tanh(scores / c)."""
    normalize_tok_embeddings: bool = False
    scale_query_by: float = 1.0
    use_attn_o_gate: bool = False
    use_attn_o_norm: bool = False
    use_residual_gate: bool = False
    use_ffn_learnable_scales: bool = False
    output_soft_cap_temp: float | None = None
    output_linear_intermediate_dim: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.act_fn, str):
            self.act_fn = ActFn.from_string(self.act_fn)
        if self.n_kv_heads is None:
            self.n_kv_heads = self.n_heads
        if self.head_dim is None:
            self.head_dim = self.dim // self.n_heads
        if self.rope_theta is not None:
            self.rope_freq_base = self.rope_theta
        if self.hidden_dim is None:
            hidden = int((self.ffn_dim_multiplier or 1) * int(8 * self.dim / 3))
            self.hidden_dim = -(-hidden // self.multiple_of) * self.multiple_of
        if self.use_sdpa_with_kv_cache_op and not self.use_kv_cache:
            raise ValueError("use_sdpa_with_kv_cache_op needs use_kv_cache")
        for heads, dim in (
            ("linear_num_key_heads", "linear_key_head_dim"),
            ("linear_num_value_heads", "linear_value_head_dim"),
        ):
            setattr(self, heads, getattr(self, heads) or self.n_heads)
            setattr(self, dim, getattr(self, dim) or self.head_dim)
