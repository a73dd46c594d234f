# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in GGUF files: hyperparameters from the metadata, weights as they are quantised."""

from __future__ import annotations

import re
from typing import Any

import torch

from sdk.examples.models.llama.model_args import ModelArgs
from sdk.extension.llm.export.checkpoint._names import CheckpointError, Names, Weights
from sdk.extension.llm.export.gguf import GGUFFile, iter_gguf

_INSIDE = {
    "attn_q": "attention.wq",
    "attn_k": "attention.wk",
    "attn_v": "attention.wv",
    "attn_output": "attention.wo",
    "attn_q_norm": "attention.q_norm_fn",
    "attn_k_norm": "attention.k_norm_fn",
    "attn_qkv": "attention.wq attention.wk attention.wv",
    "attn_norm": "attention_norm",
    "ffn_norm": "ffn_norm",
    "ffn_gate": "feed_forward.w1",
    "ffn_down": "feed_forward.w2",
    "ffn_up": "feed_forward.w3",
}
_OUTSIDE = {"token_embd": "tok_embeddings", "output_norm": "norm", "output": "output"}
_HALVES = {"llama": False, "qwen2": True, "qwen3": True, "phi3": True}
"""Whether RoPE rotates halves of a head, by `general.architecture`: converters permute the weights of `llama` to
pairs."""
_ROPE_DIVISORS = "rope_freqs.weight"
_LARGEST = 1 << 24
"""More than any model has of anything that metadata count."""


def gguf_args(file: GGUFFile, **overrides: Any) -> ModelArgs:
    """The hyperparameters of a GGUF file.

    `overrides`: fields of `ModelArgs`, such as `max_context_len`. Raises CheckpointError for a model that is not
    supported, or whose metadata lack what its architecture needs or do not fit the tensors.
    """
    metadata = _Metadata(file)
    kind, heads, dim = metadata.kind, metadata.whole("attention.head_count"), metadata.whole("embedding_length")
    table = file.tensors.get("token_embd.weight")
    if table is None:
        raise metadata.error("token_embd.weight is missing, which the embedding of tokens is made from")
    if table.shape[1:] != (dim,):
        raise metadata.error(
            f"token_embd.weight has the shape {list(table.shape)}, expected {kind}.embedding_length, {dim}, in a row"
        )
    head_dim = metadata.whole("attention.key_length", dim // heads)
    scaling = metadata.value("rope.scaling.type", "none")
    if scaling not in ("none", "longrope"):
        raise metadata.error(f"RoPE scaling of the type {scaling!r} is not supported")
    fields: dict[str, Any] = {
        "dim": dim,
        "n_layers": metadata.whole("block_count"),
        "n_heads": heads,
        "n_kv_heads": metadata.whole("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "hidden_dim": metadata.whole("feed_forward_length"),
        "vocab_size": table.shape[0],
        "norm_eps": metadata.positive("attention.layer_norm_rms_epsilon"),
        "rope_theta": metadata.positive("rope.freq_base", 10000.0),
        "partial_rotary_factor": metadata.rotated(head_dim) / head_dim,
        "use_hf_rope": _HALVES[kind],
        "attention_qkv_bias": "blk.0.attn_q.bias" in file.tensors,
        "use_qk_norm": "blk.0.attn_q_norm.weight" in file.tensors,
        "qk_norm_before_rope": True,
    }
    if _ROPE_DIVISORS in file.tensors:
        fields["rope_scaling_short_factor"] = metadata.divisors(_ROPE_DIVISORS)
    if "rope_factors_short.weight" in file.tensors:
        fields |= {
            "rope_scaling_short_factor": metadata.divisors("rope_factors_short.weight"),
            "rope_scaling_long_factor": metadata.divisors("rope_factors_long.weight"),
            "original_max_position_embeddings": metadata.whole("rope.scaling.original_context_length"),
            "max_position_embeddings": metadata.whole("context_length"),
        }
        if file.metadata.get(f"{kind}.rope.scaling.attn_factor") is not None:
            fields["rope_scaling_attention_factor"] = metadata.positive("rope.scaling.attn_factor")
    _check_layers(metadata, file, fields)
    return ModelArgs(**{**fields, **overrides})


class _Metadata:
    """The entries of a file's architecture; errors name the file and the entry."""

    def __init__(self, file: GGUFFile) -> None:
        self._file = file
        kind = file.metadata.get("general.architecture")
        if not isinstance(kind, str) or kind not in _HALVES:
            raise self.error(f"the architecture {kind!r} is not supported; supported are {', '.join(_HALVES)}")
        self.kind = kind

    def error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._file.path}: {what}")

    def value(self, key: str, default: Any = None) -> Any:
        found = self._file.metadata.get(f"{self.kind}.{key}", default)
        if found is None:
            raise self.error(f"the metadata lack {self.kind}.{key}")
        return found

    def whole(self, key: str, default: int | None = None) -> int:
        found = self.value(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= _LARGEST:
            raise self.error(f"{self.kind}.{key} is {_short(found)}, expected a whole number from 1 to {_LARGEST}")
        return found

    def positive(self, key: str, default: float | None = None) -> float:
        found = self.value(key, default)
        if not isinstance(found, (int, float)) or isinstance(found, bool) or not 0 < found < float("inf"):
            raise self.error(f"{self.kind}.{key} is {_short(found)}, expected a number above 0")
        return float(found)

    def rotated(self, head_dim: int) -> int:
        """The numbers of a head that RoPE rotates, in pairs."""
        found = self.whole("rope.dimension_count", head_dim)
        if found > head_dim or found % 2:
            raise self.error(f"{self.kind}.rope.dimension_count is {found}, expected an even number up to {head_dim}")
        return found

    def divisors(self, name: str) -> list[float]:
        """A table of RoPE."""
        tensor = self._file.tensors.get(name)
        if tensor is None or not isinstance(tensor.type, torch.dtype) or len(tensor.shape) != 1:
            raise self.error(f"{name} is {'missing' if tensor is None else 'no row of floats'}")
        found: list[float] = self._file[name].tolist()
        return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_layers(metadata: _Metadata, file: GGUFFile, fields: dict[str, Any]) -> None:
    """Raises CheckpointError where the metadata speak of a larger model than the tensors, before memory is taken."""
    layers = {match[1] for name in file.tensors if (match := re.match(r"blk\.(\d+)\.", name))}
    if len(layers) != fields["n_layers"]:
        raise metadata.error(
            f"{metadata.kind}.block_count is {fields['n_layers']}, but there are tensors of {len(layers)} layers"
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
    fused_gate = {"ffn_up": "feed_forward.w1 feed_forward.w3"} if "blk.0.ffn_gate.weight" not in file.tensors else {}
    hidden = args.hidden_dim

    def rows(name: str) -> list[int]:
        return [q_rows, kv_rows, kv_rows] if "attn_qkv" in name else [hidden, hidden]

    tables = (_ROPE_DIVISORS, "rope_factors_short.weight", "rope_factors_long.weight")
    items = ((name, value) for name, value in iter_gguf(file.path) if name not in tables)
    weights = Names("blk.", {**_INSIDE, **fused_gate}, _OUTSIDE).rename(items, rows)
    return {name: _float32(value) for name, value in weights.items()}


def _float32(value: Any) -> Any:
    """Floats as the module has them; quantised weights dequantise to float32."""
    return value.to(torch.float32)
