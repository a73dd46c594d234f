# SPDX-License-Identifier: BSD-3-Clause
"""`TurboQuantKVCache`: a cache with a quarter of the bytes of one in bfloat16."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sdk.extension.llm.modules.turboquant.codebook import generate_rotation_matrix, solve_lloyd_max

_SMALLEST = 1e-10  # the least divisor, for vectors of zeros


class TurboQuantKVCache(nn.Module):
    """Keys and values as 4-bit codes of rotated directions, and their lengths in bfloat16. `update` returns the codes;
    `dequantized` converts them to float32 for attention that does not read codes.

    Args:
        n_heads: The heads of keys and values.
        head_dim: The elements of a head, an even number.
        max_seq_len: The positions of the cache.
        bits: 4, the bits of a code.
        seed: The seed of the random rotation, which must be the same for all readers of the cache.

    Raises:
        ValueError: `bits` is not 4, or `head_dim` is odd.
    """

    def __init__(self, n_heads: int, head_dim: int, max_seq_len: int, bits: int = 4, seed: int = 42) -> None:
        super().__init__()
        if bits != 4:
            raise ValueError(f"bits is {bits}; expected 4, because a byte holds two codes")
        if head_dim % 2:
            raise ValueError(f"head_dim is {head_dim}; expected an even number, because a byte holds two codes")
        self.n_heads, self.head_dim, self.half_dim = n_heads, head_dim, head_dim // 2
        centroids, boundaries = solve_lloyd_max(head_dim, bits)
        rotation = generate_rotation_matrix(head_dim, seed)
        self.register_buffer("centroids", centroids)
        self.register_buffer("boundaries", boundaries.to(torch.bfloat16))
        self.register_buffer("rotation", rotation)
        self.register_buffer("rotation_T", rotation.T.to(torch.bfloat16).contiguous())
        for name in ("k", "v"):
            shape = (1, n_heads, max_seq_len)
            self.register_buffer(f"{name}_packed", torch.zeros(*shape, self.half_dim, dtype=torch.uint8))
            self.register_buffer(f"{name}_norms", torch.zeros(*shape, 1, dtype=torch.bfloat16))

    def forward(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """`update`."""
        return self.update(input_pos, k_val, v_val)

    def update(self, input_pos: Tensor, k_val: Tensor, v_val: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Writes keys and values [1, heads, tokens, head_dim] to the positions `input_pos` [tokens]. Returns the whole
        cache: the codes and lengths of the keys, and those of the values."""
        for buffers, value in (((self.k_packed, self.k_norms), k_val), ((self.v_packed, self.v_norms), v_val)):
            for buffer, new in zip(buffers, self._compress(value), strict=True):
                buffer.index_copy_(2, input_pos, new)
        return self.k_packed, self.k_norms, self.v_packed, self.v_norms

    def dequantized(self, packed: Tensor, norms: Tensor) -> Tensor:
        """The numbers [..., head_dim] of codes [..., head_dim / 2] and lengths [..., 1], in float32."""
        codes = torch.stack((packed >> 4, packed & 15), -1).flatten(-2).long()
        return self.centroids[codes] @ self.rotation_T.float().T * norms.float()

    def _compress(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the codes, packed two per byte with the first in the high bits, and the lengths. Computes in
        bfloat16, whose rounding error is small compared with that of 4 bits."""
        rows = x.to(torch.bfloat16)
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        codes = torch.bucketize(rows / (norms + _SMALLEST) @ self.rotation_T, self.boundaries).to(torch.uint8)
        return (codes[..., ::2] << 4) | codes[..., 1::2], norms
