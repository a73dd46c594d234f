# SPDX-License-Identifier: BSD-3-Clause
"""Lets tensors share memory whose lifetimes do not overlap."""

from __future__ import annotations

from dataclasses import dataclass

from sdk.backends.vulkan.graph.ir import CHANGES_STATE, Call, GpuGraph, Tensor, tensors_of
from sdk.backends.vulkan.serialization.vulkan_graph_schema import OWN_MEMORY, VkStorageType

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        *("view_copy.default", "view.default", "reshape.default", "_unsafe_view.default", "unsqueeze_copy.default"),
        *("squeeze_copy.dims", "squeeze_copy.dim", "squeeze_copy.default", "clone.default", "alias_copy.default"),
        *("permute.default", "permute_copy.default", "_to_copy.default"),
    )
)
"""Operators whose result may have the elements of the operand in the same order."""


@dataclass
class _Object:
    """Memory that tensors share. `free_from` is the first call that may write it again."""

    number: int
    storage: VkStorageType | None
    size: int
    free_from: int


def plan(graph: GpuGraph, views_share: bool) -> int:
    """Assigns a memory id to each tensor except constants. Returns the total bytes at the largest shapes.

    With `views_share`, a result that has the elements of its operand in the same order shares the operand's memory. The
    runtime recognises this and copies nothing. In all other cases a call's results share no memory with its operands.
    Buffers and textures never share memory with each other, because their sizes differ from device to device. Outputs
    keep their memory to the end."""
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
            continue  # a constant that is packed when the program is loaded, or a result that nothing reads
        viewed = viewed_operand(call) if views_share else None
        if viewed is not None:
            (result,) = call.results()
            shared = objects[viewed.memory]
            shared.free_from = max(shared.free_from, last[result] + 1)
            result.memory = viewed.memory
            continue
        for tensor in call.results():
            _place(tensor, index, last[tensor], objects)
    return sum(item.size for item in objects)


def viewed_operand(call: Call) -> Tensor | None:
    """The operand with which the result shares its planned memory, byte for byte."""
    operand, result = call.args[0] if call.args else None, call.result
    if call.name not in VIEWS or not isinstance(operand, Tensor) or not isinstance(result, Tensor):
        return None
    converts = operand.dtype != result.dtype or operand.is_exact != result.is_exact
    if operand.memory == OWN_MEMORY or operand.constant is not None or converts:
        return None
    if "permute" in call.name:
        rank = len(operand.shape)
        moved = [dim % rank for dim in call.args[1] if operand.shape[dim] != 1]
        return operand if moved == sorted(moved) else None
    return operand


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
