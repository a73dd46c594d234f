# SPDX-License-Identifier: BSD-3-Clause
"""Payloads: a header, the graph as a flatbuffer, and bytes of constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from struct import Struct
from typing import ClassVar, Final, TypeAlias

import torch

from sdk.backends.vulkan.serialization.vulkan_graph_schema import GRAPH, NAMED, VkBytes, VkGraph
from sdk.exir._serialize._flatbuffer import read_root, write_root
from sdk.exir._serialize._named_data_store import tensor_bytes

IDENTIFIER: Final = b"VK00"
_ALIGNMENT = 16

Constant: TypeAlias = torch.Tensor | tuple[str, int] | None
"""A constant in the payload, the key and size of one in the program's named data, or an empty one."""


@dataclass
class VulkanDelegateHeader:
    """The locations of a payload's parts. Offsets count from its start."""

    MAGIC_IX: ClassVar[slice] = slice(4, 8)
    HEADER_SIZE_IX: ClassVar[slice] = slice(8, 10)
    FLATBUFFER_OFFSET_IX: ClassVar[slice] = slice(10, 14)
    FLATBUFFER_SIZE_IX: ClassVar[slice] = slice(14, 18)
    BYTES_OFFSET_IX: ClassVar[slice] = slice(18, 22)
    BYTES_SIZE_IX: ClassVar[slice] = slice(22, 30)
    EXPECTED_MAGIC: ClassVar[bytes] = b"VH00"
    # Zeros, the magic, the header's length, and the fields in order.
    _FORM: ClassVar[Struct] = Struct("<4x4sHIIIQ")
    EXPECTED_LENGTH: ClassVar[int] = _FORM.size

    flatbuffer_offset: int
    flatbuffer_size: int
    bytes_offset: int
    bytes_size: int

    @staticmethod
    def from_bytes(data: bytes) -> VulkanDelegateHeader:
        """The header that `data` is. Raises ValueError if it is none."""
        form, magic = VulkanDelegateHeader._FORM, VulkanDelegateHeader.EXPECTED_MAGIC
        if len(data) != form.size:
            raise ValueError(f"Expected header to be {form.size} bytes, but got {len(data)} bytes.")
        found, length, *fields = form.unpack(data)
        if found != magic:
            raise ValueError(f"Expected magic bytes to be {magic!r}, but got {found!r}. The payload is not for Vulkan.")
        if length != form.size:
            raise ValueError(f"Expected header to be {form.size} bytes, but got {length} bytes.")
        return VulkanDelegateHeader(*fields)

    def is_valid(self) -> bool:
        """Checks that the graph follows the header, and the bytes follow the graph."""
        return (
            self.flatbuffer_offset >= self.EXPECTED_LENGTH
            and self.flatbuffer_size > 0
            and self.bytes_offset >= self.flatbuffer_offset + self.flatbuffer_size
            and self.bytes_size >= 0
        )

    def to_bytes(self) -> bytes:
        if not self.is_valid():
            raise ValueError(f"the parts of a payload overlap: {self}")
        return self._FORM.pack(self.EXPECTED_MAGIC, self.EXPECTED_LENGTH, *astuple(self))


def serialize_vulkan_graph(
    graph: VkGraph, constants: Sequence[Constant] = (), custom_shaders: Sequence[str] = ()
) -> bytes:
    """The payload of a graph, to which `constants` are added. Raises ValueError if the graph has constants already,
    or for custom shaders, which the format has but no runtime reads."""
    if custom_shaders:
        raise ValueError("custom shaders cannot be part of a payload: no runtime reads them")
    if constants and graph.constants:
        raise ValueError(f"the graph has {len(graph.constants)} constants already; pass those to serialise or none")
    data = bytearray()
    for constant in constants:
        if isinstance(constant, tuple):
            graph.constants.append(VkBytes(NAMED, constant[1], constant[0]))
            continue
        stored = b"" if constant is None else tensor_bytes(constant)
        graph.constants.append(VkBytes(len(data), len(stored)))
        data += _padded(stored)
    flatbuffer = convert_to_flatbuffer(graph)
    start = _aligned(VulkanDelegateHeader.EXPECTED_LENGTH)
    header = VulkanDelegateHeader(start, len(flatbuffer), start + _aligned(len(flatbuffer)), len(data))
    return _padded(header.to_bytes()) + _padded(flatbuffer) + _padded(bytes(data))


def read_vulkan_graph(payload: bytes | memoryview) -> tuple[VkGraph, memoryview]:
    """The graph of a payload, and the bytes of its constants without names. Raises ValueError for a payload that is
    damaged or of another format."""
    data = memoryview(payload).cast("B")
    header = VulkanDelegateHeader.from_bytes(bytes(data[: VulkanDelegateHeader.EXPECTED_LENGTH]))
    end = header.bytes_offset + header.bytes_size
    if not header.is_valid() or end > len(data):
        raise ValueError(f"a payload of {len(data)} bytes cannot have the parts that its header names: {header}")
    return flatbuffer_to_vk_graph(data[header.flatbuffer_offset :][: header.flatbuffer_size]), (
        data[header.bytes_offset : end]
    )


def convert_to_flatbuffer(graph: VkGraph) -> bytes:
    """The flatbuffer of a graph."""
    return b"".join(bytes(part) for part in write_root(GRAPH, graph, IDENTIFIER, 8).parts)


def flatbuffer_to_vk_graph(flatbuffer: bytes | memoryview) -> VkGraph:
    """The graph of a flatbuffer. Raises ValueError if it is damaged or of another format."""
    graph: VkGraph = read_root(GRAPH, flatbuffer, IDENTIFIER)
    return graph


def extract_vk_flatbuffer(payload: bytes) -> bytes:
    """The flatbuffer of a payload."""
    header = VulkanDelegateHeader.from_bytes(payload[: VulkanDelegateHeader.EXPECTED_LENGTH])
    return payload[header.flatbuffer_offset :][: header.flatbuffer_size]


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT


def _padded(data: bytes) -> bytes:
    return data + bytes(_aligned(len(data)) - len(data))
