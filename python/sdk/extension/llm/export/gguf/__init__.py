# SPDX-License-Identifier: BSD-3-Clause
"""Weights of GGUF files, which stay quantised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from sdk.extension.llm.export.gguf._blocks import FORMATS, QK_K
from sdk.extension.llm.export.gguf._file import GGUFError, GGUFTensor
from sdk.extension.llm.export.gguf._parts import GGUFFile
from sdk.extension.llm.export.gguf._tensor import ExportableGGUFTensor, _max_uniform_group_size, dequantize_gguf

__all__ = [
    "GGML_F16",
    "GGML_F32",
    "GGML_Q4_K",
    "GGML_Q5_K",
    "GGML_Q6_K",
    "Q4_K_GROUP_SIZE",
    "Q5_K_GROUP_SIZE",
    "Q6_K_GROUP_SIZE",
    "QK_K",
    "_Q4_K_BLOCK_BYTES",
    "_Q5_K_BLOCK_BYTES",
    "_Q6_K_BLOCK_BYTES",
    "ExportableGGUFTensor",
    "GGUFError",
    "GGUFFile",
    "GGUFTensor",
    "_max_uniform_group_size",
    "dequantize_gguf",
    "iter_gguf",
]

Q4_K_GROUP_SIZE, Q5_K_GROUP_SIZE, Q6_K_GROUP_SIZE = (FORMATS[name].group for name in ("q4_k", "q5_k", "q6_k"))
"""Weights that share a scale."""
_Q4_K_BLOCK_BYTES, _Q5_K_BLOCK_BYTES, _Q6_K_BLOCK_BYTES = (FORMATS[name].bytes for name in ("q4_k", "q5_k", "q6_k"))
GGML_Q4_K, GGML_Q5_K, GGML_Q6_K = (FORMATS[name].type_id for name in ("q4_k", "q5_k", "q6_k"))
GGML_F32, GGML_F16 = 0, 1
"""Numbers of types in GGUF files, like `GGML_Q4_K` and the others above."""


def iter_gguf(path: str | Path) -> Iterator[tuple[str, ExportableGGUFTensor | Tensor]]:
    """Name and value of each tensor of a GGUF file, in its order, and of the parts that belong to it.

    Floats (F32, F16, BF16) are plain tensors in their shape. Quantised tensors (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to
    Q6_K, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4) are `ExportableGGUFTensor`. Both share the memory of the mapped file,
    which is read when they are used.
    Raises `GGUFError` for a file that is not valid, OSError for one that cannot be opened.
    """
    file = GGUFFile(path)
    for name, tensor in file.tensors.items():
        if isinstance(tensor.type, torch.dtype):
            yield name, file[name]
        else:
            yield name, ExportableGGUFTensor(file[name], tensor.type.name, torch.bfloat16)
