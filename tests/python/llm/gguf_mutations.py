# SPDX-License-Identifier: BSD-3-Clause
"""Hostile GGUF files: a small whole model with changed entries, descriptions and bytes, and functions that read the
files."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sdk.extension.llm.export.checkpoint import CheckpointError, load_model
from sdk.extension.llm.export.gguf import GGUFError, GGUFFile
from sdk.extension.llm.export.gguf._blocks import FORMATS
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.export.tokenizer.data import tokenizer_data

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?", 10: "Q", 11: "q", 12: "d"}
_HOSTILE: list[tuple[int, Any]] = [
    *((UINT32, value) for value in (0, 1, 2, 3, 7, 64, 96, 4096, 2**31, 2**32 - 1)),
    *((INT32, value) for value in (-1, -(2**31))),
    *((10, value) for value in (2**40, 2**63, 2**64 - 1)),
    *((FLOAT32, value) for value in (0.0, -1.0, 0.5, 1e30, float("inf"), float("nan"))),
    *((BOOL, value) for value in (False, True)),
    *(
        (STRING, value)
        for value in ("", "llama", "qwen2", "qwen3", "phi3", "gpt2", "longrope", "linear", "yarn", "é" * 50, "\0")
    ),
    (ARRAY, (UINT32, [])),
    (ARRAY, (UINT32, [1, 2, 3, 2**32 - 1])),
    (ARRAY, (FLOAT32, [0.0, float("nan")])),
    (ARRAY, (STRING, ["a", "", "a"])),
    (ARRAY, (ARRAY, [])),
]
_ALPHABET = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
"""The characters that represent bytes in byte-level BPE."""


@dataclass
class Content:
    """The metadata entries and tensors of a file."""

    entries: dict[str, tuple[int, Any]]
    tensors: dict[str, list[Any]] = field(default_factory=dict)
    """[shape with the contiguous dimension first, ggml's type, bytes] by name."""


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(value)
    if kind == ARRAY:
        element, items = value
        return struct.pack("<IQ", element, len(items)) + b"".join(_value(element, item) for item in items)
    return struct.pack("<" + _SCALARS[kind], value)


def serialized(content: Content, alignment: int = 32) -> bytes:
    """The file."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(content.tensors), len(content.entries))
    for key, (kind, value) in content.entries.items():
        head += _string(key) + struct.pack("<I", kind) + _value(kind, value)
    data = b""
    for name, (shape, kind, raw) in content.tensors.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += raw + bytes(-len(raw) % alignment)
    return head + bytes(-len(head) % alignment) + data


def small_model(architecture: str, kind: str, tokenizer: str) -> Content:
    """A model of 2 layers of width 64 (256 for blocks of 256 weights). `kind`: f32, or one of `FORMATS`."""
    wide = kind != "f32" and FORMATS[kind].weights == 256
    dim, hidden, heads, kv_heads, vocabulary = (256 if wide else 64), (256 if wide else 96), 4, 2, 300
    head_dim = dim // heads
    numbers = {
        "block_count": 2,
        "context_length": 64,
        "embedding_length": dim,
        "feed_forward_length": hidden,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head_dim,
        "rope.dimension_count": head_dim,
    }
    entries: dict[str, tuple[int, Any]] = {"general.architecture": (STRING, architecture)}
    entries |= {f"{architecture}.{name}": (UINT32, value) for name, value in numbers.items()}
    entries[f"{architecture}.attention.layer_norm_rms_epsilon"] = (FLOAT32, 1e-5)
    entries[f"{architecture}.rope.freq_base"] = (FLOAT32, 1e4)
    entries[f"{architecture}.rope.scaling.type"] = (STRING, "linear")
    entries[f"{architecture}.rope.scaling.factor"] = (FLOAT32, 2.0)
    entries[f"{architecture}.attention.sliding_window"] = (UINT32, 7)
    entries[f"{architecture}.attention.sliding_window_pattern"] = (ARRAY, (BOOL, [True, False]))
    tokens = ["<unk>", "<s>", "</s>", *_ALPHABET, "ab", "Ġa"]
    tokens += [f"<extra{i}>" for i in range(vocabulary - len(tokens))]
    entries |= {
        "tokenizer.ggml.model": (STRING, tokenizer),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, [2, 3, 3] + [1] * (vocabulary - 3))),
        "tokenizer.ggml.scores": (ARRAY, (FLOAT32, [-float(i) for i in range(vocabulary)])),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b", "Ġ a"])),
        "tokenizer.ggml.pre": (STRING, "llama-bpe"),
        "tokenizer.ggml.bos_token_id": (UINT32, 1),
        "tokenizer.ggml.eos_token_id": (UINT32, 2),
        "tokenizer.ggml.add_bos_token": (BOOL, True),
        "tokenizer.chat_template": (STRING, "{% for m in messages %}{{ m.content }}{% endfor %}"),
    }
    content = Content(entries)
    rng = np.random.default_rng(0)

    def add(name: str, rows: int, columns: int | None = None) -> None:
        if columns is None or kind == "f32":
            shape = [rows] if columns is None else [columns, rows]
            raw = rng.standard_normal(rows * (columns or 1)).astype(np.float32).tobytes()
            content.tensors[name] = [shape, 0, raw]
        else:
            format = FORMATS[kind]
            raw = rng.integers(0, 60, rows * columns // format.weights * format.bytes, dtype=np.uint8).tobytes()
            content.tensors[name] = [[columns, rows], format.type_id, raw]

    add("token_embd.weight", vocabulary, dim)
    add("output_norm.weight", dim)
    for layer in (f"blk.{i}." for i in range(2)):
        for name in ("attn_norm", "ffn_norm"):
            add(f"{layer}{name}.weight", dim)
        rows = {"attn_q": dim, "attn_k": kv_heads * head_dim, "attn_v": kv_heads * head_dim, "attn_output": dim}
        for name, count in rows.items():
            add(f"{layer}{name}.weight", count, dim)
            if architecture == "qwen2" and name != "attn_output":
                add(f"{layer}{name}.bias", count)
        if architecture == "qwen3":
            for name in ("attn_q_norm", "attn_k_norm"):
                add(f"{layer}{name}.weight", head_dim)
        for name, (count, columns) in {
            "ffn_gate": (hidden, dim),
            "ffn_up": (hidden, dim),
            "ffn_down": (dim, hidden),
        }.items():
            add(f"{layer}{name}.weight", count, columns)
    return content


def _change_array(value: tuple[int, list[Any]], choose: random.Random) -> tuple[int, list[Any]]:
    element, items = value[0], list(value[1])
    if items:
        at = choose.randrange(len(items))
        same = [hostile for kind, hostile in _HOSTILE if kind == element]
        how = choose.randrange(4)
        if how == 0:
            del items[at]
        elif how == 1:
            items.insert(at, items[at])
        elif how == 2 and element == STRING:
            items[at] = choose.choice(["", " ", "a b c", "Ġ Ġ", items[at] * choose.choice([2, 300]), "\0", "▁"])
        elif same:
            items[at] = choose.choice(same)
    return element, items


def _change(content: Content, choose: random.Random) -> None:
    """Makes one change to an entry or to a tensor's description."""
    if choose.random() < 0.7 and content.entries:
        key = choose.choice(list(content.entries))
        kind, value = content.entries[key]
        if kind == ARRAY and choose.random() < 0.8:
            content.entries[key] = ARRAY, _change_array(value, choose)
        elif choose.random() < 0.15:
            del content.entries[key]
        else:
            content.entries[key] = choose.choice(_HOSTILE)
    elif content.tensors:
        name = choose.choice(list(content.tensors))
        shape, kind, raw = content.tensors[name]
        how = choose.randrange(5)
        if how == 0:
            del content.tensors[name]
        elif how == 1:
            content.tensors[
                choose.choice(["rope_freqs.weight", "output.weight", "blk.7.attn_q.weight", "x", name + "x"])
            ] = content.tensors.pop(name) if choose.random() < 0.5 else [list(shape), kind, raw]
        elif how == 2:
            content.tensors[name] = [[*shape, 1][:4] if choose.random() < 0.3 else shape[::-1], kind, raw]
        elif how == 3:
            changed = [*shape]
            changed[choose.randrange(len(shape))] = choose.choice([0, 1, 32, 64, 2**20, 2**32, 2**63])
            content.tensors[name] = [changed, kind, raw]
        else:
            content.tensors[name] = [shape, choose.choice([0, 1, 2, 6, 8, 14, 30, 99]), raw]


def hostile_file(choose: random.Random) -> bytes:
    """A changed file; one of twenty is unchanged."""
    architecture = choose.choice(["llama", "qwen2", "qwen3"])
    content = small_model(architecture, choose.choice(["f32", *FORMATS]), choose.choice(["gpt2", "llama"]))
    for _ in range(choose.choice([0, 1, 1, 1, 2, 4])):
        _change(content, choose)
    data = bytearray(serialized(content))
    if choose.random() < 0.4:
        for _ in range(choose.randrange(1, 4)):
            at = choose.randrange(min(len(data), choose.choice([64, 2000, len(data)])))
            data[at] = choose.choice([0, 1, 127, 128, 255, choose.randrange(256)])
    if choose.random() < 0.1:
        del data[choose.randrange(len(data)) :]
    return bytes(data)


def read(path: Path) -> set[str]:
    """Reads all of a file: the model, whose logits of three tokens it computes, and the tokenizer.

    Returns which of `model` and `tokenizer` could be read. Refusals name the file.
    """
    done = set()
    try:
        GGUFFile(path)
        model = load_model(path, max_seq_len=16, max_context_len=16)
        last = model.params.vocab_size - 1
        tokens = torch.tensor([[0, min(1, last), last]])
        with torch.no_grad():
            assert model(tokens).shape == (1, model.params.vocab_size)
        done.add("model")
    except (GGUFError, CheckpointError) as error:
        assert str(path) in str(error), f"{error!r} does not name the file"
    try:
        tokenizer_data(str(path), None)
        done.add("tokenizer")
    except (GGUFError, CheckpointError, SettingsError, ValueError, RuntimeError) as error:
        assert type(error) in (GGUFError, CheckpointError, SettingsError), f"{error!r} is not of the documented kind"
        assert str(path) in str(error), f"{error!r} does not name the file"
    return done
