# SPDX-License-Identifier: BSD-3-Clause
"""Payloads: a header, the graph as a flatbuffer, and bytes of constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

import torch

from sdk.backends.payload import PartsHeader, flatbuffer_of, join_parts, padded
from sdk.backends.vulkan.serialization.vulkan_graph_schema import GRAPH, NAMED, VkBytes, VkGraph
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir._serialize._named_data_store import tensor_bytes

IDENTIFIER: Final = b"VK00"

Constant: TypeAlias = torch.Tensor | tuple[str, int] | None
"""A constant in the payload, the key and size of one in the program's named data, or an empty one."""


@dataclass
class VulkanDelegateHeader(PartsHeader):
    """The locations of a payload's parts. Offsets count from its start."""

    MAGIC_IX: ClassVar[slice] = slice(4, 8)
    HEADER_SIZE_IX: ClassVar[slice] = slice(8, 10)
    FLATBUFFER_OFFSET_IX: ClassVar[slice] = slice(10, 14)
    FLATBUFFER_SIZE_IX: ClassVar[slice] = slice(14, 18)
    BYTES_OFFSET_IX: ClassVar[slice] = slice(18, 22)
    BYTES_SIZE_IX: ClassVar[slice] = slice(22, 30)
    EXPECTED_MAGIC: ClassVar[bytes] = b"VH00"
    EXPECTED_LENGTH: ClassVar[int] = PartsHeader.FORM.size

    flatbuffer_offset: int
    flatbuffer_size: int
    bytes_offset: int
    bytes_size: int

    @staticmethod
    def from_bytes(data: bytes) -> VulkanDelegateHeader:
        """The header that `data` holds. Raises ValueError if it holds none."""
        form, magic = VulkanDelegateHeader.FORM, VulkanDelegateHeader.EXPECTED_MAGIC
        if len(data) != form.size:
            raise ValueError(f"Expected header to be {form.size} bytes, but got {len(data)} bytes.")
        found, length, *fields = form.unpack(data)
        if found != magic:
            raise ValueError(f"Expected magic bytes to be {magic!r}, but got {found!r}. The payload is not for Vulkan.")
        if length != form.size:
            raise ValueError(f"Expected header to be {form.size} bytes, but got {length} bytes.")
        return VulkanDelegateHeader(*fields)


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
        data += padded(stored)
    return join_parts(VulkanDelegateHeader, convert_to_flatbuffer(graph), bytes(data))


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
    return flatbuffer_of(GRAPH, graph, IDENTIFIER)


def flatbuffer_to_vk_graph(flatbuffer: bytes | memoryview) -> VkGraph:
    """Parses a flatbuffer. Raises ValueError if it is damaged or has another format."""
    graph: VkGraph = read_root(GRAPH, flatbuffer, IDENTIFIER)
    return graph


def extract_vk_flatbuffer(payload: bytes) -> bytes:
    """The flatbuffer of a payload."""
    header = VulkanDelegateHeader.from_bytes(payload[: VulkanDelegateHeader.EXPECTED_LENGTH])
    return payload[header.flatbuffer_offset :][: header.flatbuffer_size]
