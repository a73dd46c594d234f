# SPDX-License-Identifier: BSD-3-Clause
"""Decoder-only transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.attention import ATTENTION_REGISTRY, Attention, ForwardOptions
from sdk.extension.llm.model.experts import MixtureOfExperts, take_names_of_executorch
from sdk.extension.llm.model.feed_forward import FeedForward
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.norm import RMSNorm
from sdk.extension.llm.model.rope import Rope
from sdk.extension.llm.model.short_conv import ShortConv
from sdk.extension.llm.model.window import Window

_UNSUPPORTED = (
    "norm_type",
    "use_q_gate",
    "mlp_type",
    "num_kv_shared_layers",
    "kv_io_bit_width",
    "scale_query_by",
    "normalize_tok_embeddings",
    "use_attn_o_gate",
    "use_attn_o_norm",
    "use_residual_gate",
    "use_ffn_learnable_scales",
    "output_soft_cap_temp",
    "output_linear_intermediate_dim",
    "output_bias",
)
"""Fields of `ModelArgs` that must have their defaults."""
_LAYER_TYPES = ("full_attention", "sliding_attention", "conv")


class TransformerBlock(nn.Module):
    """Attention or a short convolution, then a feed-forward block: each is added to its input.

    Each has a norm before it and no norm after it, unless `ModelArgs` says otherwise.
    """

    def __init__(self, args: ModelArgs, attention: Attention, experts: bool = False) -> None:
        """`experts`: whether the feed-forward block is a mixture of experts."""
        super().__init__()
        self.mixer = "conv" if isinstance(attention, ShortConv) else "attention"
        self.add_module(self.mixer, attention)
        self.feed_forward: nn.Module = MixtureOfExperts(args) if experts else FeedForward(args)
        if experts:
            self.register_load_state_dict_pre_hook(take_names_of_executorch)
        self.attention_norm = _norm(args) if args.use_attention_norm else nn.Identity()
        self.ffn_norm = _norm(args) if args.use_ffn_norm else nn.Identity()
        self.post_attention_norm = _norm(args) if args.post_attention_norm else nn.Identity()
        self.post_ffn_norm = _norm(args) if args.post_ffn_norm else nn.Identity()
        self.sliding = getattr(attention, "sliding_window", None) is not None
        """Whether this layer has a sliding window, and the RoPE frequencies of such layers."""
        self.scale = 1.0 if args.residual_multiplier is None else args.residual_multiplier

    def forward(
        self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, attn_options: dict[str, Any] | None = None
    ) -> tuple[Tensor, dict[str, Any] | None]:
        """`attn_options`: those of its attention, as `Transformer` makes them. Returns the new x, and the options that
        attention changes for the next layer."""
        y, update = getattr(self, self.mixer)(self.attention_norm(x), freqs_cos, freqs_sin, **(attn_options or {}))
        x = x + self._scaled(self.post_attention_norm(y))
        return x + self._scaled(self.post_ffn_norm(self.feed_forward(self.ffn_norm(x)))), update

    @property
    def window(self) -> Window:
        """The window that the layer's attention sees."""
        return getattr(getattr(self, self.mixer), "window", Window())

    def _scaled(self, branch: Tensor) -> Tensor:
        return branch if self.scale == 1.0 else branch * self.scale


class Transformer(nn.Module):
    """Computes logits from tokens. With a key-value cache, calls continue a sequence at `input_pos`."""

    def __init__(self, params: ModelArgs, layers: nn.ModuleList, rope: Rope, local_rope: Rope | None = None) -> None:
        """`local_rope`: the RoPE of the layers with a sliding window; `rope` when None."""
        super().__init__()
        self.params, self.layers, self.rope, self.local_rope = params, layers, rope, local_rope
        if params.apply_embedding:
            self.tok_embeddings = nn.Embedding(_pruned(params.vocab_size, params.input_prune_map), params.dim)
        self.norm = _norm(params)
        if params.apply_output:
            self.output = nn.Linear(params.dim, _pruned(params.vocab_size, params.output_prune_map), bias=False)
        self.max_seq_len, self.max_context_len = params.max_seq_len, params.max_context_len
        for name, map in (("input", params.input_prune_map), ("output", params.output_prune_map)):
            if map is not None:
                self.register_buffer(f"{name}_prune_index", _prune_index(params, map, name), persistent=False)

    def forward(
        self, tokens: Tensor | None = None, attn_options: ForwardOptions | None = None, h: Tensor | None = None
    ) -> Tensor | tuple[Tensor, dict[str, Any]]:
        """Logits [batch, vocab_size] of the last token, or [batch, tokens, vocab_size] with `generate_full_logits`.

        Takes either int64 [batch, tokens] or embeddings `h` [batch, tokens, dim]. Without `apply_output` the result has
        `dim` features instead of logits. Attention that changes options (`StaticAttention`) adds these to the result.
        Raises ValueError unless one of the two is given, and TypeError for an option that no layer reads.
        """
        if (tokens is None) == (h is None):
            raise ValueError(
                "expected either tokens or embeddings (h), found " + ("both" if h is not None else "neither")
            )
        options = attn_options or {}
        x = self.embed(tokens) if h is None else h
        positions = torch.arange(x.shape[1])
        if (first := options.get("input_pos")) is not None:
            positions = positions + first if len(first) == 1 else first
        # Values that all layers of a kind share are computed once.
        rotation = options.get("rotation_positions")
        cos, sin = self.rope.get_freqs_using_indices(positions) if rotation is None else self.rope.mixed_freqs(rotation)
        local_cos, local_sin = cos, sin
        if self.local_rope is not None:
            local_cos, local_sin = self.local_rope.get_freqs_using_indices(positions)
        shared = self._options_of_windows(positions, options.get("bidirectional", False))
        given = {name: value for name, value in options.items() if name not in ForwardOptions.__annotations__}
        if given:
            self._check_options(given)
        updates: dict[str, Any] | None = None
        for layer in self.layers:
            freqs = (local_cos, local_sin) if layer.sliding else (cos, sin)
            x, update = layer(x, *freqs, {**given, **shared[layer.window], **(updates or {})})
            if update is not None:
                updates = {**(updates or {}), **update}
        if not self.params.generate_full_logits:
            x = x[:, options.get("last_valid_token_pos", -1)]
        x = self.norm(x)
        y = self._logits(x) if self.params.apply_output else x
        return y if updates is None else (y, updates)

    def _check_options(self, given: dict[str, Any]) -> None:
        """Raises TypeError for an option of a call that no layer reads."""
        taken = [getattr(getattr(layer, layer.mixer), "takes", None) for layer in self.layers]
        for name in given:
            if not any(names is None or name in names for names in taken):
                known = sorted(set(ForwardOptions.__annotations__).union(*(names or () for names in taken)))
                raise TypeError(f"attn_options has {name!r}; this model has {', '.join(known)}")

    def _options_of_windows(self, positions: Tensor, bidirectional: bool) -> dict[Window, dict[str, Any]]:
        """The options for the layers of each window.

        Those of `Window.options`; "start", the first position, for the operator for attention; "sink_freqs", by which
        attention sinks move.
        """
        windows = list(dict.fromkeys(layer.window for layer in self.layers))
        start = None
        if self.params.use_sdpa_with_kv_cache_op and not all(window.ring for window in windows):
            start = self._start(positions)
        found = {}
        for window in windows:
            found[window] = {
                **window.options(positions, self.max_context_len if self.params.use_kv_cache else None, bidirectional),
                **({"bidirectional": True} if bidirectional else {}),
                "start": start,
                "sink_freqs": self.rope.shift_freqs(window.sink_shift(positions)) if window.sinks else None,
            }
        return found

    def _start(self, positions: Tensor) -> int:
        """The first position as a number: `llama::custom_sdpa` takes consecutive positions from there."""
        start = positions[0].item()
        torch._check(start >= 0)
        torch._check(start + positions.shape[0] <= self.max_context_len)
        return start

    def embed(self, tokens: Tensor) -> Tensor:
        """The embeddings of int64 [batch, tokens] that the layers take, [batch, tokens, dim]."""
        if self.params.input_prune_map is not None:
            tokens = self.input_prune_index[tokens]
        x: Tensor = self.tok_embeddings(tokens)
        return x if self.params.embedding_scale_factor == 1.0 else x * self.params.embedding_scale_factor

    def _logits(self, x: Tensor) -> Tensor:
        logits: Tensor = self.output(x)
        if self.params.logits_scaling is not None:
            logits = logits / self.params.logits_scaling
        if (cap := self.params.final_logit_softcapping) is not None:
            logits = cap * torch.tanh(logits / cap)
        if self.params.output_prune_map is None:
            return logits
        whole = torch.full((*logits.shape[:-1], self.params.vocab_size), float("-inf"), dtype=logits.dtype)
        return whole.index_copy(-1, self.output_prune_index, logits)


def _norm(args: ModelArgs) -> RMSNorm:
    return RMSNorm(args.dim, args.norm_eps, args.rms_norm_add_unit_offset)


def _pruned(vocab_size: int, prune_map: dict[int, int] | None) -> int:
    return vocab_size if prune_map is None else len(prune_map)


def _prune_index(params: ModelArgs, prune_map: dict[int, int], name: str) -> Tensor:
    """Returns, for the input, the row of the pruned embedding for each token, int64 [vocab_size]; for the output, the
    token of each row.

    Tokens that the input map leaves out have row 0. Raises ValueError if the map does not map 0, 1, ... to tokens.
    """
    whole = [prune_map.get(row, -1) for row in range(len(prune_map))]
    if not all(0 <= token < params.vocab_size for token in whole) or len(set(whole)) < len(whole):
        raise ValueError(
            f"{name}_prune_map must map 0 to {len(prune_map) - 1} to different tokens below {params.vocab_size}"
        )
    tokens = torch.tensor(whole)
    if name == "output":
        return tokens
    return torch.zeros(params.vocab_size, dtype=torch.int64).index_copy(0, tokens, torch.arange(len(whole)))


def construct_transformer(model_args: ModelArgs) -> Transformer:
    """The model that the hyperparameters describe, with random weights. Raises ValueError for unsupported fields."""
    defaults = ModelArgs()
    if unsupported := [name for name in _UNSUPPORTED if getattr(model_args, name) != getattr(defaults, name)]:
        raise ValueError(f"these fields of ModelArgs are not supported: {', '.join(unsupported)}")
    types = model_args.layer_types or ["full_attention"] * model_args.n_layers
    if len(types) != model_args.n_layers or not set(types) <= set(_LAYER_TYPES):
        raise ValueError(
            f"layer_types must name one of {', '.join(_LAYER_TYPES)} for each of {model_args.n_layers} layers"
        )
    for name in ("no_rope_layers", "moe_layers"):
        if (numbers := getattr(model_args, name)) is not None and len(numbers) != model_args.n_layers:
            raise ValueError(f"{name} must have a number for each of {model_args.n_layers} layers")
    experts = (model_args.moe_layers or [1] * model_args.n_layers) if model_args.moe else [0] * model_args.n_layers
    if "sliding_attention" in types and model_args.sliding_window is None:
        raise ValueError("layers with sliding_attention need sliding_window")
    kind = model_args.attention_type.lower()
    if kind.startswith("static"):
        import sdk.extension.llm.model.static_attention  # noqa: F401, registers them
    if kind not in ATTENTION_REGISTRY:
        raise ValueError(f"the attention type {kind!r} is not known; known are {', '.join(ATTENTION_REGISTRY)}")
    rope = Rope(model_args)
    local_rope = Rope(model_args, model_args.local_rope_theta) if model_args.local_rope_theta is not None else None
    layers = nn.ModuleList()
    for layer_id, type in enumerate(types):
        layer_rope = local_rope if local_rope is not None and type == "sliding_attention" else rope
        attention = (
            ShortConv(model_args)
            if type == "conv"
            else ATTENTION_REGISTRY[kind](model_args, layer_id, layer_rope, **model_args.attention_kwargs)
        )
        layers.append(TransformerBlock(model_args, attention, bool(experts[layer_id])))
    return Transformer(model_args, layers, rope, local_rope)
