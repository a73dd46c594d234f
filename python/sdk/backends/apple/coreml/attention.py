# SPDX-License-Identifier: BSD-3-Clause
"""Attention, caches and norms of language models in the operators that Core ML has."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.model.norm import RMSNorm, ScalelessRMSNorm
from sdk.extension.llm.model.replace import replace_float_cache, replace_sdpa
from sdk.extension.llm.model.sdpa import SDPASimple, repeat_kv

__all__ = [
    "KVCacheCoreML",
    "RMSNormCoreML",
    "SDPACoreML",
    "replace_kv_cache_with_coreml_kv_cache",
    "replace_rms_norm_for_coreml_",
    "replace_sdpa_with_coreml_sdpa",
    "sdpa",
]


@torch.library.custom_op("coreml::sdpa", mutates_args=())
def sdpa(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor) -> Tensor:
    """Computes `scaled_dot_product_attention` as one operator that is not decomposed."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask)


@sdpa.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor) -> Tensor:
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


class SDPACoreML(SDPASimple):
    """Attention by `coreml::sdpa`, with the arguments of `SDPA.forward`."""

    def forward(
        self, input_pos: Tensor | None, q: Tensor, k: Tensor, v: Tensor, bsz: int, seqlen: int, mask: Tensor
    ) -> Tensor:
        """Returns [bsz, seqlen, dim]. q, k and v are [batch, heads, tokens or cache positions, head_dim]."""
        if self.scale is not None:  # the operator scales by the width of a head
            q = q * (self.scale * q.shape[-1] ** 0.5)
        k, v = repeat_kv(k, self.n_rep), repeat_kv(v, self.n_rep)
        return torch.ops.coreml.sdpa(q, k, v, mask[None, None]).transpose(1, 2).reshape(bsz, seqlen, self.dim)


class KVCacheCoreML(nn.Module):
    """`KVCache` that is written by one `index_put_`."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.max_batch_size, self.max_context_length = max_batch_size, max_context_length
        self.n_heads, self.head_dim = n_heads, head_dim
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(max_batch_size, n_heads, max_context_length, head_dim, dtype=dtype))

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor]:
        """Writes [batch, heads, tokens, head_dim] to int64 [tokens] positions. Returns the whole cache."""
        for cache, value in ((self.k_cache, k_val), (self.v_cache, v_val)):
            torch.ops.aten.index_put_(cache, (None, None, input_pos), value)
        return self.k_cache, self.v_cache


def replace_sdpa_with_coreml_sdpa(module: nn.Module) -> nn.Module:
    """Attention by the operator `coreml::sdpa`. Returns the module."""
    return replace_sdpa(module, lambda child: SDPACoreML(child.dim, child.head_dim, child.n_rep))


def replace_kv_cache_with_coreml_kv_cache(module: nn.Module) -> nn.Module:
    """Caches that one `index_put_` writes. Returns the module."""
    return replace_float_cache(module, KVCacheCoreML)


class RMSNormCoreML(nn.Module):
    """sqrt(dim) x / max(|x|, sqrt(dim eps)) * weight. One operator computes the norm of x, so that its squares do
    not overflow in float16."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        """Raises ValueError unless `eps` is positive: x may be 0."""
        super().__init__()
        if eps <= 0:
            raise ValueError(f"eps={eps}: expected a positive number")
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp(min=(self.dim * self.eps) ** 0.5)
        return x * (self.dim**0.5 / length) * self.weight


def replace_rms_norm_for_coreml_(model: nn.Module) -> nn.Module:
    """Each RMS norm becomes `RMSNormCoreML`, with the same weight. Returns the model. Raises ValueError for a norm with
    an eps of 0."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, RMSNorm | ScalelessRMSNorm | nn.RMSNorm):
                setattr(parent, name, _norm(child))
    return model


def _norm(theirs: RMSNorm | ScalelessRMSNorm | nn.RMSNorm) -> RMSNormCoreML:
    width = theirs.normalized_shape[-1] if isinstance(theirs, nn.RMSNorm) else theirs.dim
    made = RMSNormCoreML(width, torch.finfo(torch.float32).eps if theirs.eps is None else theirs.eps)
    weight = getattr(theirs, "weight", None)
    if weight is not None:
        made.weight = nn.Parameter(weight.detach() + 1) if getattr(theirs, "add_unit_offset", False) else weight
    return made
