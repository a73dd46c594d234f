# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in GGUF files: hyperparameters from the metadata; quantised weights stay quantised."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import torch

from sdk.extension.llm.export.checkpoint._fields import Fields, short
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Names, Weights
from sdk.extension.llm.export.checkpoint._rope import yarn_attention
from sdk.extension.llm.export.gguf import GGUFFile, iter_gguf
from sdk.extension.llm.model.model_args import ModelArgs

_INSIDE = {
    "attn_q": "attention.wq",
    "attn_k": "attention.wk",
    "attn_v": "attention.wv",
    "attn_output": "attention.wo",
    "attn_q_norm": "attention.q_norm_fn",
    "attn_k_norm": "attention.k_norm_fn",
    "attn_qkv": "attention.wq attention.wk attention.wv",
    "attn_norm": "attention_norm",
    "post_attention_norm": "post_attention_norm",
    "ffn_norm": "ffn_norm",
    "post_ffw_norm": "post_ffn_norm",
    "ffn_gate_inp": "feed_forward.router",
    "ffn_gate": "feed_forward.w1",
    "ffn_down": "feed_forward.w2",
    "ffn_up": "feed_forward.w3",
}
_OUTSIDE = {"token_embd": "tok_embeddings", "output_norm": "norm", "output": "output"}
_ROPE_DIVISORS = "rope_freqs.weight"
_ROPE_TABLES = (_ROPE_DIVISORS, "rope_factors_short.weight", "rope_factors_long.weight")


@dataclass(frozen=True)
class _Architecture:
    """A `general.architecture`."""

    halves: bool
    """Whether RoPE rotates halves of a head; for other architectures, converters permute the weights to pairs."""
    window: int = 0
    """The size of the sliding window in tokens if the metadata do not have it; 0 means no sliding window."""
    full_every: int | None = None
    """With a sliding window, every n-th layer sees all tokens, unless the metadata list the layers. 0 means that all
    layers have the window, None that the metadata must list them."""
    local_theta: float | None = None
    """The base frequency of layers with a sliding window; 0 means the same as in the other layers."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of `ModelArgs`, for all models of the architecture."""


_HEAD_NORMS: dict[str, Any] = {"use_qk_norm": True, "qk_norm_before_rope": True}
_NORMS_OF_SUMS: dict[str, Any] = {"post_attention_norm": True, "post_ffn_norm": True}
_GEMMA: dict[str, Any] = {**_NORMS_OF_SUMS, "act_fn": "gelu_approx"}
"""Converters add the 1 of Gemma's norms to their weights."""
_ARCHITECTURES = {
    "llama": _Architecture(False, full_every=0),
    "qwen2": _Architecture(True),
    "qwen3": _Architecture(True, fields=_HEAD_NORMS),
    "qwen3moe": _Architecture(True, fields={**_HEAD_NORMS, "moe": True, "moe_norm_topk": True}),
    "phi3": _Architecture(True, full_every=0),
    "smollm3": _Architecture(False, fields={"no_rope_layer_interval": 4}),
    "granite": _Architecture(False),
    "olmo2": _Architecture(
        True,
        full_every=4,
        local_theta=0,
        fields={
            **_HEAD_NORMS,
            **_NORMS_OF_SUMS,
            "qk_norm_whole": True,
            "use_attention_norm": False,
            "use_ffn_norm": False,
        },
    ),
    "gemma2": _Architecture(True, window=4096, full_every=2, fields=_GEMMA),
    "gemma3": _Architecture(True, full_every=6, local_theta=1e4, fields={**_GEMMA, **_HEAD_NORMS}),
}
_LARGE_GEMMAS = {"gemma2": 46, "gemma3": 62}
"""Number of layers of the models whose queries are scaled by dim / heads instead of the length of a head."""
_WITHOUT_EFFECT = frozenset(
    # Derived from the tensors, or only used to continue the training.
    [
        "vocab_size",
        "context_length",
        "tensor_data_layout",
        "rope.scaling.finetuned",
        "rope.scaling.original_context_length",
    ]
)
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "attention.causal": (True,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "router_logit_softcapping": (0.0,),
    "attention.output_scale": (0.0, 1.0),
    "attention.shared_kv_layers": (0,),
    "embedding_length_per_layer_input": (0,),
    "embedding_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "logit_scale": (0.0, 1.0),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "expert_gating_func": (1,),
    "expert_weights_norm": (True,),
    "expert_weights_scale": (0.0, 1.0),
    "nextn_predict_layers": (0,),
    "pooling_type": (0,),
    "use_parallel_residual": (False,),
    "rope.scaling.alpha": (0.0,),
    "rope.scaling.yarn_ext_factor": (1.0,),
    "rope.scaling.yarn_log_multiplier": (0.0,),
}
"""Values of entries that mean that the model does not have such parts."""


class _Metadata(Fields):
    """The entries of a file's architecture; errors name the file and the entry."""

    def __init__(self, file: GGUFFile) -> None:
        self.file = file
        kind = file.metadata.get("general.architecture")
        if not isinstance(kind, str) or kind not in _ARCHITECTURES:
            raise CheckpointError(
                f"{file.path}: the architecture {short(kind)} is not supported; supported are "
                f"{', '.join(_ARCHITECTURES)}"
            )
        self.kind, self.architecture = kind, _ARCHITECTURES[kind]
        start = len(kind) + 1
        entries = {key[start:]: value for key, value in file.metadata.items() if key.startswith(f"{kind}.")}
        super().__init__(entries, str(file.path), f"{kind}.")

    def divisors(self, name: str) -> list[float]:
        """A table of RoPE."""
        tensor = self.file.tensors.get(name)
        if tensor is None or not isinstance(tensor.type, torch.dtype) or len(tensor.shape) != 1:
            raise self.error(f"{name} is {'missing' if tensor is None else 'not a row of floats'}")
        found: list[float] = self.file[name].tolist()
        return found


def gguf_args(file: GGUFFile, **overrides: Any) -> ModelArgs:
    """The hyperparameters of a GGUF file.

    `overrides`: fields of `ModelArgs`, such as `max_context_len`. Raises CheckpointError for a model that is not
    supported, whose metadata lack what its architecture needs or do not fit the tensors, and for an entry that may
    change what the model computes in a way that this version does not support.
    """
    metadata = _Metadata(file)
    if (kind := file.metadata.get("general.type", "model")) != "model":
        raise metadata.error(f"general.type is {short(kind)}, expected a model")
    heads, dim = metadata.whole("attention.head_count"), metadata.whole("embedding_length")
    table = file.tensors.get("token_embd.weight")
    if table is None:
        raise metadata.error("token_embd.weight is missing, which the embedding of tokens is made from")
    if table.shape[1:] != (dim,):
        raise metadata.error(
            f"token_embd.weight has the shape {list(table.shape)}, expected {metadata.kind}.embedding_length, {dim}, "
            "in a row"
        )
    head_dim = metadata.whole("attention.key_length", dim // heads)
    fields: dict[str, Any] = {
        "dim": dim,
        "n_layers": metadata.whole("block_count"),
        "n_heads": heads,
        "n_kv_heads": metadata.whole("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "hidden_dim": metadata.whole("feed_forward_length"),
        "vocab_size": table.shape[0],
        "norm_eps": metadata.positive("attention.layer_norm_rms_epsilon"),
        "use_hf_rope": metadata.architecture.halves,
        "attention_qkv_bias": "blk.0.attn_q.bias" in file.tensors or "blk.0.attn_qkv.bias" in file.tensors,
        "attention_output_bias": "blk.0.attn_output.bias" in file.tensors,
        "mlp_bias": "blk.0.ffn_down.bias" in file.tensors,
        **metadata.architecture.fields,
    }
    if fields.get("moe"):
        fields |= {
            "num_experts": metadata.whole("expert_count"),
            "num_activated_experts": metadata.whole("expert_used_count"),
            "moe_hidden_dim": metadata.whole("expert_feed_forward_length"),
        }
    _check_layers(metadata, file, fields)
    fields |= _rope(metadata, head_dim) | _windows(metadata, fields["n_layers"]) | _scales(metadata, fields)
    for name in ("attention.value_length", "attention.key_length_swa", "attention.value_length_swa"):
        if metadata.value(name, head_dim) != head_dim:
            raise metadata.wrong(name, f"{head_dim}, the length of a head of queries and keys")
    metadata.refuse_the_rest(_WITHOUT_EFFECT, _NEUTRAL)
    return ModelArgs(**{**fields, **overrides})


def _rope(metadata: _Metadata, head_dim: int) -> dict[str, Any]:
    rotated = metadata.whole("rope.dimension_count", head_dim)
    if rotated > head_dim or rotated % 2:
        raise metadata.wrong("rope.dimension_count", f"an even number up to {head_dim}")
    if metadata.value("rope.dimension_count_swa", rotated) != rotated:
        raise metadata.wrong("rope.dimension_count_swa", f"{rotated}, as rope.dimension_count")
    if metadata.kind == "granite" and metadata.value("rope.scaling.finetuned", True) is not True:
        raise metadata.wrong("rope.scaling.finetuned", "true: Granite without RoPE is not supported")
    found: dict[str, Any] = {
        "rope_theta": metadata.positive("rope.freq_base", 10000.0),
        "partial_rotary_factor": rotated / head_dim,
        **_stretched(metadata),
    }
    if _ROPE_DIVISORS in metadata.file.tensors:
        found["rope_scaling_short_factor"] = metadata.divisors(_ROPE_DIVISORS)
    if "rope_factors_short.weight" in metadata.file.tensors:
        found |= {
            "rope_scaling_short_factor": metadata.divisors("rope_factors_short.weight"),
            "rope_scaling_long_factor": metadata.divisors("rope_factors_long.weight"),
            "original_max_position_embeddings": metadata.whole("rope.scaling.original_context_length"),
            "max_position_embeddings": metadata.whole("context_length"),
        }
    return found


def _stretched(metadata: _Metadata) -> dict[str, Any]:
    """Fields of `ModelArgs` for a context that RoPE is scaled for. Older files have only the factor, of linear
    scaling."""
    kind = metadata.value("rope.scaling.type", "linear")
    if kind not in ("none", "linear", "yarn", "longrope"):
        raise metadata.wrong("rope.scaling.type", "one of none, linear, yarn, longrope")
    name = "rope.scaling.factor" if metadata.has("rope.scaling.factor") else "rope.scale_linear"
    factor = 1.0 if metadata.value(name, 0) == 0 else metadata.positive(name)
    if name == "rope.scaling.factor" and metadata.has("rope.scale_linear"):
        metadata.value("rope.scale_linear")
    attention = metadata.positive("rope.scaling.attn_factor", None)
    found: dict[str, Any] = {} if attention is None else {"rope_scaling_attention_factor": attention}
    fast, slow = (metadata.positive(f"rope.scaling.yarn_beta_{speed}", None) for speed in ("fast", "slow"))
    if kind == "longrope" and factor != 1:
        raise metadata.wrong(name, "1: LongRoPE has its own factors")
    if kind == "linear" and factor != 1:
        found |= {"rope_scaling_type": "linear", "rope_scaling_factor": factor}
    elif kind == "yarn" and factor != 1:
        found |= {
            "rope_scaling_type": "yarn",
            "rope_scaling_factor": factor,
            "rope_scaling_attention_factor": yarn_attention(factor) * (attention or 1.0),
            "rope_scaling_beta_fast": fast or 32.0,
            "rope_scaling_beta_slow": slow or 1.0,
            "original_max_position_embeddings": metadata.whole(
                "rope.scaling.original_context_length", metadata.whole("context_length")
            ),
        }
    return found


def _windows(metadata: _Metadata, count: int) -> dict[str, Any]:
    """Fields of `ModelArgs` for sliding windows."""
    architecture, name = metadata.architecture, "attention.sliding_window_pattern"
    base, pattern = metadata.positive("rope.freq_base_swa", None), metadata.value(name, architecture.full_every)
    if metadata.value("attention.sliding_window", architecture.window) == 0:
        return {}
    size = metadata.whole("attention.sliding_window", architecture.window)
    if isinstance(pattern, list) and len(pattern) >= count and all(isinstance(slides, bool) for slides in pattern):
        sliding = pattern[:count]
    elif isinstance(pattern, int) and not isinstance(pattern, bool) and pattern >= 0:
        sliding = [pattern == 0 or (i + 1) % pattern != 0 for i in range(count)]
    else:
        raise metadata.wrong(name, f"a whole number, or true or false for each of {count} layers")
    found = {
        "sliding_window": size,
        "layer_types": ["sliding_attention" if slides else "full_attention" for slides in sliding],
    }
    theta = architecture.local_theta
    if theta is not None:
        found["local_rope_theta"] = base or theta or metadata.positive("rope.freq_base", 10000.0)
    elif base is not None and base != metadata.positive("rope.freq_base", 10000.0):
        raise metadata.wrong("rope.freq_base_swa", "rope.freq_base, as all layers of this architecture share it")
    return found


def _scales(metadata: _Metadata, fields: dict[str, Any]) -> dict[str, Any]:
    """The factors of embeddings, residuals, attention scores and logits, and the caps of the last two."""
    kind, heads, head_dim = metadata.kind, fields["n_heads"], fields["head_dim"]
    found: dict[str, Any] = {}
    if metadata.value("attention.scale", 0) != 0:
        found["attention_multiplier"] = metadata.positive("attention.scale")
    if kind == "granite":
        names = {"embedding_scale": "embedding_scale_factor", "residual_scale": "residual_multiplier"}
        names["logit_scale"] = "logits_scaling"
        for name, ours in names.items():
            if metadata.value(name, 0) != 0:
                found[ours] = metadata.positive(name)
    if kind not in _LARGE_GEMMAS:
        return found
    large = fields["n_layers"] == _LARGE_GEMMAS[kind]
    found.setdefault("attention_multiplier", math.pow(fields["dim"] // heads if large else head_dim, -0.5))
    found["embedding_scale_factor"] = fields["dim"] ** 0.5
    caps = {"final_logit_softcapping": 30.0 if kind == "gemma2" else 0}
    if kind == "gemma2":
        caps["attn_logit_softcapping"] = 50.0
    for name, default in caps.items():
        cap = metadata.value(name, default)
        found[name] = None if cap == 0 else metadata.positive(name, default)
    return found


def _check_layers(metadata: _Metadata, file: GGUFFile, fields: dict[str, Any]) -> None:
    """Raises CheckpointError, before memory is allocated, if the sizes in the metadata differ from the tensors'."""
    layers = {match[1] for name in file.tensors if (match := re.match(r"blk\.(\d+)\.", name))}
    if len(layers) != fields["n_layers"]:
        raise metadata.error(
            f"{metadata.kind}.block_count is {fields['n_layers']}, but there are tensors of {len(layers)} layers"
        )
    if fields.get("moe"):
        experts = file.tensors.get("blk.0.ffn_gate_exps.weight")
        expected = fields["num_experts"], fields["moe_hidden_dim"], fields["dim"]
        if experts is None or experts.shape != expected:
            found = "missing" if experts is None else f"of the shape {list(experts.shape)}"
            raise metadata.error(
                f"blk.0.ffn_gate_exps.weight is {found}, expected {list(expected)}: expert_count, "
                "expert_feed_forward_length and embedding_length"
            )
    heads, kv_heads, head_dim = fields["n_heads"], fields["n_kv_heads"], fields["head_dim"]
    for name, count in (("attn_q", heads), ("attn_qkv", heads + 2 * kv_heads)):
        tensor = file.tensors.get(f"blk.0.{name}.weight")
        if tensor is not None and tensor.shape[0] != count * head_dim:
            raise metadata.error(
                f"blk.0.{name}.weight has {tensor.shape[0]} rows, expected {count} heads of {head_dim} each"
            )
        if tensor is not None:
            return
    raise metadata.error("blk.0.attn_q.weight is missing")


def gguf_weights(file: GGUFFile, args: ModelArgs) -> Weights:
    """The tensors of a file under the names of `Transformer`; quantised ones are `ExportableGGUFTensor`.

    Raises CheckpointError for names that are not known.
    """
    assert args.n_kv_heads is not None and args.head_dim is not None and args.hidden_dim is not None
    q_rows, kv_rows = args.n_heads * args.head_dim, args.n_kv_heads * args.head_dim
    fused = not args.moe and "blk.0.ffn_gate.weight" not in file.tensors
    fused_gate = {"ffn_up": "feed_forward.w1 feed_forward.w3"} if fused else {}
    hidden = args.hidden_dim

    experts = {
        f"ffn_{name}_exps": " ".join(f"feed_forward.experts.{i}.{ours}" for i in range(args.num_experts))
        for name, ours in (("gate", "w1"), ("up", "w3"), ("down", "w2"))
    }

    def rows(name: str) -> list[int]:
        if "_exps." in name:
            return [args.dim if "down" in name else args.moe_hidden_dim or hidden] * args.num_experts
        return [q_rows, kv_rows, kv_rows] if "attn_qkv" in name else [hidden, hidden]

    items = (
        # The weights of all experts of a layer are stacked along the rows.
        (name, value.flatten(0, 1) if value.dim() == 3 else value)
        for name, value in iter_gguf(file.path)
        if name not in _ROPE_TABLES
    )
    inside = {**_INSIDE, **fused_gate, **(experts if args.moe else {})}
    weights = Names("blk.", inside, _OUTSIDE).rename(items, rows)
    return {name: _float32(value) for name, value in weights.items()}


def _float32(value: Any) -> Any:
    """Converts floats to float32; quantised weights keep their blocks, and layers dequantise them to float32."""
    return value.to(torch.float32)
