# SPDX-License-Identifier: BSD-3-Clause
"""Attention of fixed shapes over caches that are inputs of the program (`static_cache`)."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdk.extension.llm.model.attention import Attention, AttentionMHA, register_attention
from sdk.extension.llm.model.lora import LoRALinear, lora_call, projection
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.norm import ScalelessRMSNorm
from sdk.extension.llm.model.rope import Rope, rotate_halves, rotate_pairs
from sdk.extension.llm.model.static_cache import StaticKCache, StaticVCache


class _Rotation(nn.Module):
    def __init__(self, config: ModelArgs) -> None:
        super().__init__()
        self.config, self.use_hf_rope = config, config.use_hf_rope

    def forward(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> Tensor:
        return (rotate_halves if self.use_hf_rope else rotate_pairs)(x, freqs_cos, freqs_sin)


@register_attention("static")
class StaticAttention(Attention):
    """Computes each head separately (`split_mha`), or all heads of a layer together."""

    takes = frozenset(
        {"masks", "in_cache_state", "out_cache_state", "freqs_cos_override", "freqs_sin_override", "__lora_io_blob__"}
    )

    def __init__(
        self,
        config: ModelArgs,
        layer_id: int,
        rope: Rope,
        split_mha: bool = True,
        is_kv_shared_layer: bool = False,
        **kwargs: Any,
    ) -> None:
        """`kwargs`: `decompose_sdpa_in_mha` computes attention in single operators even if all heads are computed
        together; `enable_qnn_masked_softmax` replaces masked scores by scores far below the least one.

        Raises ValueError for `is_kv_shared_layer` (keys and values of another layer) and for adapters of single heads,
        TypeError for other `kwargs`.
        """
        super().__init__()
        if unknown := sorted(kwargs.keys() - {"decompose_sdpa_in_mha", "enable_qnn_masked_softmax"}):
            raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
        assert config.n_kv_heads is not None and config.head_dim is not None
        if is_kv_shared_layer:
            raise ValueError("is_kv_shared_layer=True: keys and values of another layer are not supported")
        if config.n_heads % config.n_kv_heads:
            raise ValueError(f"n_heads={config.n_heads} is not a multiple of n_kv_heads={config.n_kv_heads}")
        if split_mha and set(config.target_modules or ()) & {"q_proj", "k_proj", "v_proj", "o_proj", "output_proj"}:
            raise ValueError("LoRA adapters are for all heads of a layer: use split_mha=False")
        self.layer_id, self.dim, self.head_dim = layer_id, config.dim, config.head_dim
        self.n_heads, self.n_kv_heads = config.n_heads, config.n_kv_heads
        self.n_rep, self.split_mha, self.is_kv_shared_layer = self.n_heads // self.n_kv_heads, split_mha, False
        self.inv_scale = self.head_dim**-0.5 if config.attention_multiplier is None else config.attention_multiplier
        self.use_qk_norm, self.qk_norm_before_rope = config.use_qk_norm, config.qk_norm_before_rope
        self.rotates, self.use_conv2d = True, False
        self.decompose_sdpa_in_mha = bool(kwargs.get("decompose_sdpa_in_mha", False))
        self.enable_qnn_masked_softmax = bool(kwargs.get("enable_qnn_masked_softmax", False))
        self.rope = _Rotation(rope.params)
        bias = config.attention_qkv_bias
        for name, target, heads in (
            ("wqs", "q_proj", self.n_heads), ("wks", "k_proj", self.n_kv_heads), ("wvs", "v_proj", self.n_kv_heads),
        ):  # fmt: skip
            count, width = (heads, self.head_dim) if split_mha else (1, heads * self.head_dim)
            layers = [projection(config, self.dim, width, target, bias=bias) for _ in range(count)]
            self.add_module(name, nn.ModuleList(layers))
        self.wo = projection(
            config, self.n_heads * self.head_dim, self.dim, "o_proj", "output_proj", bias=config.attention_output_bias
        )
        parts = range(self.n_kv_heads if split_mha else 1)
        self.k_caches = nn.ModuleList(StaticKCache(layer_id, head) for head in parts)
        self.v_caches = nn.ModuleList(StaticVCache(layer_id, head) for head in parts)
        kind = nn.RMSNorm if config.qk_norm_affine else ScalelessRMSNorm
        for name in ("q_norm", "k_norm"):
            self.add_module(name, kind(self.head_dim, config.norm_eps) if self.use_qk_norm else nn.Identity())

    @classmethod
    def from_attention_mha(
        cls, other: AttentionMHA, split_mha: bool = True, rms_norm_class: Any = nn.RMSNorm, **kwargs: Any
    ) -> StaticAttention:
        """A static attention with the weights of another attention. Raises ValueError for one with norms of all heads
        together, with soft caps, or with one layer for queries, keys and values."""
        why = {
            "norms of all heads together": other.use_qk_norm and other.qk_norm_whole,
            "a soft cap": other.SDPA.softcap is not None,
            "one layer for queries, keys and values": other.wqkv is not None,
        }
        if found := [name for name, is_so in why.items() if is_so]:
            raise ValueError(f"expected attention without {found[0]}")
        config = copy.copy(other.rope.params)
        config.n_heads, config.n_kv_heads, config.head_dim = other.n_heads, other.n_kv_heads, other.head_dim
        instance = cls(config, other.layer_id, other.rope, split_mha, **kwargs)
        instance.rotates = other.rotates
        instance.load_weights_from_attention_mha(other, rms_norm_class)
        return instance

    def load_weights_from_attention_mha(self, other: AttentionMHA, rms_norm_class: Any = nn.RMSNorm) -> None:
        """Copies the weights of another attention of the same sizes; norms become `rms_norm_class(width, eps)`."""
        for mine, theirs in ((self.wqs, other.wq), (self.wks, other.wk), (self.wvs, other.wv)):
            whole = theirs.state_dict()
            for head, layer in enumerate(mine):
                rows = slice(head * self.head_dim, (head + 1) * self.head_dim) if self.split_mha else slice(None)
                part = {name: value[rows] if self.split_mha else value for name, value in whole.items()}
                layer.load_state_dict(part)
        self.wo.load_state_dict(other.wo.state_dict())
        for name in ("q_norm", "k_norm") if self.use_qk_norm else ():
            theirs = getattr(other, f"{name}_fn")
            if hasattr(theirs, "weight"):
                made = rms_norm_class(theirs.dim, theirs.eps).to(theirs.weight.dtype)
                made.load_state_dict({"weight": theirs.weight + 1 if theirs.add_unit_offset else theirs.weight})
                setattr(self, name, made)

    def forward(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, **options: Any) -> tuple[Tensor, dict[str, Any]]:
        """`options`: `masks` by the length of a cache, `in_cache_state` and `out_cache_state`, and
        `freqs_cos_override` and `freqs_sin_override` in place of the tables. The second result has the new
        `out_cache_state`."""
        cos, sin = (
            table if options.get(name) is None else options[name]
            for name, table in (("freqs_cos_override", freqs_cos), ("freqs_sin_override", freqs_sin))
        )
        adapters = options.get("__lora_io_blob__")
        batch, tokens, _ = x.shape
        if self.use_conv2d:
            x = x.transpose(1, 2).unsqueeze(2)
        projections = (self.wqs, self.wks, self.wvs)
        qs, ks, vs = ([self._projected(layer, x, adapters) for layer in part] for part in projections)
        if not self.split_mha:  # [batch, heads, tokens, head_dim]
            qs, ks, vs = ([part[0].unflatten(-1, (-1, self.head_dim)).transpose(1, 2)] for part in (qs, ks, vs))
        qs = [self._rotated(q, self.q_norm, cos, sin) for q in qs]
        ks = [self._rotated(k, self.k_norm, cos, sin) for k in ks]
        before, after = options.get("in_cache_state"), options.get("out_cache_state")
        all_ks: list[Tensor] = []
        all_vs: list[Tensor] = []
        for caches, news, found in ((self.k_caches, ks, all_ks), (self.v_caches, vs, all_vs)):
            for cache, new in zip(caches, news, strict=True):
                whole, state = cache.update(new, before, after)
                after = after if state is None else state
                found.append(whole)
        mask = (options.get("masks") or {}).get(all_ks[0].shape[-2] - tokens)
        if self.split_mha:
            y = torch.cat([self._attend(q, all_ks[i // self.n_rep], all_vs[i // self.n_rep], mask)
                           for i, q in enumerate(qs)], dim=-1)  # fmt: skip
        else:
            y = self._attend_all(qs[0], all_ks[0], all_vs[0], mask).transpose(1, 2).reshape(batch, tokens, -1)
        if self.use_conv2d:
            y = y.transpose(1, 2).unsqueeze(2)
        return self._projected(self.wo, y, adapters), {"out_cache_state": after}

    def _projected(self, layer: nn.Module, x: Tensor, adapters: Any) -> Tensor:
        """[batch, tokens, width]."""
        y = lora_call(layer, x, adapters)
        return y.squeeze(2).transpose(1, 2) if self.use_conv2d else y

    def _rotated(self, x: Tensor, norm: nn.Module, cos: Tensor, sin: Tensor) -> Tensor:
        if self.qk_norm_before_rope:
            x = norm(x)
        if self.rotates:
            x = self.rope(x, cos, sin)
        return x if self.qk_norm_before_rope else norm(x)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = q @ k.transpose(-2, -1) * self.inv_scale
        if mask is not None and self.enable_qnn_masked_softmax:
            scores = torch.where(mask == 0, scores, scores.amin(dim=-1, keepdim=True) - 20)
        elif mask is not None:
            scores = scores + mask
        return torch.softmax(scores, dim=-1) @ v

    def _attend_all(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        if not self.decompose_sdpa_in_mha:
            return F.scaled_dot_product_attention(q, k, v, mask, scale=self.inv_scale, enable_gqa=True)
        k, v = (part.repeat_interleave(self.n_rep, dim=1) for part in (k, v))
        return self._attend(q, k, v, mask)

    def adopt_hf_rope(self) -> None:
        """Rotates the two halves of a head instead of pairs of neighbouring numbers; the rows of the projections and
        norms are put into that order.

        Raises RuntimeError after `linear_to_conv2d`.
        """
        if self.rope.use_hf_rope:
            return
        if self.use_conv2d:
            raise RuntimeError("adopt_hf_rope comes before linear_to_conv2d")
        parameters = [parameter for layer in (*self.wqs, *self.wks) for parameter in _rows(layer)]
        if self.use_qk_norm:
            parameters += [norm.weight for norm in (self.q_norm, self.k_norm) if hasattr(norm, "weight")]
        for parameter in parameters:
            pairs = parameter.data.unflatten(0, (-1, self.head_dim // 2, 2))
            parameter.data.copy_(pairs.transpose(1, 2).flatten(0, 2))
        self.rope.use_hf_rope = True

    def linear_to_conv2d(self) -> None:
        """Replaces the projections by convolutions with a kernel of 1. Raises RuntimeError without `split_mha`."""
        if not self.split_mha:
            raise RuntimeError("linear_to_conv2d needs split_mha=True")
        for name in ("wqs", "wks", "wvs"):
            setattr(self, name, nn.ModuleList(_conv2d(layer) for layer in getattr(self, name)))
        self.wo = _conv2d(self.wo)
        self.use_conv2d = True


def _rows(layer: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters of a projection whose first dimension is the output."""
    if isinstance(layer, LoRALinear):
        return [*layer.linear.parameters(), layer.lora_b.weight]
    return list(layer.parameters())


def _conv2d(linear: nn.Module) -> nn.Module:
    assert isinstance(linear, nn.Linear)
    made = nn.Conv2d(linear.in_features, linear.out_features, 1, bias=linear.bias is not None)
    made = made.to(linear.weight.dtype)
    made.load_state_dict({name: value[:, :, None, None] if value.dim() == 2 else value
                          for name, value in linear.state_dict().items()})  # fmt: skip
    return made


@register_attention("static_mha")
class StaticAttentionMHA(StaticAttention):
    """`StaticAttention` of all heads at once."""

    def __init__(self, config: ModelArgs, layer_id: int, rope: Rope, **kwargs: Any) -> None:
        super().__init__(config, layer_id, rope, split_mha=False, **kwargs)


def transform_attention_mha_to_static_attention(
    model: nn.Module,
    split_mha: bool = True,
    inplace: bool = True,
    use_conv2d: bool = False,
    use_hf_rope: bool = False,
    **kwargs: Any,
) -> nn.Module:
    """Replaces `AttentionMHA` in a model, or in a copy of it, and returns that."""
    if not inplace:
        model = copy.deepcopy(model)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, AttentionMHA):
                made = StaticAttention.from_attention_mha(child, split_mha, **kwargs)
                if use_hf_rope:
                    made.adopt_hf_rope()
                if use_conv2d:
                    made.linear_to_conv2d()
                setattr(parent, name, made)
    return model
