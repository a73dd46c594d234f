# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameters and weights of a GGUF file."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from sdk.extension.llm.export.checkpoint import CheckpointError, gguf_args
from sdk.extension.llm.export.gguf import ExportableGGUFTensor, GGUFFile, iter_gguf


@dataclass
class AttentionArgs:
    """Metadata of attention."""

    head_count: int
    head_count_kv: int
    layer_norm_rms_epsilon: float


@dataclass
class RopeArgs:
    """Metadata of rotary position embeddings."""

    freq_base: float


@dataclass
class GGUFModelArgs:
    """The hyperparameters of a decoder."""

    arch: str
    """The file's `general.architecture`."""
    embedding_length: int
    block_count: int
    feed_forward_length: int
    vocab_size: int
    attention: AttentionArgs
    rope: RopeArgs


@dataclass
class GGUFWeights:
    """The tensors of a file."""

    tensors: list[tuple[str, Tensor | ExportableGGUFTensor]]
    """Names and values, in the file's order; quantised ones stay quantised."""
    file: GGUFFile | None = field(default=None, repr=False)
    """The file that contains them."""


def load_file(gguf_file: str) -> tuple[GGUFModelArgs, GGUFWeights]:
    """Reads a file, whose weights stay on disk until they are used.

    Raises `GGUFError` or `CheckpointError`, both ValueErrors, for a file that is not valid or whose model is not
    supported, OSError for one that cannot be read.
    """
    file = GGUFFile(gguf_file)
    args = gguf_args(file)
    arch = file.metadata.get("general.architecture")
    if not isinstance(arch, str):
        raise CheckpointError(f"{gguf_file}: general.architecture is missing")
    assert args.hidden_dim is not None and args.n_kv_heads is not None
    found = GGUFModelArgs(
        arch, args.dim, args.n_layers, args.hidden_dim, args.vocab_size,
        AttentionArgs(args.n_heads, args.n_kv_heads, args.norm_eps), RopeArgs(args.rope_freq_base),
    )  # fmt: skip
    return found, GGUFWeights(list(iter_gguf(gguf_file)), file)
