# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of results, descriptions of memories, errors, and reports about programs."""

from __future__ import annotations

import enum
import logging
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.operator_schemas import get_signature_for_torch_op
from torch.utils._pytree import tree_leaves

from sdk.exir import ExecutorchProgramManager, memory
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket

_logger = logging.getLogger(__name__)


class MemoryPlanningAlgoFailure(Exception):  # noqa: N818 (ExecuTorch's name)
    """No memory plan satisfies the constraints and the sizes of the memories."""


class TypeMismatchError(Exception):
    """Two results have different dtypes."""


class NumericalMismatchError(Exception):
    """Two results differ by more than the tolerance. `rms_value` is the root of the mean squared difference."""

    def __init__(self, msg: str, rms_value: float | None = None) -> None:
        self.rms_value = rms_value
        super().__init__(msg)


class NumericalMismatchExpectedError(Exception):
    """A difference that was expected did not occur."""

    def __init__(self, rms_expected_value: float) -> None:
        self.rms_expected_value = rms_expected_value
        super().__init__(f"expected results that differ by {rms_expected_value} (root mean square), found equal ones")


class ISSRuntimeFailure(Exception):  # noqa: N818 (ExecuTorch's name)
    """The instruction set simulator failed."""


def is_depthwise_conv(groups: int, in_channels: int) -> bool:
    """Whether the convolution is depthwise: several groups with one channel each."""
    return 1 < groups == in_channels


def _window(size: int, padding: int, dilation: int, kernel: int, stride: int) -> int:
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def get_conv1d_output_size(in_size: Sequence[int], out_channels: int, stride: int, padding: int, dilation: int,
                           kernel_size: int, channel_last: bool) -> torch.Size:  # fmt: skip
    """Returns the output size of a 1-D convolution of (batch, channels, length), or (batch, length, channels)."""
    batch, length = in_size[0], in_size[1 if channel_last else 2]
    found = _window(length, padding, dilation, kernel_size, stride)
    return torch.Size((batch, found, out_channels) if channel_last else (batch, out_channels, found))


def get_conv2d_output_size(in_size: Sequence[int], out_channels: int, stride: Sequence[int], padding: Sequence[int],
                           dilation: Sequence[int], kernel_size: Sequence[int],
                           channel_last: bool) -> torch.Size:  # fmt: skip
    """Returns the output size of a 2-D convolution of (batch, channels, height, width), or with channels last."""
    sizes = in_size[1:3] if channel_last else in_size[2:4]
    found = [_window(*each) for each in zip(sizes, padding, dilation, kernel_size, stride, strict=True)]
    batch = in_size[0]
    return torch.Size((batch, *found, out_channels) if channel_last else (batch, out_channels, *found))


def get_im2row_output_size(input: torch.Tensor, kernel_size: Sequence[int], dilation: Sequence[int],
                           padding: Sequence[int], stride: Sequence[int],
                           channel_last: bool) -> torch.Size:  # fmt: skip
    """Returns the size of the matrix whose rows are the windows of an image. A signal is an image of height 1."""
    if input.dim() == 3:
        input = input.unsqueeze(1 if channel_last else 2)
    sizes, channels = (input.shape[1:3], input.shape[3]) if channel_last else (input.shape[2:4], input.shape[1])
    height, width = (_window(*each) for each in zip(sizes, padding, dilation, kernel_size, stride, strict=True))
    return torch.Size((input.shape[0], height * width, channels * kernel_size[0] * kernel_size[1]))


def get_edge_overload_packet(edge_op: EdgeOpOverload) -> EdgeOpOverloadPacket:
    """Returns the packet of an edge operator, which contains all of its overloads."""
    namespace, _, name = edge_op._schema.name.partition("::")
    packet: EdgeOpOverloadPacket = getattr(getattr(exir_ops.edge, namespace), name)
    return packet


def get_ops_count(graph_module: GraphModule) -> dict[str, int]:
    """Counts the calls of each operator in a graph, without getitem, `memory.view` and allocations."""
    calls = (node.target for node in graph_module.graph.nodes if node.op == "call_function")
    counted = (
        target
        for target in calls
        if target not in (operator.getitem, memory.view) and getattr(target, "__name__", "") != "alloc"
    )
    return dict(Counter(getattr(target, "_name", None) or str(target) for target in counted))


def get_output_node(graph: Graph) -> Node:
    """Returns the output node of the graph."""
    return graph.output_node()


def is_node_in_flattened_output(graph: Graph, node: Node) -> bool:
    """Whether the node is one of the graph's results."""
    return node in tree_leaves(graph.output_node().args[0])


def get_shape(graph_module: GraphModule, node: Any) -> torch.Size | None:
    """Returns the shape of a node's tensor, (1,) for a number, or None if it is unknown."""
    if isinstance(node, (bool, int, float)):
        return torch.Size([1])
    value = node.meta.get("val")
    if value is None and node.op == "get_attr":
        value = getattr(graph_module, str(node.target), None)
    return getattr(value, "shape", None)


def print_ops_info(to_edge_gm: GraphModule, final_gm: GraphModule) -> None:
    """Logs how often each operator occurs after and before the passes. Operators that have disappeared come last."""
    before, after = get_ops_count(to_edge_gm), get_ops_count(final_gm)
    kept = sorted(after, key=lambda name: after[name], reverse=True)
    rows = [(name, after.get(name, 0), before.get(name, 0)) for name in [*kept, *(before.keys() - after.keys())]]
    width = max((len(name) for name, *_ in rows), default=0)
    lines = [f"{'operator':{width}} {'after':>6} {'before':>6}"]
    lines += [f"{name:{width}} {now:6} {earlier:6}" for name, now, earlier in rows]
    _logger.info("\n%s", "\n".join(lines))


def _path(name: str, suffix: str, folder: str) -> Path:
    return Path(name) if name.endswith(suffix) else Path(folder) / (name + suffix)


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> None:
    """Writes a program to NAME.pte in a folder, or to `model_name` if that ends with .pte."""
    path = _path(model_name, ".pte", output_dir)
    with path.open("wb") as file:
        prog.write_to_file(file)
    _logger.info("Saved the program to %s", path)


def save_bpte_program(buffer: bytes, model_name: str, output_dir: str = "") -> None:
    """Writes a bundled program to NAME.bpte in a folder, or to `model_name` if that ends with .bpte."""
    path = _path(model_name, ".bpte", output_dir)
    path.write_bytes(buffer)
    _logger.info("Saved the bundled program to %s", path)


@dataclass
class MemoryConfig:
    """The memories of a processor, from the fastest to the slowest. Memory `i` of this list is memory `i + 1` of a
    program, because programs count from 1.

    Args:
        memory_sizes: The size of each memory in bytes.
        memory_alignments: The alignment of offsets in each memory; by default 1.
        memory_names: Their names in messages.
        base_addrs: Their base addresses.
        memory_xml_path: The vendor's description of the core, for tools that read it.
        MemorySpace: An enumeration of the memories.
    """

    memory_sizes: list[int]
    memory_alignments: list[int] | None = None
    memory_names: list[str] | None = None
    base_addrs: list[int] | None = None
    memory_xml_path: str | None = None
    MemorySpace: type[enum.Enum] | None = None

    def __post_init__(self) -> None:
        if self.memory_alignments is None:
            self.memory_alignments = [1] * len(self.memory_sizes)

    def get_num_memories(self) -> int:
        """The number of memories plus one, because the id 0 is not used."""
        return len(self.memory_sizes) + 1

    def get_size(self, exir_id: int) -> int:
        """Returns the size in bytes of the memory with this id in a program."""
        return self.memory_sizes[exir_id - 1]


def get_default_memory_config() -> MemoryConfig:
    """Returns one memory of 64 GiB."""
    return MemoryConfig(memory_sizes=[1 << 36])


def rebind(op: EdgeOpOverload, args: tuple[Any, ...],
           kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:  # fmt: skip
    """Returns the arguments with defaults of the schema filled in, or None unless they match exactly one schema."""
    fitting = []
    for signature in get_signature_for_torch_op(op._op) or ():
        try:
            fitting.append(signature.bind(*args, **kwargs))
        except TypeError:
            continue
    if len(fitting) != 1:
        return None
    fitting[0].apply_defaults()
    return fitting[0].args, fitting[0].kwargs
