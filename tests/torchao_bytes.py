# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of torchao's `_pack_8bit_act_4bit_weight` and `_pack_8bit_act_8bit_weight` in the layout "universal", which
`kernels/llm/cpu/torchao_weights.h` describes. torchao's packages for x86 do not have these operators."""

from __future__ import annotations

import struct

import torch
from torch import Tensor


def torchao_bytes(q: Tensor, scales: Tensor, bits: int) -> Tensor:
    """uint8 from int8 weights [rows, columns] and float32 scales [rows, groups]."""
    (rows, columns), groups = q.shape, scales.shape[1]
    group, content = columns // groups, bytearray(struct.pack("<16i", 6712, 1, bits, 0, 0, 8, 16, 2, *[0] * 8))
    for first in range(0, rows, 8):
        for g in range(groups):
            part = torch.zeros(8, group, dtype=torch.int8)
            chosen = slice(first, min(first + 8, rows))
            part[: chosen.stop - first] = q[chosen, g * group : (g + 1) * group]
            for block in part.split(16, dim=1):
                flat = torch.cat([half.flatten() for half in block.split(8, dim=1)]).tolist()
                for at in range(0, 128, 32):
                    if bits == 8:
                        content += struct.pack("<32b", *flat[at : at + 32])
                    else:
                        content += bytes(flat[i] + 8 | (flat[i + 16] + 8) << 4 for i in range(at, at + 16))
            padded = torch.zeros(8)
            padded[: chosen.stop - first] = scales[chosen, g]
            content += struct.pack("<8f", *padded.tolist()) + struct.pack("<8i", *part.sum(1).tolist())
    return torch.frombuffer(content, dtype=torch.uint8)
