# SPDX-License-Identifier: BSD-3-Clause
"""Whisper in the form of CTranslate2: its weights under the names of transformers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

_DTYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_PARTS = {"self_attention": "self_attn", "attention": "encoder_attn"}
_NORMS = {"self_attention": "self_attn_layer_norm", "attention": "encoder_attn_layer_norm", "ffn": "final_layer_norm"}
_ENDS = {"gamma": "weight", "beta": "bias", "weight": "weight", "bias": "bias"}


def read(path: Path) -> dict[str, torch.Tensor]:
    """The variables of a `model.bin` of version 6, float ones as float32."""
    data, found, at = path.read_bytes(), {}, 0

    def take(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize(form)
        return int(value)

    def text() -> str:
        nonlocal at
        length = take("H")
        at += length
        return data[at - length : at - 1].decode()

    version, spec = take("I"), text()
    if (version, spec) != (6, "WhisperSpec"):
        raise ValueError(f"expected version 6 of WhisperSpec, found {version} of {spec}")
    take("I")
    for _ in range(take("I")):
        name, shape = text(), [take("I") for _ in range(take("B"))]
        dtype, size = _DTYPES[take("B")], take("I")
        values = np.frombuffer(data, dtype, size // np.dtype(dtype).itemsize, at).reshape(shape)
        found[name] = torch.from_numpy(values.astype(np.float32) if values.dtype.kind == "f" else values.copy())
        at += size
    return found


def weights(variables: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state of `WhisperForConditionalGeneration`."""
    found = {}
    for name, value in variables.items():
        if value.dim() > 0 and "alignment" not in name:
            found.update(_renamed(name, value))
    found["proj_out.weight"] = found["model.decoder.embed_tokens.weight"]
    return found


def _renamed(name: str, value: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    side, *rest = name.split("/")
    end = _ENDS.get(rest[-1], "weight")
    if rest[0] in ("conv1", "conv2", "layer_norm"):
        yield f"model.{side}.{rest[0]}.{end}", value
    elif rest[0] in ("position_encodings", "embeddings"):
        yield f"model.{side}.{'embed_positions' if rest[0] == 'position_encodings' else 'embed_tokens'}.weight", value
    else:
        layer = f"model.{side}.layers.{rest[0].removeprefix('layer_')}"
        part, which = rest[1], rest[2]
        if which == "layer_norm":
            yield f"{layer}.{_NORMS[part]}.{end}", value
        elif part == "ffn":
            yield f"{layer}.fc{int(which.removeprefix('linear_')) + 1}.{end}", value
        else:
            names = {
                ("self_attention", "linear_0"): ["q_proj", "k_proj", "v_proj"],
                ("attention", "linear_0"): ["q_proj"],
                ("attention", "linear_1"): ["k_proj", "v_proj"],
            }.get((part, which), ["out_proj"])
            for projection, rows in zip(names, value.chunk(len(names)), strict=True):
                if (projection, end) != ("k_proj", "bias"):  # Whisper has none; the converter writes zeros
                    yield f"{layer}.{_PARTS[part]}.{projection}.{end}", rows.contiguous()
