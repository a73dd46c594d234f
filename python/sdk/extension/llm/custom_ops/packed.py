# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of 1- to 8-bit weights in the layout of the kernels, which `kernels/llm/cpu/lowbit/packed.h` describes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

_MAGIC = 0x3157424C
_HEADER = struct.Struct("<IBBHIII44x")
_MINIMA, _ROW_ACTIVATIONS, _WIDE_SCALES = 1, 2, 4
_TILE = 16
_BLOCK = 64
MAX_GROUP = 256
"""The most weights that share a scale in the packed form; longer groups are divided."""


@dataclass(frozen=True)
class LowBitMatrix:
    """Weights [rows, columns] of few bits. A weight is `scale * (q - zero_point)`, or `scale * q - minimum`."""

    q: Tensor
    """uint8 [rows, columns], from 0 to 2^bits - 1."""
    scale: Tensor
    """float16 or float32 [rows, groups]."""
    minimum: Tensor | None
    """As `scale`; None where all weights have one zero point."""
    zero_point: int
    """0 where there are minima."""
    bits: int
    group: int
    """Weights of a row that share a scale; the last group of a row may have fewer."""
    row_activations: bool
    """int8 activations have a scale and a zero point a row (torchao), else a scale a group (ggml)."""

    def dequantize(self) -> Tensor:
        """float32 [rows, columns]."""
        scale = _columns(self.scale.float(), self.group, self.q.shape[1])
        if self.minimum is None:
            return (self.q.float() - self.zero_point) * scale
        return self.q.float() * scale - _columns(self.minimum.float(), self.group, self.q.shape[1])


def _columns(parameters: Tensor, group: int, columns: int) -> Tensor:
    """Of each column, from those of each group."""
    return parameters.repeat_interleave(group, dim=1)[:, :columns]


def unit_of(bits: int) -> int:
    """Columns that are packed together: a group must be a multiple."""
    return 4 if bits == 8 else 32 if bits % 2 else 16 if bits % 4 else 8


def _planes(bits: int) -> list[tuple[int, int]]:
    """Bits of each plane and the place of its lowest bit in a weight."""
    if bits == 8:
        return [(8, 0)]
    planes, above = [], 0
    for plane in (4, 2, 1):
        if bits & plane:
            planes.append((plane, above))
            above += plane
    return planes


def _fitting(matrix: LowBitMatrix) -> LowBitMatrix:
    """The same weights in groups that the packed form has, and with as many bits as these groups need."""
    bits, group, columns = matrix.bits, matrix.group, matrix.q.shape[1]
    scale, minimum = matrix.scale, matrix.minimum
    if group > MAX_GROUP:
        # Equal parts of a group, or one that divides it, with the same scale each.
        single = scale.shape[1] == 1
        part = MAX_GROUP if single else max(size for size in range(1, MAX_GROUP + 1) if group % size == 0)
        count = -(-columns // part) if single else group // part
        needed = -(-columns // part)
        scale, minimum = (
            None if p is None else p.repeat_interleave(count, dim=1)[:, :needed] for p in (scale, minimum)
        )
        group = part
    if scale.shape[1] == 1:  # of the whole row: columns of zeros may follow
        group = -(-group // unit_of(bits)) * unit_of(bits)
    while group % unit_of(bits) and bits < 8:
        bits += 1
    if group % unit_of(bits):
        raise ValueError(f"groups of {matrix.group} weights cannot be packed; expected a multiple of 4")
    return LowBitMatrix(matrix.q, scale, minimum, matrix.zero_point, bits, group, matrix.row_activations)


def pack(matrix: LowBitMatrix) -> Tensor:
    """uint8 [bytes]. Integers, scales and minima are taken over bit for bit.

    Scales and minima are stored in float16 where that holds them exactly. Raises ValueError for groups that are no
    multiple of 4.
    """
    m = _fitting(matrix)
    (rows, columns), groups = m.q.shape, m.scale.shape[1]
    if groups != -(-columns // m.group):
        raise ValueError(f"{columns} columns in groups of {m.group} need {-(-columns // m.group)} scales, not {groups}")
    parameters = [m.scale] if m.minimum is None else [m.scale, m.minimum]
    wide = any(not torch.equal(p.half().float(), p.float()) for p in parameters)
    tiles = -(-rows // _TILE)
    q = F.pad(m.q, (0, groups * m.group - columns, 0, tiles * _TILE - rows))
    # [tiles, groups, units of a group, four columns, 16 rows x 4]
    unit = unit_of(m.bits)
    q = q.view(tiles, _TILE, groups, m.group // unit, unit // 4, 4).permute(0, 2, 3, 4, 1, 5)
    q = q.reshape(tiles, groups, m.group // unit, unit // 4, _BLOCK)
    planes = []
    for plane, above in _planes(m.bits):
        parts = 8 // plane
        shifted = ((q >> above) & ((1 << plane) - 1)).view(*q.shape[:3], -1, parts, _BLOCK)
        packed = shifted[..., 0, :].clone()
        for part in range(1, parts):
            packed |= shifted[..., part, :] << (part * plane)
        planes.append(packed.reshape(*q.shape[:3], -1))
    weights = torch.cat(planes, dim=-1).reshape(tiles, groups, -1)
    dtype = torch.float32 if wide else torch.float16
    heads = [
        F.pad(p.to(dtype), (0, 0, 0, tiles * _TILE - rows)).view(tiles, _TILE, groups).transpose(1, 2).contiguous()
        for p in parameters
    ]
    content = torch.cat([*(head.view(torch.uint8) for head in heads), weights], dim=-1).reshape(tiles, -1)
    if m.row_activations:
        sums = F.pad(m.dequantize().double().sum(1).float(), (0, tiles * _TILE - rows))
        content = torch.cat([sums.view(tiles, _TILE).contiguous().view(torch.uint8), content], dim=1)
    flags = (_MINIMA if len(parameters) > 1 else 0) | (_ROW_ACTIVATIONS if m.row_activations else 0)
    flags |= _WIDE_SCALES if wide else 0
    header = _HEADER.pack(_MAGIC, m.bits, flags, m.zero_point, m.group, rows, columns)
    return torch.cat([torch.frombuffer(bytearray(header), dtype=torch.uint8), content.flatten()])


def unpack(packed: Tensor) -> LowBitMatrix:
    """The matrix of `pack`'s result. Raises ValueError for what is none."""
    size = packed.numel()
    header = bytes(packed[: _HEADER.size].tolist())
    fields = _HEADER.unpack(header) if len(header) == _HEADER.size else (0,) * 7
    magic, bits, flags, zero_point, group, rows, columns = fields
    if magic != _MAGIC:
        raise ValueError(f"these {size} bytes are no packed weights of this SDK")
    tiles, groups, unit = -(-rows // _TILE), -(-columns // group), unit_of(bits)
    content = packed[_HEADER.size :].view(tiles, -1)
    if flags & _ROW_ACTIVATIONS:
        content = content[:, _TILE * 4 :]
    content = content.reshape(tiles, groups, -1)
    dtype = torch.float32 if flags & _WIDE_SCALES else torch.float16
    width = _TILE * dtype.itemsize
    parameters = []
    for _ in range(2 if flags & _MINIMA else 1):
        head = content[..., :width].contiguous().view(dtype)
        parameters.append(head.transpose(1, 2).reshape(tiles * _TILE, groups)[:rows])
        content = content[..., width:]
    content = content.reshape(tiles, groups, group // unit, -1)
    q = torch.zeros((tiles, groups, group // unit, unit // 4, _BLOCK), dtype=torch.uint8)
    for plane, above in _planes(bits):
        parts = 8 // plane
        length = unit // 4 // parts * _BLOCK
        stored = content[..., :length].reshape(*content.shape[:3], -1, 1, _BLOCK)
        shifts = torch.arange(0, 8, plane, dtype=torch.uint8).view(parts, 1)
        values = (stored >> shifts) & ((1 << plane) - 1)
        q |= values.reshape(q.shape) << above
        content = content[..., length:]
    q = q.view(tiles, groups, group // unit, unit // 4, _TILE, 4).permute(0, 4, 1, 2, 3, 5)
    q = q.reshape(tiles * _TILE, groups * group)[:rows, :columns]
    minimum = parameters[1] if flags & _MINIMA else None
    return LowBitMatrix(q, parameters[0], minimum, zero_point, bits, group, bool(flags & _ROW_ACTIVATIONS))
