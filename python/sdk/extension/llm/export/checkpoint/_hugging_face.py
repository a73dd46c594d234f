# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in Hugging Face's form: `config.json` and weights under the names of transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor

from sdk.extension.llm.export.checkpoint._config import MODEL_TYPES, NEUTRAL, WITHOUT_EFFECT, defaults
from sdk.extension.llm.export.checkpoint._fields import Fields
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Names, Weights
from sdk.extension.llm.export.checkpoint._rope import rope_entries, rope_fields
from sdk.extension.llm.model.model_args import ModelArgs

_OUTSIDE = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
_FREQUENCIES = ".rotary_emb.inv_freq"
"""The end of the name of RoPE's frequencies, which older checkpoints hold for each layer. `config.json` gives them:
transformers does not read these weights either."""
_ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_approx",
    "gelu_pytorch_tanh": "gelu_approx",
}
"""Maps transformers' names of activation functions to those of `ActFn`."""


def hugging_face_args(config: dict[str, Any], **overrides: Any) -> ModelArgs:
    """The hyperparameters of a `config.json`.

    `overrides`: fields of `ModelArgs`, such as `max_context_len`. Raises CheckpointError for a model that is not
    supported, and for a field that may change what the model computes in a way that this version does not support.
    """
    return read_config(config, overrides)[0]


def read_config(config: dict[str, Any], overrides: dict[str, Any]) -> tuple[ModelArgs, bool]:
    """Returns the hyperparameters, in the form of `hugging_face_args`, and whether a checkpoint may lack the output's
    weights because they equal those of the embedding."""
    kind = config.get("model_type", "")
    if not isinstance(kind, str) or kind not in MODEL_TYPES:
        raise CheckpointError(f"the model type {kind!r} is not supported; supported are {', '.join(MODEL_TYPES)}")
    type, fields = MODEL_TYPES[kind], Fields(config, "config.json", defaults=defaults(kind))
    fields.value("model_type")
    bias = type.attention_bias and fields.flag("attention_bias")
    found: dict[str, Any] = {
        "dim": fields.whole("hidden_size"),
        "n_layers": fields.whole("num_hidden_layers"),
        "n_heads": fields.whole("num_attention_heads"),
        "n_kv_heads": fields.whole("num_key_value_heads", optional=True),
        "head_dim": fields.whole("head_dim", optional=True),
        "vocab_size": fields.whole("vocab_size"),
        "use_hf_rope": True,
        "attention_qkv_bias": bias,
        "attention_output_bias": bias,
        "mlp_bias": type.mlp_bias and fields.flag("mlp_bias"),
        **type.fields,
        **_READERS.get(kind, _plain)(kind, fields),
    }
    tied = fields.flag("tie_word_embeddings")
    if kind == "lfm2":
        tied = fields.flag("tie_embedding", tied)
    fields.refuse_the_rest(WITHOUT_EFFECT | type.without_effect, NEUTRAL)
    return ModelArgs(**{**found, **overrides}), tied


def _plain(kind: str, fields: Fields) -> dict[str, Any]:
    return {
        "hidden_dim": fields.whole("intermediate_size"),
        "norm_eps": fields.positive("rms_norm_eps"),
        "act_fn": _activation(fields, "hidden_act"),
        **rope_fields(fields, rope_entries(fields), MODEL_TYPES[kind].rope_theta, phi3=kind == "phi3"),
        **_windows(fields, _layer_types(kind, fields)),
    }


def _activation(fields: Fields, name: str) -> str:
    found = fields.value(name)
    if not isinstance(found, str) or found not in _ACTIVATIONS:
        raise fields.wrong(name, f"one of {', '.join(_ACTIVATIONS)}")
    return _ACTIVATIONS[found]


def _windows(fields: Fields, types: list[str]) -> dict[str, Any]:
    """`types`: the type of attention of each layer, as in `layer_types`."""
    count = fields.whole("num_hidden_layers")
    if len(types) != count or not {"sliding_attention", "full_attention"}.issuperset(types):
        raise fields.wrong("layer_types", f"sliding_attention or full_attention for each of {count} layers")
    if "sliding_attention" not in types:
        return {}
    size = fields.whole("sliding_window")
    if size is None:
        raise fields.wrong("sliding_window", "a whole number, as layer_types has sliding_attention")
    return {"layer_types": types, "sliding_window": size}


def _layer_types(kind: str, fields: Fields) -> list[str]:
    """Returns the kind of attention of each layer: from `layer_types`, or from the model's configuration class if that
    is missing."""
    count = fields.whole("num_hidden_layers")
    sliding = _sliding(kind, fields, count)
    chosen = ["sliding_attention" if slides else "full_attention" for slides in sliding]
    named: list[str] | None = fields.items("layer_types", str)
    if named is not None and kind in _ALIKE and named != chosen:
        raise fields.wrong("layer_types", f"{chosen[0]} for each layer, which is what models of this type have")
    if "sliding_attention" in (named or ()) and kind in ("qwen2", "qwen3") and not fields.flag("use_sliding_window"):
        raise fields.wrong("use_sliding_window", "true, as layer_types has sliding_attention")
    return named or chosen


_ALIKE = ("llama", "mistral", "qwen3_moe", "phi3", "granite", "olmo2")
"""Models whose layers are all of one type."""


def _sliding(kind: str, fields: Fields, count: int) -> list[bool]:
    """Whether each layer has a sliding window, where `layer_types` does not say it."""
    layers = range(count)
    if kind in ("mistral", "phi3"):
        return [fields.whole("sliding_window", optional=True) is not None for _ in layers]
    if kind == "qwen3_moe":
        used = fields.flag("use_sliding_window") and fields.whole("sliding_window", optional=True) is not None
        fields.value("sliding_window")
        return [used for _ in layers]
    if kind in ("qwen2", "qwen3"):
        first, used = fields.whole("max_window_layers", least=0), fields.flag("use_sliding_window")
        return [fields.whole("sliding_window", optional=True) is not None and used and i >= first for i in layers]
    if kind == "smollm3":
        used = fields.flag("use_sliding_window") and fields.whole("sliding_window", optional=True) is not None
        fields.value("sliding_window")
        return [used and not rotates for rotates in _rotating_layers(fields)]
    if kind in ("gemma2", "gemma3_text"):
        fields.value("sliding_window")
        pattern = 2 if kind == "gemma2" else fields.whole("sliding_window_pattern")
        return [(i + 1) % pattern != 0 for i in layers]
    return [False for _ in layers]


def _rotating_layers(fields: Fields) -> list[int]:
    """For each layer of SmolLM3, 1 if it rotates queries and keys, else 0."""
    interval = fields.whole("no_rope_layer_interval")
    count = fields.whole("num_hidden_layers")
    named: list[int] | None = fields.items("no_rope_layers", int)
    found = [int((i + 1) % interval != 0) for i in range(count)] if named is None else named[:count]
    if len(found) < count:
        raise fields.wrong("no_rope_layers", f"at least {count} numbers, one for each layer")
    return found


def _smollm3(kind: str, fields: Fields) -> dict[str, Any]:
    return {**_plain(kind, fields), "no_rope_layers": _rotating_layers(fields)}


def _qwen3_moe(kind: str, fields: Fields) -> dict[str, Any]:
    step, others = fields.whole("decoder_sparse_step"), fields.items("mlp_only_layers", int) or []
    layers = range(fields.whole("num_hidden_layers"))
    return {
        **_plain(kind, fields),
        "num_experts": fields.whole("num_local_experts", None) or fields.whole("num_experts"),
        "num_activated_experts": fields.whole("num_experts_per_tok"),
        "moe_hidden_dim": fields.whole("moe_intermediate_size"),
        "moe_norm_topk": fields.flag("norm_topk_prob"),
        "moe_layers": [int(i not in others and (i + 1) % step == 0) for i in layers],
    }


def _granite(kind: str, fields: Fields) -> dict[str, Any]:
    return {
        **_plain(kind, fields),
        "embedding_scale_factor": fields.positive("embedding_multiplier"),
        "residual_multiplier": fields.positive("residual_multiplier"),
        "attention_multiplier": fields.positive("attention_multiplier"),
        "logits_scaling": fields.positive("logits_scaling"),
    }


def _gemma(kind: str, fields: Fields) -> dict[str, Any]:
    activation = _activation(fields, "hidden_activation")
    if fields.has("hidden_act") and _activation(fields, "hidden_act") != activation:
        raise fields.wrong("hidden_act", f"{fields.value('hidden_activation')!r}, as hidden_activation")
    fields.value("hidden_act", None)
    rope = _gemma3_rope(fields) if kind == "gemma3_text" else rope_fields(fields, rope_entries(fields), 1e4)
    found = {
        "hidden_dim": fields.whole("intermediate_size"),
        "norm_eps": fields.positive("rms_norm_eps"),
        "act_fn": activation,
        "embedding_scale_factor": fields.whole("hidden_size") ** 0.5,
        "attention_multiplier": fields.positive("query_pre_attn_scalar") ** -0.5,
        "final_logit_softcapping": fields.positive("final_logit_softcapping", optional=True),
        **rope,
        **_windows(fields, _layer_types(kind, fields)),
    }
    if kind == "gemma2":
        found["attn_logit_softcapping"] = fields.positive("attn_logit_softcapping", optional=True)
    return found


def _gemma3_rope(fields: Fields) -> dict[str, Any]:
    """Reads RoPE for layers with full attention and for the others: from an object with both, or from fields of older
    files.

    `rope_scaling` of older files applies to the former alone.
    """
    rope = rope_entries(fields)
    nested = fields.has("rope_parameters")
    whole, local = (rope.inner("full_attention"), rope.inner("sliding_attention")) if nested else (rope, None)
    found = rope_fields(fields, whole, MODEL_TYPES["gemma3_text"].rope_theta)
    found["local_rope_theta"] = fields.positive("rope_local_base_freq")
    if local is not None:
        found["local_rope_theta"] = local.positive("rope_theta", found["local_rope_theta"])
        local.refuse_the_rest(neutral={"rope_type": ("default",), "partial_rotary_factor": (1.0,)})
        rope.refuse_the_rest()
    return found


def _lfm2(kind: str, fields: Fields) -> dict[str, Any]:
    count = fields.whole("num_hidden_layers")
    types = fields.items("layer_types", str)
    attends = fields.items("full_attn_idxs", int)
    if types is None:
        attends = list(range(count)) if attends is None else attends
        types = ["full_attention" if i in attends else "conv" for i in range(count)]
    return {
        "hidden_dim": _lfm2_width(fields),
        "norm_eps": fields.positive("norm_eps"),
        "layer_types": types,
        **rope_fields(fields, rope_entries(fields), MODEL_TYPES[kind].rope_theta),
    }


def _lfm2_width(fields: Fields) -> int:
    """The width of LFM2's feed-forward blocks: transformers computes it from `intermediate_size`."""
    width: int = fields.whole("block_ff_dim", None) or fields.whole("intermediate_size")
    fields.value("intermediate_size", None)
    multiplier, multiple = fields.positive("block_ffn_dim_multiplier"), fields.whole("block_multiple_of")
    if not fields.flag("block_auto_adjust_ff_dim"):
        return width
    width = int(multiplier * int(2 * width / 3))
    return int(-(-width // multiple) * multiple)


_READERS = {
    "qwen3_moe": _qwen3_moe,
    "smollm3": _smollm3,
    "granite": _granite,
    "gemma2": _gemma,
    "gemma3_text": _gemma,
    "lfm2": _lfm2,
}
"""Readers of further fields of a `config.json`, by `model_type`."""


def hugging_face_weights(
    items: Iterable[tuple[str, Tensor]], model_type: str, args: ModelArgs, tied: bool = True
) -> Weights:
    """Renames weights from transformers to the names of `Transformer`.

    `tied`: whether the output may have the weights of the embedding. Raises CheckpointError for unknown names.
    """
    assert args.n_kv_heads is not None and args.head_dim is not None and args.hidden_dim is not None
    q_rows, kv_rows = args.n_heads * args.head_dim, args.n_kv_heads * args.head_dim

    def rows(name: str) -> list[int]:
        if "qkv_proj" in name:
            return [q_rows, kv_rows, kv_rows]
        return [args.hidden_dim or 0] * 2 if "gate_up" in name else [args.dim] * 3

    outside = {**_OUTSIDE, "model.embedding_norm": "norm"} if model_type == "lfm2" else _OUTSIDE
    names = {**MODEL_TYPES[model_type].names, **(_expert_names(args) if args.moe else {})}
    kept = ((name, value) for name, value in items if not name.endswith(_FREQUENCIES))
    return Names("model.layers.", names, outside).rename(_each_expert(kept), rows, tied)


_OF_EXPERT = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}


def _expert_names(args: ModelArgs) -> dict[str, str]:
    return {
        f"mlp.experts.{i}.{name}": f"feed_forward.experts.{i}.{ours}"
        for i in range(args.num_experts)
        for name, ours in _OF_EXPERT.items()
    }


def _each_expert(items: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """Yields the weights. A tensor for all experts of a layer, [experts, rows, columns], is split into one for each
    expert."""
    for name, value in items:
        stem, _, last = name.rpartition(".")
        if not stem.endswith(".mlp.experts") or value.dim() != 3:
            yield name, value
            continue
        parts = {"gate_proj": 0, "up_proj": 1} if last == "gate_up_proj" else {last: 0}
        for i, expert in enumerate(value):
            rows = expert.chunk(len(parts))
            for part, at in parts.items():
                yield f"{stem}.{i}.{part}.weight", rows[at]
