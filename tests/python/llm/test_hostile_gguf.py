# SPDX-License-Identifier: BSD-3-Clause
"""GGUF files whose metadata, descriptions or bytes are wrong: refused with the file's name, or read as they are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from gguf_mutations import ARRAY, BOOL, FLOAT32, STRING, UINT32, hostile_file, read, serialized, small_model

from sdk.extension.llm.export.checkpoint import CheckpointError, load_model
from sdk.extension.llm.export.gguf._blocks import FORMATS


@pytest.mark.parametrize("kind", ["f32", *FORMATS])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_the_files_that_are_changed_are_whole(architecture: str, kind: str, tmp_path: Path):
    """The files that the fuzzer changes are valid before the change, so they pass the first check."""
    path = tmp_path / "model.gguf"
    for tokenizer in ("gpt2", "llama"):
        path.write_bytes(serialized(small_model(architecture, kind, tokenizer)))
        assert read(path) == {"model", "tokenizer"}


def test_hostile_files_are_read_or_refused(tmp_path: Path):
    """`tests/fuzz/fuzz_gguf.py` does the same for longer."""
    path = tmp_path / "model.gguf"
    for seed in range(150):
        path.write_bytes(hostile_file(random.Random(seed)))
        read(path)


@pytest.mark.parametrize(
    "entry, value, message",
    [
        ("general.architecture", (ARRAY, (UINT32, [])), r"the architecture \[\] is not supported; supported are llama"),
        ("llama.attention.head_count", (UINT32, 0), "attention.head_count is 0, expected a whole number from 1 to"),
        ("llama.embedding_length", (STRING, "64"), "embedding_length is '64', expected a whole number"),
        ("llama.embedding_length", (UINT32, 32), r"token_embd.weight has the shape \[300, 64\], expected"),
        ("llama.feed_forward_length", (10, 2**62), "feed_forward_length is 4611686018427387904, expected"),
        ("llama.block_count", (UINT32, 10**6), "block_count is 1000000, but there are tensors of 2 layers"),
        ("llama.block_count", (BOOL, True), "block_count is True, expected a whole number"),
        ("llama.attention.key_length", (UINT32, 2**23), "has 64 rows, expected 4 heads of 8388608 each"),
        ("llama.attention.head_count_kv", (UINT32, 3), "n_heads=4 is not a multiple of n_kv_heads=3"),
        ("llama.attention.layer_norm_rms_epsilon", (FLOAT32, float("nan")), "is nan, expected a number above 0"),
        ("llama.rope.freq_base", (STRING, "x" * 99), "rope.freq_base is 'xxxx.*, expected a number above 0"),
        ("llama.rope.dimension_count", (UINT32, 64), "rope.dimension_count is 64, expected an even number up to 16"),
        ("llama.rope.scaling.type", (STRING, "ntk"), "rope.scaling.type is 'ntk', expected one of none, linear, yarn"),
        ("llama.rope.scaling.factor", (FLOAT32, float("inf")), "rope.scaling.factor is inf, expected a number above 0"),
        ("llama.rope.scaling.magic", (UINT32, 1), "llama.rope.scaling.magic is 1, and this version does not know"),
        ("llama.attention.sliding_window", (UINT32, 2**31), "attention.sliding_window is 2147483648, expected a whole"),
    ],
)
def test_metadata_that_do_not_fit_are_named(entry: str, value: tuple[int, Any], message: str, tmp_path: Path):
    content = small_model("llama", "q8_0", "gpt2")
    content.entries[entry] = value
    path = tmp_path / "model.gguf"
    path.write_bytes(serialized(content))
    with pytest.raises(CheckpointError, match=f"model.gguf: .*{message}"):
        load_model(path, max_context_len=16)


def test_tensors_that_do_not_fit_are_named(tmp_path: Path):
    path = tmp_path / "model.gguf"
    whole = small_model("llama", "q8_0", "gpt2").tensors
    changes = {
        "blk.0.attn_q.weight": (None, "blk.0.attn_q.weight is missing"),
        "rope_freqs.weight": (whole["blk.0.attn_q.weight"], "rope_freqs.weight is not a row of floats"),
        "blk.1.ffn_down.extra": (whole["output_norm.weight"], "these weights are not known: blk.1.ffn_down.extra"),
    }
    for name, (tensor, message) in changes.items():
        content = small_model("llama", "q8_0", "gpt2")
        content.tensors.pop(name, None)
        if tensor is not None:
            content.tensors[name] = tensor
        path.write_bytes(serialized(content))
        with pytest.raises(CheckpointError, match=f"model.gguf: .*{message}"):
            load_model(path, max_context_len=16)
