# SPDX-License-Identifier: BSD-3-Clause
"""The format of payloads."""

from __future__ import annotations

import math

import pytest
import torch

from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import (
    VulkanDelegateHeader,
    extract_vk_flatbuffer,
    flatbuffer_to_vk_graph,
    read_vulkan_graph,
    serialize_vulkan_graph,
)


def every_value() -> schema.VkGraph:
    """A graph with a value of each kind."""
    tensor = schema.VkTensor(
        schema.VkDataType.INT64,
        [2, 0, 4_000_000_000],
        3,
        7,
        schema.VkStorageType.TEXTURE_2D,
        schema.VkMemoryLayout.PACKED_INT8_CONV2D,
        schema.VkDataType.FLOAT16,
    )
    values = [
        schema.Null(),
        schema.Int(-(2**63)),
        schema.Double(math.inf),
        schema.Double(-0.0),
        schema.Bool(True),
        tensor,
        schema.VkTensor(schema.VkDataType.BOOL, []),
        schema.IntList([-1, 2**40]),
        schema.DoubleList([0.5]),
        schema.BoolList([True, False]),
        schema.ValueList([0, 1]),
        schema.String("none"),
        schema.SymInt(5),
    ]
    return schema.VkGraph(
        version="0",
        chain=[schema.OperatorCall(1, "aten.add.Tensor", [0, 1, 2]), schema.OperatorCall(2, "", [])],
        values=[schema.VkValue(value) for value in values],
        input_ids=[5],
        output_ids=[6, 6],
        shaders=[schema.VkBytes(0, 4)],
        storage_type_override=schema.VkStorageType.BUFFER,
        memory_layout_override=schema.VkMemoryLayout.TENSOR_HEIGHT_PACKED,
    )


def test_what_is_written_is_read() -> None:
    graph = every_value()
    constants = [torch.arange(5, dtype=torch.int16), ("key", 12), None]
    payload = serialize_vulkan_graph(graph, constants)
    found, data = read_vulkan_graph(payload)
    assert found == graph
    assert found.constants == [
        schema.VkBytes(0, 10),
        schema.VkBytes(schema.NAMED, 12, "key"),
        schema.VkBytes(16, 0),
    ]
    assert bytes(data[:10]) == constants[0].numpy().tobytes()
    assert flatbuffer_to_vk_graph(extract_vk_flatbuffer(payload)) == graph


def test_header() -> None:
    """Bytes 4 to 7 are VH00, then a u16, three u32 and a u64, as the format defines."""
    header = VulkanDelegateHeader(0x20, 0x40, 0x60, 0x0102030405060708)
    data = header.to_bytes()
    assert data == bytes.fromhex("00000000 56483030 1e00 20000000 40000000 60000000 0807060504030201")
    assert VulkanDelegateHeader.from_bytes(data) == header


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "30 bytes, but got 0"),
        (bytes(30), "magic"),
        (b"\0\0\0\0VH00\x1d\0" + bytes(20), "30 bytes, but got 29"),
    ],
)
def test_wrong_header(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        VulkanDelegateHeader.from_bytes(data)


@pytest.mark.parametrize("header", [(0, 4, 32, 0), (32, 0, 32, 0), (32, 16, 40, 0)])
def test_overlapping_parts(header: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="overlap"):
        VulkanDelegateHeader(*header).to_bytes()


def test_damaged_payloads_are_errors() -> None:
    """Reading a truncated payload is an error; reading one with a changed byte gives a graph or an error."""
    payload = serialize_vulkan_graph(every_value())
    for end in range(len(payload)):
        with pytest.raises(ValueError, match=r"."):
            read_vulkan_graph(payload[:end])
    for position in range(len(payload)):
        for value in (0, 1, 0x7F, 0xFF):
            damaged = bytearray(payload)
            damaged[position] = value
            try:
                read_vulkan_graph(bytes(damaged))
            except ValueError as error:
                assert str(error)


def test_custom_shaders_are_refused() -> None:
    with pytest.raises(ValueError, match="custom shaders"):
        serialize_vulkan_graph(schema.VkGraph("0"), custom_shaders=["shader"])
