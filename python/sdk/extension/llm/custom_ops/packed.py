# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of 1- to 8-bit weights in the layout of the kernels, which `kernels/llm/cpu/lowbit/packed.h` describes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

_MAGIC = 0x3157424C
_HEADER = struct.Struct("<IBBHIIII40x")
_MINIMA, _ROW_ACTIVATIONS, _WIDE_SCALES, _BLOCK_FACTORS, _SIGNED_BYTES = 1, 2, 4, 8, 16
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
    """float16 or float32 [rows, groups]; int8 where there are factors."""
    minimum: Tensor | None
    """Like `scale`; None if all weights have the same zero point."""
    zero_point: int
    """0 if there are minima."""
    bits: int
    group: int
    """Weights of a row that share a scale; the last group of a row may have fewer."""
    row_activations: bool
    """True if int8 activations have a scale and a zero point for each row (torchao); else a scale for each group
    (ggml)."""
    factors: Tensor | None = None
    """float16 [rows, blocks, 1, or 2 with minima]: factors for `scale` and `minimum`, for each block of groups (ggml's
    K types); a row has blocks of equal size. None: `scale` and `minimum` are final."""

    def parameters(self) -> list[Tensor]:
        """Scales and, if there are any, minima, with their factors applied: float32 [rows, groups]."""
        stored = [p.float() for p in (self.scale, self.minimum) if p is not None]
        if self.factors is None:
            return stored
        groups = self.scale.shape[1] // self.factors.shape[1]
        return [p * self.factors[..., i].float().repeat_interleave(groups, dim=1) for i, p in enumerate(stored)]

    def dequantize(self) -> Tensor:
        """float32 [rows, columns]."""
        scale, *minimum = (_columns(p, self.group, self.q.shape[1]) for p in self.parameters())
        return self.q.float() * scale - minimum[0] if minimum else (self.q.float() - self.zero_point) * scale


def _columns(parameters: Tensor, group: int, columns: int) -> Tensor:
    """Expands the parameters of groups to columns."""
    return parameters.repeat_interleave(group, dim=1)[:, :columns]


def unit_of(bits: int) -> int:
    """The number of columns that are packed together; a group must be a multiple of it."""
    return 4 if bits == 8 else 32 if bits % 2 else 16 if bits % 4 else 8


def _planes(bits: int) -> list[tuple[int, int]]:
    """(bits, position of the lowest bit within a weight) of each plane."""
    if bits == 8:
        return [(8, 0)]
    planes, above = [], 0
    for plane in (4, 2, 1):
        if bits & plane:
            planes.append((plane, above))
            above += plane
    return planes


def _fitting(matrix: LowBitMatrix) -> LowBitMatrix:
    """Regroups the weights into groups of a size that the packed form supports. Returns them with the number of bits
    that these groups need."""
    bits, group, columns = matrix.bits, matrix.group, matrix.q.shape[1]
    scale, minimum = matrix.scale, matrix.minimum
    if group > MAX_GROUP and matrix.factors is None:
        # Smaller groups repeat the scale: of MAX_GROUP weights if a row has one scale, else of the largest divisor.
        single = scale.shape[1] == 1
        part = MAX_GROUP if single else max(size for size in range(1, MAX_GROUP + 1) if group % size == 0)
        count = -(-columns // part) if single else group // part
        needed = -(-columns // part)
        scale, minimum = (
            None if p is None else p.repeat_interleave(count, dim=1)[:, :needed] for p in (scale, minimum)
        )
        group = part
    if scale.shape[1] == 1:  # one scale for the whole row: columns of zeros may follow
        group = -(-group // unit_of(bits)) * unit_of(bits)
    while group % unit_of(bits) and bits < 8:
        bits += 1
    if group % unit_of(bits):
        raise ValueError(f"groups of {matrix.group} weights cannot be packed; expected a multiple of 4")
    return replace(matrix, scale=scale, minimum=minimum, bits=bits, group=group)


def pack(matrix: LowBitMatrix) -> Tensor:
    """The packed form, uint8 [bytes]. Integers, scales and minima keep their exact values.

    Weights of 8 bits are stored as int8, 128 less: Arm's dot products take them as they are, and a processor that needs
    unsigned bytes inverts a bit of each as it loads them. With factors, scales and minima are stored as int8, and the
    factors for each block; otherwise in float16 if that holds them exactly. Raises ValueError for several groups a row
    whose size is not a multiple of 4, for a wrong number of scales, for blocks that do not fill a row, and for factors
    of groups of more than MAX_GROUP weights.
    """
    m = _fitting(matrix)
    (rows, columns), groups = m.q.shape, m.scale.shape[1]
    if groups != -(-columns // m.group):
        raise ValueError(f"{columns} columns in groups of {m.group} need {-(-columns // m.group)} scales, not {groups}")
    parameters = [m.scale] if m.minimum is None else [m.scale, m.minimum]
    blocks = 1 if m.factors is None else m.factors.shape[1]
    if blocks < 1 or groups % blocks:
        raise ValueError(f"{groups} groups of a row cannot be {blocks} blocks of as many groups each")
    if m.group > MAX_GROUP:
        raise ValueError(f"groups of {m.group} weights with factors cannot be packed; expected at most {MAX_GROUP}")
    wide = m.factors is None and any(not torch.equal(p.half().float(), p.float()) for p in parameters)
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
    weights = torch.cat(planes, dim=-1).reshape(tiles, groups, -1) ^ (0x80 if m.bits == 8 else 0)
    dtype = torch.int8 if m.factors is not None else torch.float32 if wide else torch.float16
    content = torch.cat([*(_in_tiles(p.to(dtype)) for p in parameters), weights], dim=-1)
    if m.factors is not None:
        factors = [_in_tiles(factor) for factor in m.factors.unbind(-1)]
        content = torch.cat([*factors, content.reshape(tiles, blocks, -1)], dim=-1)
    content = content.reshape(tiles, -1)
    if m.row_activations:
        sums = F.pad(m.dequantize().double().sum(1).float(), (0, tiles * _TILE - rows))
        content = torch.cat([sums.view(tiles, _TILE).contiguous().view(torch.uint8), content], dim=1)
    flags = (_MINIMA if len(parameters) > 1 else 0) | (_ROW_ACTIVATIONS if m.row_activations else 0)
    flags |= (_WIDE_SCALES if wide else 0) | (_BLOCK_FACTORS if m.factors is not None else 0)
    flags |= _SIGNED_BYTES if m.bits == 8 else 0
    block_groups = 0 if m.factors is None else groups // blocks
    header = _HEADER.pack(_MAGIC, m.bits, flags, m.zero_point, m.group, rows, columns, block_groups)
    return torch.cat([torch.frombuffer(bytearray(header), dtype=torch.uint8), content.flatten()])


def _in_tiles(parameter: Tensor) -> Tensor:
    """[rows, n] as the bytes of 16 rows at a time: uint8 [tiles, n, bytes]."""
    rows, count = parameter.shape
    padded = F.pad(parameter, (0, 0, 0, -rows % _TILE))
    return padded.view(-1, _TILE, count).transpose(1, 2).contiguous().view(torch.uint8)


def _from_tiles(content: Tensor, dtype: torch.dtype, rows: int) -> tuple[Tensor, Tensor]:
    """The parameter at the start of uint8 [tiles, n, bytes], as [rows, n], and the bytes after it."""
    tiles, count, _ = content.shape
    width = _TILE * dtype.itemsize
    head = content[..., :width].contiguous().view(dtype)
    return head.transpose(1, 2).reshape(tiles * _TILE, count)[:rows], content[..., width:]


def unpack(packed: Tensor) -> LowBitMatrix:
    """The matrix that `pack` packed. Raises ValueError unless the bytes begin with a header of `pack`; the rest is not
    checked."""
    size = packed.numel()
    header = bytes(packed[: _HEADER.size].tolist())
    fields = _HEADER.unpack(header) if len(header) == _HEADER.size else (0,) * 8
    magic, bits, flags, zero_point, group, rows, columns, block_groups = fields
    if magic != _MAGIC:
        raise ValueError(f"these {size} bytes are not packed weights of this SDK")
    tiles, groups, unit = -(-rows // _TILE), -(-columns // group), unit_of(bits)
    content = packed[_HEADER.size :].view(tiles, -1)
    if flags & _ROW_ACTIVATIONS:
        content = content[:, _TILE * 4 :]
    dtype = torch.float32 if flags & _WIDE_SCALES else torch.float16
    parameters: list[Tensor] = []
    factors: list[Tensor] = []
    count = 2 if flags & _MINIMA else 1
    if flags & _BLOCK_FACTORS:
        dtype, content = torch.int8, content.reshape(tiles, groups // block_groups, -1)
        while len(factors) < count:
            factor, content = _from_tiles(content, torch.float16, rows)
            factors.append(factor)
    content = content.reshape(tiles, groups, -1)
    while len(parameters) < count:
        parameter, content = _from_tiles(content, dtype, rows)
        parameters.append(parameter)
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
    q ^= 0x80 if flags & _SIGNED_BYTES else 0
    q = q.view(tiles, groups, group // unit, unit // 4, _TILE, 4).permute(0, 4, 1, 2, 3, 5)
    q = q.reshape(tiles * _TILE, groups * group)[:rows, :columns]
    minimum = parameters[1] if flags & _MINIMA else None
    return LowBitMatrix(
        q,
        parameters[0],
        minimum,
        zero_point,
        bits,
        group,
        bool(flags & _ROW_ACTIVATIONS),
        torch.stack(factors, dim=-1) if factors else None,
    )
