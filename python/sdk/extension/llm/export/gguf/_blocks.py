# SPDX-License-Identifier: BSD-3-Clause
"""The block formats of GGUF: decodes the bytes of a quantised row to weights.

A row is a sequence of blocks of the same size. All formats here are affine in groups: a weight is
`scale * q - minimum`, with one scale and one minimum for each group of 16 to 256 weights. Where a format has a table of
values for its integers (IQ4_NL, IQ4_XS, MXFP4), q is the value. The layouts are those of ggml's `ggml-common.h`
(`block_q4_0`, ..., `block_mxfp4`); tests compare with the Python package `gguf` bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

QK_K = 256
"""Weights of a block of the formats whose name ends in K."""


@dataclass(frozen=True)
class Products:
    """Scales and minima as products of a factor for the block and a factor for the group; float32 holds the product."""

    factors: Tensor
    """float16 [blocks, 1], or [blocks, 2] with minima."""
    codes: tuple[Tensor, ...]
    """int8 [blocks, groups of a block] of the scales and, where there are any, of the minima."""


@dataclass(frozen=True)
class Groups:
    """The integers, scales and minima of some blocks. The weights are `scale * q - minimum`, computed in float32."""

    q: Tensor
    """int8 [blocks, weights of a block]: integers as the format defines them, offset included (Q4_0: -8 to 7)."""
    scale: Tensor
    """float32 [blocks, groups of a block]."""
    minimum: Tensor | None
    """The minima, float32 [blocks, groups of a block]; None if the format has none."""
    products: Products | None = None
    """The form in which the K types store scale and minimum."""


@dataclass(frozen=True)
class BlockFormat:
    """A quantised type of ggml."""

    name: str
    """ggml's name in lower case."""
    type_id: int
    """ggml's `ggml_type`."""
    weights: int
    """Weights of a block."""
    bytes: int
    """Bytes of a block."""
    group: int
    """Weights that share a scale."""
    bits: int
    """Bits of an integer weight or, if the format has a table, of a value of the table."""
    decode: Callable[[Tensor], Groups]
    """Decodes uint8 [blocks, bytes]."""
    zero: int | None = None
    """Offset that makes integers without minima start at 0; None for half of the range of `bits`."""

    @property
    def zero_point(self) -> int:
        """The number to add to the integers of groups without minima, so that they are not negative."""
        return 1 << (self.bits - 1) if self.zero is None else self.zero


def _half(block: Tensor, offset: int) -> Tensor:
    """The float16 at a byte offset of each block, as float32 [blocks, 1]."""
    return block[:, offset : offset + 2].contiguous().view(torch.float16).float()


def _nibbles(packed: Tensor) -> Tensor:
    """Unpacks [..., n] bytes to [..., 2 n] integers: the low halves of all bytes, then the high ones."""
    return torch.cat([packed & 15, packed >> 4], dim=-1)


def _bits(packed: Tensor, bits: int) -> Tensor:
    """Unpacks [blocks, n] bytes to [blocks, 8 / bits, n] integers: part i has bits `i * bits` and up of each byte."""
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8)[:, None]
    return (packed[:, None] >> shifts) & ((1 << bits) - 1)


def _fifth_bits(block: Tensor, offset: int) -> Tensor:
    """[blocks, 32] integers 0 or 16: bit i of the little-endian word at `offset` belongs to weight i."""
    return _bits(block[:, offset : offset + 4], 1).transpose(1, 2).reshape(-1, 32) << 4


def _signed(q: Tensor, zero: int) -> Tensor:
    return (q.to(torch.int16) - zero).to(torch.int8)


def _q4_0(block: Tensor) -> Groups:
    return Groups(_signed(_nibbles(block[:, 2:]), 8), _half(block, 0), None)


def _q4_1(block: Tensor) -> Groups:
    return Groups(_signed(_nibbles(block[:, 4:]), 0), _half(block, 0), -_half(block, 2))


def _q5_0(block: Tensor) -> Groups:
    return Groups(_signed(_nibbles(block[:, 6:]) | _fifth_bits(block, 2), 16), _half(block, 0), None)


def _q5_1(block: Tensor) -> Groups:
    q = _nibbles(block[:, 8:]) | _fifth_bits(block, 4)
    return Groups(_signed(q, 0), _half(block, 0), -_half(block, 2))


def _q8_0(block: Tensor) -> Groups:
    return Groups(block[:, 2:].contiguous().view(torch.int8), _half(block, 0), None)


def _six_bit_pairs(packed: Tensor) -> tuple[Tensor, Tensor]:
    """The 8 scales and 8 minima of six bits that 12 bytes hold, int8 [blocks, 8] each.

    Bytes 0 to 3 and 4 to 7 hold the first four of each in their low six bits. Their two high bits are the high bits of
    the last four, whose low four bits are the halves of bytes 8 to 11.
    """
    first, second, low = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = torch.cat([first & 63, (low & 15) | (first >> 6 << 4)], dim=1)
    minima = torch.cat([second & 63, (low >> 4) | (second >> 6 << 4)], dim=1)
    return scales.view(torch.int8), minima.view(torch.int8)


def _paired_nibbles(packed: Tensor) -> Tensor:
    """Unpacks [blocks, 128] bytes to [blocks, 256]: the low halves of each 32 bytes, then their high halves."""
    return _nibbles(packed.reshape(-1, 4, 32)).reshape(-1, QK_K)


def _of_products(q: Tensor, factors: Tensor, *codes: Tensor) -> Groups:
    """`factors`: their bytes, uint8 [blocks, 2], or [blocks, 4] with minima."""
    products = Products(factors.contiguous().view(torch.float16), codes)
    scale, *minimum = (_half(factors, 2 * i) * code.float() for i, code in enumerate(codes))
    return Groups(q, scale, minimum[0] if minimum else None, products)


def _q4_k(block: Tensor) -> Groups:
    q = _signed(_paired_nibbles(block[:, 16:]), 0)
    return _of_products(q, block[:, :4], *_six_bit_pairs(block[:, 4:16]))


def _q5_k(block: Tensor) -> Groups:
    q = _paired_nibbles(block[:, 48:]) | _bits(block[:, 16:48], 1).reshape(-1, QK_K) << 4
    return _of_products(_signed(q, 0), block[:, :4], *_six_bit_pairs(block[:, 4:16]))


def _q6_k(block: Tensor) -> Groups:
    low = _nibbles(block[:, :128].reshape(-1, 2, 64)).reshape(-1, QK_K)
    high = _bits(block[:, 128:192].reshape(-1, 32), 2).reshape(-1, QK_K)
    scales = block[:, 192:208].contiguous().view(torch.int8)
    return _of_products(_signed(low | high << 4, 32), block[:, 208:], scales)


def _q2_k(block: Tensor) -> Groups:
    q = _signed(_bits(block[:, 16:80].reshape(-1, 32), 2).reshape(-1, QK_K), 0)
    scales = block[:, :16]
    return _of_products(q, block[:, 80:], (scales & 15).view(torch.int8), (scales >> 4).view(torch.int8))


def _q3_k(block: Tensor) -> Groups:
    """The third bit of weight 32 i + j is bit i of byte j. The upper two bits of the scales are in the last four
    bytes."""
    high = _bits(block[:, :32], 1).reshape(-1, QK_K) << 2
    low = _bits(block[:, 32:96].reshape(-1, 32), 2).reshape(-1, QK_K)
    scales = _nibbles(block[:, 96:104]) | _bits(block[:, 104:108], 2).reshape(-1, 16) << 4
    return _of_products(_signed(low | high, 4), block[:, 108:], _signed(scales, 32))


def _ternary(digits: Tensor, block: Tensor) -> Groups:
    return Groups(_signed(digits, 1), _half(block, block.shape[1] - 2), None)


def _tq1_0(block: Tensor) -> Groups:
    """A byte holds five digits to the base of 3, as a fraction; each of the last four bytes holds four digits."""
    parts = []
    for start, end, count in ((0, 32, 5), (32, 48, 5), (48, 52, 4)):
        powers = torch.tensor([3**i for i in range(count)], dtype=torch.int32)[:, None]
        # Bytes wrap around, so the digits above this one drop out.
        digits = ((block[:, None, start:end].int() * powers) & 255) * 3 >> 8
        parts.append(digits.flatten(1))
    return _ternary(torch.cat(parts, dim=1), block)


def _tq2_0(block: Tensor) -> Groups:
    return _ternary(_bits(block[:, :64].reshape(-1, 32), 2).reshape(-1, QK_K), block)


_IQ4_VALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
_FP4_VALUES = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""The values of E2M1, doubled."""


def _values(nibbles: Tensor, table: tuple[int, ...]) -> Tensor:
    return torch.tensor(table, dtype=torch.int8)[nibbles.int()]


def _iq4_nl(block: Tensor) -> Groups:
    return Groups(_values(_nibbles(block[:, 2:]), _IQ4_VALUES), _half(block, 0), None)


def _iq4_xs(block: Tensor) -> Groups:
    """A scale has four bits of one half of a byte and two bits of a little-endian word before."""
    q = _values(_nibbles(block[:, 8:].reshape(-1, 8, 16)).reshape(-1, QK_K), _IQ4_VALUES)
    low = torch.stack([block[:, 4:8] & 15, block[:, 4:8] >> 4], dim=-1).flatten(1)
    high = _bits(block[:, 2:4], 2).transpose(1, 2).reshape(-1, 8)
    return _of_products(q, block[:, :2], _signed(low | high << 4, 32))


def _mxfp4(block: Tensor) -> Groups:
    """A scale is a power of two, E8M0, halved: the smallest two are subnormal in float32."""
    exponent = block[:, :1].int()
    bits = torch.where(exponent < 2, 0x00200000 << exponent.clamp(max=1), (exponent - 1) << 23)
    return Groups(_values(_nibbles(block[:, 1:]), _FP4_VALUES), bits.view(torch.float32), None)


FORMATS = {
    format.name: format
    for format in (
        BlockFormat("q4_0", 2, 32, 18, 32, 4, _q4_0),
        BlockFormat("q4_1", 3, 32, 20, 32, 4, _q4_1),
        BlockFormat("q5_0", 6, 32, 22, 32, 5, _q5_0),
        BlockFormat("q5_1", 7, 32, 24, 32, 5, _q5_1),
        BlockFormat("q8_0", 8, 32, 34, 32, 8, _q8_0),
        BlockFormat("q2_k", 10, QK_K, 84, 16, 2, _q2_k),
        BlockFormat("q3_k", 11, QK_K, 110, 16, 3, _q3_k),
        BlockFormat("q4_k", 12, QK_K, 144, 32, 4, _q4_k),
        BlockFormat("q5_k", 13, QK_K, 176, 32, 5, _q5_k),
        BlockFormat("q6_k", 14, QK_K, 210, 16, 6, _q6_k),
        BlockFormat("iq4_nl", 20, 32, 18, 32, 8, _iq4_nl),
        BlockFormat("iq4_xs", 23, QK_K, 136, 32, 8, _iq4_xs),
        BlockFormat("tq1_0", 34, QK_K, 54, QK_K, 2, _tq1_0, zero=1),
        BlockFormat("tq2_0", 35, QK_K, 66, QK_K, 2, _tq2_0, zero=1),
        BlockFormat("mxfp4", 39, 32, 17, 32, 5, _mxfp4),
    )
}
"""The formats of quantised blocks, by name."""


def groups_of(raw: Tensor, format: BlockFormat) -> Groups:
    """Decodes a matrix. `raw`: uint8 [rows, bytes of a row]. q, scale and minimum have one row for each row; the
    factors of products are [rows, blocks of a row, 1 or 2]."""
    decoded = format.decode(raw.reshape(-1, format.bytes))
    rows, products = len(raw), decoded.products
    minimum = None if decoded.minimum is None else decoded.minimum.reshape(rows, -1)
    if products is not None:
        factors = products.factors.reshape(rows, -1, products.factors.shape[1])
        products = Products(factors, tuple(code.reshape(rows, -1) for code in products.codes))
    return Groups(decoded.q.reshape(rows, -1), decoded.scale.reshape(rows, -1), minimum, products)


def dequantize(raw: Tensor, format: BlockFormat) -> Tensor:
    """The weights of a matrix in float32 [rows, weights of a row]. `raw`: uint8 [rows, bytes of a row]."""
    groups = groups_of(raw, format)
    weights = groups.q.reshape(*groups.scale.shape, format.group) * groups.scale[..., None]
    if groups.minimum is not None:
        weights = weights - groups.minimum[..., None]
    return weights.reshape(groups.q.shape)
