# SPDX-License-Identifier: BSD-3-Clause
"""Representations of a tensor on the GPU: in a buffer or a texture, and the dimension along which four elements are
packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sdk.backends.vulkan.serialization.vulkan_graph_schema import VkMemoryLayout, VkStorageType

BUFFER, TEXTURE = VkStorageType.BUFFER, VkStorageType.TEXTURE_3D
WIDTH = VkMemoryLayout.TENSOR_WIDTH_PACKED
HEIGHT = VkMemoryLayout.TENSOR_HEIGHT_PACKED
CHANNELS = VkMemoryLayout.TENSOR_CHANNELS_PACKED

Extents = tuple[int, int, int]

DEFAULT_TEXTURE_LIMITS: Extents = (16384, 16384, 2048)
"""Width, height and depth of the largest 3D texture on most phones."""

SMALL_TEXTURE_LIMITS: Extents = (2048, 2048, 2048)
"""The limits with the option `small_texture_limits`, for GPUs with smaller 3D textures."""

DEFAULT_BUFFER_LIMIT = 128 << 20
"""The number of elements of the largest buffer."""


class TensorRepr(NamedTuple):
    """Storage and layout of one tensor."""

    storage_type: VkStorageType
    memory_layout: VkMemoryLayout

    def __str__(self) -> str:
        return f"{self.storage_type.name} {self.memory_layout.name}"


Reprs = frozenset[TensorRepr]


def _reprs(storage: VkStorageType, layouts: Iterable[VkMemoryLayout]) -> Reprs:
    return frozenset(TensorRepr(storage, layout) for layout in layouts)


ANY_TEXTURE = _reprs(TEXTURE, (WIDTH, HEIGHT, CHANNELS))
ANY_BUFFER = _reprs(BUFFER, (WIDTH, HEIGHT, CHANNELS))
ANY_STORAGE = ANY_TEXTURE | ANY_BUFFER
CONTIGUOUS_BUFFER = _reprs(BUFFER, (WIDTH,))
WIDTH_TEXTURE = _reprs(TEXTURE, (WIDTH,))
HEIGHT_TEXTURE = _reprs(TEXTURE, (HEIGHT,))
CHANNELS_TEXTURE = _reprs(TEXTURE, (CHANNELS,))
CONTIGUOUS_ANY = CONTIGUOUS_BUFFER | WIDTH_TEXTURE
FLOATS_BESIDE_INT8 = CONTIGUOUS_BUFFER | CHANNELS_TEXTURE

INT8_4W4C = _reprs(BUFFER, (VkMemoryLayout.PACKED_INT8_4W4C,))
INT8_4H4W = _reprs(BUFFER, (VkMemoryLayout.PACKED_INT8_4H4W,))
INT8_4W = _reprs(BUFFER, (VkMemoryLayout.PACKED_INT8_4W,))
INT8_4C1W = _reprs(BUFFER, (VkMemoryLayout.PACKED_INT8_4C1W,))
INT8_CONV2D = _reprs(BUFFER, (VkMemoryLayout.PACKED_INT8_CONV2D,))
INT8_CHANNELS = INT8_4W4C | INT8_4C1W | INT8_CONV2D
ANY_INT8 = INT8_CHANNELS | INT8_4H4W | INT8_4W
ANY_STORAGE_OR_INT8 = ANY_STORAGE | ANY_INT8

_DIMENSION = {WIDTH: 1, HEIGHT: 2, CHANNELS: 3}  # counted from the last


def texture_extents(shape: Sequence[int], layout: VkMemoryLayout) -> Extents:
    """Returns width, height and depth in texels of a tensor with up to four dimensions. Batches are stacked along the
    depth."""
    batch, channels, height, width = (*[1] * (4 - len(shape)), *shape)
    sizes = {1: width, 2: height, 3: channels}
    packed = _DIMENSION[layout]
    sizes[packed] = -(-sizes[packed] // 4)
    return sizes[1], sizes[2], sizes[3] * batch


def valid_reprs(shape: Sequence[int], candidates: Reprs, limits: Extents) -> Reprs:
    """The `candidates` that a tensor can have: textures hold four dimensions, and no side exceeds its limit."""
    return frozenset(
        candidate
        for candidate in candidates
        if candidate.storage_type == BUFFER
        or (
            len(shape) <= 4
            and all(a <= b for a, b in zip(texture_extents(shape, candidate.memory_layout), limits, strict=True))
        )
    )
