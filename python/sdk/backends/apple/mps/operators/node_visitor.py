# SPDX-License-Identifier: BSD-3-Clause
"""The visitors that turn nodes of the edge dialect into nodes of a payload. A module of this folder registers its own
with `register_node_visitor`. The partitioner takes a node if a visitor names its operator and does not refuse it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.apple.mps.serialization.graph import Buffer, MPSGraph, MPSNode, MPSTensor
from sdk.backends.apple.mps.serialization.mps_data_type import edge_dtype_to_mps_dtype
from sdk.backends.apple.mps.serialization.nodes import ABSENT, MPSMinMax
from sdk.backends.apple.mps.serialization.shape_nodes import MPSCast, MPSExpand, MPSView
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import get_constant
from sdk.exir._serialize._named_data_store import tensor_bytes

FLOATS = (torch.float16, torch.float32)


class NodeVisitor:
    """Writes the nodes of some operators. All visitors of a payload share its ids.

    Attributes:
        target: The name of the operator, such as `aten.add.Tensor`, or several.
        folded: Calls that MPS does not support but that depend on constants only. Their results are computed during
            the export and become constants.
    """

    target: ClassVar[str | Sequence[str]] = ()

    def __init__(self, exported_program: ExportedProgram, convert_model_to_fp16: bool = True) -> None:
        self.exported_program = exported_program
        self.convert_model_to_fp16 = convert_model_to_fp16
        self.tensor_to_id: dict[Any, Any] = {}
        self.folded: set[Node] = set()

    def refusal(self, node: Node) -> str | None:
        """Why a node cannot be part of a payload; None if it can."""
        return None

    def lower(self, node: Node, mps_graph: MPSGraph) -> None:
        """Appends the payload's nodes that compute a node."""
        self.define_node(node, mps_graph)

    def define_node(self, node: Node, mps_graph: MPSGraph) -> None:
        """Visitors that were written for ExecuTorch define this function instead of `lower`."""
        raise NotImplementedError(f"{type(self).__name__} does not define lower()")

    def stored(self, dtype: torch.dtype) -> torch.dtype:
        """The dtype in which MPS computes values that have this dtype in the model."""
        return torch.float16 if self.convert_model_to_fp16 and dtype == torch.float32 else dtype

    def define_tensor(self, node: Node | None, mps_graph: MPSGraph) -> int:
        """The id of a tensor, which becomes a constant if its value is known; `ABSENT` for None."""
        if node is None:
            return ABSENT
        if node not in self.tensor_to_id:
            constant = self.constant(node)
            if constant is not None:
                return self.define_constant(constant, mps_graph, node)
            value = node.meta["val"]
            self.tensor_to_id[node] = self.define_value(value.dtype, list(value.shape), mps_graph)
        found: int = self.tensor_to_id[node]
        return found

    def define_tensor_list(self, node: Node, mps_graph: MPSGraph) -> list[int]:
        """The ids of the results of a node with several results."""
        if node not in self.tensor_to_id:
            values = node.meta["val"]
            self.tensor_to_id[node] = [self.define_value(v.dtype, list(v.shape), mps_graph) for v in values]
        found: list[int] = self.tensor_to_id[node]
        return found

    def define_value(self, dtype: torch.dtype, shape: list[int], mps_graph: MPSGraph) -> int:
        """The id of a new value."""
        sizes = [int(size) for size in shape]
        mps_graph.mps_values.append(MPSTensor(edge_dtype_to_mps_dtype(dtype), len(sizes), sizes))
        return len(mps_graph.mps_values) - 1

    def define_constant(self, tensor: torch.Tensor, mps_graph: MPSGraph, key: Any = None) -> int:
        """The id of a constant, float16 where values are. It is stored once for each `key`."""
        if key is not None and key in self.tensor_to_id:
            found: int = self.tensor_to_id[key]
            return found
        stored = _narrowed(tensor.detach(), self.stored(tensor.dtype)).contiguous()
        made = self.define_value(stored.dtype, list(stored.shape), mps_graph)
        self.attach(made, tensor_bytes(stored), mps_graph)
        if key is not None:
            self.tensor_to_id[key] = made
        return made

    def attach(self, value: int, data: bytes | memoryview, mps_graph: MPSGraph) -> None:
        """Turns a value into a constant with the bytes `data`."""
        tensor = mps_graph.mps_values[value]
        tensor.constant_buffer_size = len(data)
        tensor.constant_buffer = Buffer(data)  # type: ignore[arg-type]
        mps_graph.constant_ids.append(value)

    def define_scalar(self, value: float, dtype: torch.dtype, mps_graph: MPSGraph) -> int:
        """The id of a number, a constant of one element."""
        return self.define_constant(torch.tensor([value], dtype=dtype), mps_graph, ("scalar", repr(value), dtype))

    def constant(self, node: Node) -> torch.Tensor | None:
        """The value of a weight, of a buffer that does not change, of a constant or of a folded call; None for
        others."""
        known = node.op == "placeholder" or node in self.folded
        return get_constant(self.exported_program, node) if known else None

    def operand(self, node: Any, dtype: torch.dtype, mps_graph: MPSGraph) -> int:
        """The id of an operand, a tensor or a number, as a value of the dtype `dtype`, which is not changed to
        float16."""
        if not isinstance(node, Node):
            return self._exact(torch.tensor([node], dtype=dtype), ("scalar", repr(node), dtype), mps_graph)
        value = node.meta["val"]
        if self.stored(value.dtype) == dtype:
            return self.define_tensor(node, mps_graph)
        constant = self.constant(node)
        if constant is not None:
            return self._exact(_narrowed(constant.detach(), dtype), ("constant", node, dtype), mps_graph)
        return self.cast(self.define_tensor(node, mps_graph), dtype, list(value.shape), mps_graph)

    def _exact(self, tensor: torch.Tensor, key: Any, mps_graph: MPSGraph) -> int:
        if self.stored(tensor.dtype) == tensor.dtype:
            return self.define_constant(tensor, mps_graph, key)
        # A float32 constant among float16 values.
        if key not in self.tensor_to_id:
            made = self.define_value(tensor.dtype, list(tensor.shape), mps_graph)
            self.attach(made, tensor_bytes(tensor.contiguous()), mps_graph)
            self.tensor_to_id[key] = made
        found: int = self.tensor_to_id[key]
        return found

    def cast(self, value: int, dtype: torch.dtype, shape: list[int], mps_graph: MPSGraph) -> int:
        """The id of a value with another dtype."""
        made = self.define_value(dtype, shape, mps_graph)
        self.add(MPSCast(value, made, edge_dtype_to_mps_dtype(dtype)), mps_graph)
        return made

    def cast_in_place(self, value: int, dtype: torch.dtype, mps_graph: MPSGraph) -> None:
        """Converts a value to a dtype. Operations that are added later read the converted value."""
        self.add(MPSCast(value, value, edge_dtype_to_mps_dtype(dtype)), mps_graph)

    def broadcast(self, value: int, own: list[int], dtype: torch.dtype, shape: list[int], mps_graph: MPSGraph) -> int:
        """The id of a value of the shape `own`, broadcast to `shape`. Sizes of 1 are added in front, because MPSGraph's
        broadcast keeps the rank."""
        if len(own) < len(shape):
            own = [1] * (len(shape) - len(own)) + own
            made = self.define_value(dtype, own, mps_graph)
            self.add(MPSView(value, made, len(own), own), mps_graph)
            value = made
        if own != shape:
            made = self.define_value(dtype, shape, mps_graph)
            self.add(MPSExpand(value, made, len(shape), shape), mps_graph)
            value = made
        return value

    def add(self, operation: Any, mps_graph: MPSGraph, min_max: MPSMinMax | None = None) -> None:
        """Appends an operation."""
        mps_graph.mps_nodes.append(MPSNode(operation, min_max))


_Visitor = TypeVar("_Visitor", bound=type[NodeVisitor])
VISITORS: dict[str, type[NodeVisitor]] = {}


def register_node_visitor(visitor: _Visitor) -> _Visitor:
    """Makes the class responsible for the operators of its `target`, and replaces an earlier one."""
    names = [visitor.target] if isinstance(visitor.target, str) else visitor.target
    VISITORS.update(dict.fromkeys(names, visitor))
    return visitor


def get_node_visitors(exported_program: ExportedProgram, convert_model_to_fp16: bool = True) -> Operators[NodeVisitor]:
    """Visitors for one payload by the names of operators, and one for its inputs (`placeholder`) and outputs
    (`output`)."""
    made: dict[type[NodeVisitor], NodeVisitor] = {}
    ids: dict[Any, Any] = {}
    folded: set[Node] = set()
    classes: list[type[NodeVisitor]] = [NodeVisitor, *VISITORS.values()]
    for cls in dict.fromkeys(classes):
        made[cls] = cls(exported_program, convert_model_to_fp16)
        made[cls].tensor_to_id, made[cls].folded = ids, folded
    visitors = Operators[NodeVisitor]("MPS")
    for name, cls in VISITORS.items():
        visitors.add([name], made[cls])
    visitors.add(["placeholder", "output"], made[NodeVisitor])
    return visitors


def shape_of(node: Node) -> list[int]:
    """The sizes of a node's tensor."""
    return [int(size) for size in node.meta["val"].shape]


def wrapped(dim: int, rank: int) -> int:
    """A dimension as a non-negative number."""
    return dim + rank if dim < 0 else dim


def is_exact(value: float) -> bool:
    """Whether float32 holds a number exactly; payloads store numbers in float32."""
    return value != value or float(torch.tensor(value, dtype=torch.float64).to(torch.float32)) == value


def _narrowed(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a dtype. Values beyond the range of float16 become its largest value; infinities stay."""
    if dtype == torch.float16 and tensor.is_floating_point() and tensor.dtype != dtype:
        limits = torch.finfo(dtype)
        tensor = torch.where(tensor.isinf(), tensor, tensor.clamp(limits.min, limits.max))
    return tensor.to(dtype)
