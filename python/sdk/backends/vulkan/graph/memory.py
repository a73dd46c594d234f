# SPDX-License-Identifier: BSD-3-Clause
"""Lets tensors share memory whose lifetimes do not overlap."""

from __future__ import annotations

from dataclasses import dataclass

from sdk.backends.vulkan.graph.ir import CHANGES_STATE, GpuGraph, Tensor, tensors_of
from sdk.backends.vulkan.serialization.vulkan_graph_schema import VkStorageType


@dataclass
class _Object:
    """Memory that tensors share. `free_from` is the first call that may write it again."""

    number: int
    storage: VkStorageType | None
    size: int
    free_from: int


def plan(graph: GpuGraph) -> int:
    """Numbers the memory of each tensor but constants; returns the bytes of all memory at the largest shapes.

    A call's results share no memory with its operands. Buffers and textures share none either, as their sizes in
    memory differ from device to device. Results keep their memory to the end.
    """
    last: dict[Tensor, int] = {}
    for index, call in enumerate(graph.calls):
        for tensor in tensors_of([*call.args, call.result]):
            last[tensor] = index
    end = len(graph.calls)
    last.update((tensor, end) for tensor in tensors_of(list(graph.outputs)))
    objects: list[_Object] = []
    for tensor in tensors_of(list(graph.inputs)):
        _place(tensor, -1, last.get(tensor, -1), objects)
    for index, call in enumerate(graph.calls):
        if call.name == "et_vk.prepack.default" or call.name in CHANGES_STATE:
            continue  # packed once, when the program is loaded; or a result that nothing reads
        for tensor in call.results():
            _place(tensor, index, last[tensor], objects)
    return sum(item.size for item in objects)


def _place(tensor: Tensor, start: int, end: int, objects: list[_Object]) -> None:
    size = tensor.numel * tensor.dtype.itemsize
    storage = tensor.repr.storage_type if tensor.repr is not None else None
    free = [o for o in objects if o.free_from <= start and o.storage == storage]
    # The smallest that is large enough, else the largest.
    fitting = [o for o in free if o.size >= size]
    if fitting:
        chosen = min(fitting, key=lambda o: o.size)
    elif free:
        chosen = max(free, key=lambda o: o.size)
    else:
        chosen = _Object(len(objects), storage, 0, start)
        objects.append(chosen)
    chosen.size = max(chosen.size, size)
    chosen.free_from = end + 1
    tensor.memory = chosen.number
