# SPDX-License-Identifier: BSD-3-Clause
"""Damages a payload, loads it and runs it. test_device_hostile.py starts it in a separate process, with the extension
that has the backend."""

from __future__ import annotations

import faulthandler
import random
import struct
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantized_decomposed
import torch.nn.functional as F
from hand_built import numbers
from torch import nn

import sdk.backends.vulkan.custom_ops_lib  # noqa: F401 - registers the operators
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.backends.vulkan.serialization import vulkan_graph_schema as schema
from sdk.backends.vulkan.serialization.vulkan_graph_serialize import (
    VulkanDelegateHeader,
    read_vulkan_graph,
    serialize_vulkan_graph,
)
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

EXTREMES = [0, 1, -1, 2, 3, 7, 127, 255, 65535, 2**20, 2**30, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**62, -(2**63)]
HANGS = 120  # seconds
REALS = [0.0, -1.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"), 2.5]


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, groups=8, stride=2)
        self.c, self.norm = nn.ConvTranspose2d(8, 4, 3, stride=2), nn.GroupNorm(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.c(torch.relu(self.b(self.a(x)))))
        x = F.max_pool2d(x, 2) + F.avg_pool2d(x, 2)
        return F.interpolate(F.pixel_shuffle(x, 2), scale_factor=2.0, mode="bilinear")


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.qkv, self.norm = nn.Embedding(20, 16), nn.Linear(16, 48), nn.LayerNorm(16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(self.table(tokens)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return torch.softmax(self.norm(y), -1).argmax(-1)


class Shapes(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = torch.cat([x[:, 1:3], x.flip(1), F.pad(x, (1, 2, 0, 1))[:, :3, 1:6]], 1).permute(0, 2, 1)
        z = y.reshape(2, -1).repeat(2, 1).index_select(0, torch.tensor([3, 0, 1]))
        a, b = z.split([10, z.shape[1] - 10], 1)
        return a.sum(1), b.mean(1), torch.gather(a, 1, torch.tensor([[1, 2], [0, 0], [3, 1]])), z.amax(0) > 0.5


class Quantised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(0, 255, (12, 16), dtype=torch.uint8))
        self.register_buffer("s", torch.rand(2, 16))
        self.register_buffer("t", torch.randint(0, 255, (9, 16), dtype=torch.uint8))
        self.register_buffer("ts", torch.rand(9, 2))
        self.register_buffer("cw", torch.randint(-9, 9, (8, 36), dtype=torch.int8))
        self.register_buffer("sums", torch.zeros(8, dtype=torch.int32))
        self.register_buffer("cs", torch.rand(8) * 0.01)

    def forward(self, i: torch.Tensor, x: torch.Tensor) -> Any:
        vk, qd = torch.ops.et_vk, torch.ops.quantized_decomposed
        rows = vk.linear_q4gsw(vk.embedding_q4gsw(self.t, self.ts, 16, i), self.w, self.s, 16)
        q = qd.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        sizes = ([3, 3], [1, 1], [1, 1], [1, 1], 1)
        q = vk.q8ta_conv2d(q, 0.05, 3, self.cw, self.sums, self.cs, 0.1, 0, None, *sizes, "relu")
        return rows, qd.dequantize_per_tensor(q, 0.1, 0, -128, 127, torch.int8)


def cache() -> tuple[Any, bytes, tuple[torch.Tensor, ...]]:
    """A key-value cache, which no small module has."""
    from test_device_state import CACHE, KEY, QUERY, cached_graph

    graph, out = cached_graph(True, "llama.", True, numbers(*CACHE))
    inputs = (numbers(*QUERY), numbers(*KEY), numbers(*KEY), torch.tensor([1], dtype=torch.int32))
    original, payload = graph.parts(lambda q, k, v, position: q + k.sum() + v.sum() + position, inputs, out)
    return original, payload, inputs


def lowered(model: nn.Module, *inputs: torch.Tensor) -> tuple[Any, bytes, tuple[torch.Tensor, ...]]:
    edge = to_edge_transform_and_lower(torch.export.export(model.eval(), inputs), partitioner=[VulkanPartitioner()])
    (module,) = get_lowered_backend_modules(edge.exported_program().graph_module)
    graph, _ = read_vulkan_graph(module.processed_bytes)
    store = module.named_data_store_output
    constants = []
    for entry in graph.constants:
        buffer = store.buffers[store.pte_data[entry.named_key].buffer_index] if entry.named_key else b""
        constants.append(torch.frombuffer(bytearray(buffer), dtype=torch.uint8) if buffer else None)
    graph.constants = []
    return module.original_module, serialize_vulkan_graph(graph, constants), inputs


SEEDS: dict[str, Callable[[], tuple[Any, bytes, tuple[torch.Tensor, ...]]]] = {
    "convolutions": lambda: lowered(Convolutions(), numbers(1, 3, 9, 10)),
    "attention": lambda: lowered(Attention(), torch.randint(0, 20, (2, 5))),
    "shapes": lambda: lowered(Shapes(), numbers(2, 4, 5)),
    "quantised": lambda: lowered(Quantised(), torch.tensor([[0, 8, 3]]), numbers(1, 4, 5, 6)),
    "cache": cache,
}


def damaged_bytes(payload: bytes, dice: random.Random) -> bytes:
    """Single bytes, words, and cuts, in the header and the flatbuffer."""
    data = bytearray(payload)
    header = VulkanDelegateHeader.from_bytes(payload[:30])
    end = header.flatbuffer_offset + header.flatbuffer_size
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(4, 30 if dice.random() < 0.15 else end)
        kind = dice.randrange(3)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at] = dice.randrange(256)
        else:
            word = struct.pack("<q", dice.choice(EXTREMES))[: dice.choice((2, 4, 8))]
            data[at : at + len(word)] = word
    return bytes(data[: dice.randrange(len(data))]) if dice.random() < 0.05 else bytes(data)


def damaged_graph(payload: bytes, dice: random.Random) -> bytes:
    """A flatbuffer that is sound, with other numbers, sizes, ids and names."""
    graph, data = read_vulkan_graph(payload)
    for _ in range(dice.choice((1, 1, 2, 3))):
        kind = dice.randrange(8)
        call = dice.choice(graph.chain)
        value = dice.choice(graph.values).value
        if kind == 0 and call.args:
            call.args[dice.randrange(len(call.args))] = dice.randrange(len(graph.values))
        elif kind == 1:
            call.name = dice.choice(graph.chain).name
        elif kind == 2 and call.args:
            call.args = call.args[: dice.randrange(len(call.args))] + call.args[-1:]
        elif kind == 3:
            other = dice.choice(graph.chain)
            call.args, other.args = other.args, call.args
        elif kind == 4:
            graph.input_ids[dice.randrange(len(graph.input_ids))] = dice.randrange(len(graph.values))
        elif kind == 5:
            graph.chain.insert(dice.randrange(len(graph.chain)), call)
        else:
            change(value, dice)
    parts = [bytearray(data[constant.offset :][: constant.length]) for constant in graph.constants]
    constants = [torch.frombuffer(part, dtype=torch.uint8) if part else None for part in parts]
    graph.constants = []
    try:
        return serialize_vulkan_graph(graph, constants)
    except (ValueError, OverflowError, struct.error):
        return payload[: len(payload) // 2]


def change(value: Any, dice: random.Random) -> None:
    """Another number in a value."""
    if isinstance(value, schema.VkTensor):
        kind = dice.randrange(4)
        if kind == 0 and value.dims:
            value.dims[dice.randrange(len(value.dims))] = dice.choice([e for e in EXTREMES if 0 <= e < 2**32])
        elif kind == 1:
            value.datatype = dice.choice(list(schema.VkDataType))
        elif kind == 2:
            value.constant_id = dice.randrange(-1, 8)
        else:
            value.mem_obj_id = dice.randrange(-1, 3)
    elif isinstance(value, schema.Int):
        value.int_val = dice.choice([*EXTREMES[:14], 2**62, -(2**63)])
    elif isinstance(value, schema.Double):
        value.double_val = dice.choice(REALS)
    elif isinstance(value, schema.IntList) and value.items:
        value.items[dice.randrange(len(value.items))] = dice.choice([e for e in EXTREMES if -(2**63) <= e < 2**63])
    elif isinstance(value, schema.ValueList) and value.items:
        value.items[dice.randrange(len(value.items))] = dice.randrange(30)


def main(seed: str, first: int, rounds: int) -> None:
    """Prints how many payloads loaded and how many were refused. Each round prints its number first, so that the last
    line names the round after a crash."""
    faulthandler.enable()
    torch.manual_seed(0)
    original, payload, inputs = SEEDS[seed]()
    loaded = refused = 0
    for number in range(first, first + rounds):
        dice = random.Random(number)
        print(number, file=sys.stderr, flush=True)
        data = (damaged_bytes if dice.random() < 0.4 else damaged_graph)(payload, dice)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            file = LoweredBackendModule(original, "VulkanBackend", data, []).buffer()
            program = _load_for_executorch_from_buffer(file)
            program.forward(list(inputs))
            program.forward(list(inputs))
            loaded += 1
        except RuntimeError:
            refused += 1
        faulthandler.cancel_dump_traceback_later()
    print(loaded, refused)
