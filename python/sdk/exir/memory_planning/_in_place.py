# SPDX-License-Identifier: BSD-3-Clause
"""Places results in the memory of an operand, if the operator allows it and nothing reads the operand afterwards.

The new values of buffers go straight to the buffers' memory where that is possible, so that a write to a part of a
cache touches this part only. Such a result has the operand's spec as its `inplace_base`, and is the same value of the
program.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.memory_planning._lifetimes import (
    _is_mutable_buffer,
    control_flow_branches,
    filter_nodes,
    get_node_tensor_specs,
    storage_spec,
)
from sdk.exir.tensor import TensorSpec

_ELEMENTWISE = frozenset(
    {
        "aten::abs.out",
        "aten::acos.out",
        "aten::acosh.out",
        "aten::add.out",
        "aten::asin.out",
        "aten::asinh.out",
        "aten::atan.out",
        "aten::atan2.out",
        "aten::atanh.out",
        "aten::bitwise_and.Tensor_out",
        "aten::bitwise_not.out",
        "aten::bitwise_or.Tensor_out",
        "aten::bitwise_xor.Tensor_out",
        "aten::ceil.out",
        "aten::clamp.out",
        "aten::cos.out",
        "aten::cosh.out",
        "aten::div.out",
        "aten::elu.out",
        "aten::erf.out",
        "aten::exp.out",
        "aten::expm1.out",
        "aten::floor.out",
        "aten::gelu.out",
        "aten::hardtanh.out",
        "aten::leaky_relu.out",
        "aten::log.out",
        "aten::log10.out",
        "aten::log1p.out",
        "aten::log2.out",
        "aten::logical_and.out",
        "aten::logical_not.out",
        "aten::logical_or.out",
        "aten::maximum.out",
        "aten::minimum.out",
        "aten::mul.out",
        "aten::neg.out",
        "aten::pow.Tensor_Scalar_out",
        "aten::pow.Tensor_Tensor_out",
        "aten::reciprocal.out",
        "aten::relu.out",
        "aten::round.out",
        "aten::rsqrt.out",
        "aten::sigmoid.out",
        "aten::sign.out",
        "aten::sin.out",
        "aten::sinh.out",
        "aten::sqrt.out",
        "aten::sub.out",
        "aten::tan.out",
        "aten::tanh.out",
        "aten::trunc.out",
        "aten::where.self_out",
    }
)
"""Operators whose kernels, here and in the original, read the elements at an index before they write the result at this
index, and do not read them again. Each of them has a test that runs it in place."""

_PARTIAL_WRITES = frozenset({"aten::index_put.out", "aten::slice_scatter.out", "aten::select_scatter.out"})
"""Operators that copy their first argument and then write to a part of the copy."""

_IN_PLACE = _ELEMENTWISE | _PARTIAL_WRITES


def place_results_on_operands(
    graph_module: GraphModule, graph_signature: ExportGraphSignature | None, with_buffers: bool
) -> None:
    """Sets `inplace_base` of specs, in branches too. `with_buffers` says whether buffers' new values may be
    computed in their memory."""
    for node in graph_module.graph.nodes:
        for branch in control_flow_branches(graph_module, node):
            place_results_on_operands(branch, None, False)
        for spec in get_node_tensor_specs(node) if node.target in (memory.alloc, executorch_call_delegate) else ():
            spec.inplace_base = spec.inplace_offset = None
    graph = _Graph(graph_module)
    if with_buffers:
        for node in graph_module.graph.nodes:
            if node.target is torch.ops.aten.copy_.default and _is_mutable_buffer(node.args[0], graph_signature):
                graph.write_to_buffer(node)
    graph.write_to_operands()


def is_written_already(write: Node) -> bool:
    """Whether the value to be copied to a buffer was computed in the buffer's memory."""
    if write.target is not torch.ops.aten.copy_.default:
        return False
    target, source = (arg.meta.get("spec") for arg in write.args[:2])
    if not isinstance(source, TensorSpec) or source.inplace_base is None:
        return False
    return same_tensor(source) is target


def same_tensor(spec: TensorSpec) -> TensorSpec:
    """Returns the first spec of a chain of results that overwrite each other and are the same value of the program."""
    while spec.inplace_base is not None and spec.inplace_offset is None and getattr(spec, "base", None) is None:
        spec = spec.inplace_base
    return spec


class _Graph:
    """The readers of each storage, and their positions in the graph."""

    def __init__(self, graph_module: GraphModule) -> None:
        self.module = graph_module
        self.nodes = list(graph_module.graph.nodes)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        # Storage -> indices of the nodes that use it.
        self.uses: dict[TensorSpec, set[int]] = {}
        # Storage that no result may overwrite, and that must keep its place.
        self.pinned: set[TensorSpec] = set()
        self.made: dict[TensorSpec, Node] = {}
        for i, node in enumerate(self.nodes):
            operands = [s for arg in node.all_input_nodes for s in get_node_tensor_specs(arg)]
            for spec in operands:
                self.uses.setdefault(storage_spec(spec), set()).add(i)
            if node.op == "output" or control_flow_branches(graph_module, node):
                self.pinned.update(map(storage_spec, operands))
                self.pinned.update(map(storage_spec, get_node_tensor_specs(node)))
            elif (target := _single_result(node)) is not None:
                self.made[target] = node

    def write_to_operands(self) -> None:
        """Places results in the memory of operands whose lifetime ends with the operator."""
        for node in self.nodes:
            result = _single_result(node)
            if result is None or _operator(node) not in _IN_PLACE or not self._movable(result):
                continue
            home = next(self._dying_operands(node), None)
            if home is not None:
                self._join(result, home)

    def write_to_buffer(self, write: Node) -> None:
        """Computes a buffer's new value in its memory, if its old value is not needed any more by then."""
        buffer, value = write.args
        home = buffer.meta.get("spec")
        if not isinstance(home, TensorSpec) or home in self.pinned or not isinstance(value, Node):
            return
        end = self.index[write]
        reads = {i for i in self.uses.get(home, ()) if i != end}
        if not reads:
            return
        if _is_delegate_result(value):
            self._write_delegate_result(value, buffer, home, max(reads))
            return
        node: Node | None = value
        while node is not None:
            result = _single_result(node)
            if result is None or not self._movable(result) or max(reads) > self.index[node]:
                return
            if value is node and not (_same_layout(node, buffer) and result.mem_id == home.mem_id):
                return
            if self.index[node] in reads:
                # The old value is read here for the last time.
                old = next((arg for arg in filter_nodes(node.args) if _home(arg) is home), None)
                if old is None or not self._fits(node, old, home):
                    return
                self._join(result, home)
                return
            self._join(result, home)
            # An operand may then be computed in the buffer's memory, too; prefer one that overwrites the old value
            # itself.
            made = [self.made[source] for source in self._dying_operands(node)]
            node = next((n for n in made if _operator(n) in _IN_PLACE), made[0] if made else None)

    def _write_delegate_result(self, value: Node, buffer: Node, home: TensorSpec, last_read: int) -> None:
        """Has a delegate compute a buffer's new value in its memory, if the delegate says that it can."""
        call, position = value.args
        assert isinstance(call, Node) and isinstance(position, int)
        result = value.meta["spec"]
        if not (self._movable(result) and _same_layout(value, buffer) and result.mem_id == home.mem_id):
            return
        if last_read > self.index[call]:
            return
        inputs = list(call.args[1:])
        reading = [i for i, operand in enumerate(inputs) if isinstance(operand, Node) and _home(operand) is home]
        lowered = getattr(self.module, str(call.args[0].target))
        if not reading or (len(reading) == 1 and lowered.meta.get("in_place_outputs", {}).get(position) == reading[0]):
            self._join(result, home)

    def _dying_operands(self, node: Node) -> Iterator[TensorSpec]:
        """Storage of operands that the result of a node may overwrite."""
        for operand in filter_nodes(node.args):
            home = _home(operand)
            if home is None or home not in self.made or home in self.pinned:
                continue
            if max(self.uses[home]) <= self.index[node] and self._fits(node, operand, home):
                yield home

    def _movable(self, result: TensorSpec) -> bool:
        return result not in self.pinned and result in self.uses and storage_spec(result) is result

    def _fits(self, node: Node, operand: Node, home: TensorSpec) -> bool:
        """Whether sizes, offsets and the other operands allow a result to overwrite an operand."""
        name = _operator(node)
        result = node.meta["spec"]
        if name not in _ELEMENTWISE and not (name in _PARTIAL_WRITES and operand is node.args[0]):
            return False
        others = [arg for arg in filter_nodes(node.args) if arg is not operand and _home(arg) is home]
        twice = sum(arg is operand for arg in filter_nodes(node.args)) > 1
        if others or (twice and name not in _ELEMENTWISE):
            return False
        return (
            _same_layout(node, operand)
            and list(home.shape) == list(result.shape)
            and home.dim_order == result.dim_order
            and home.mem_id == result.mem_id
            and (home.device, home.device_index) == (result.device, result.device_index)
        )

    def _join(self, result: TensorSpec, home: TensorSpec) -> None:
        result.inplace_base = home
        self.uses.setdefault(home, set()).update(self.uses.get(result, ()))


def _is_delegate_result(node: Node) -> bool:
    return node.target is operator.getitem and getattr(node.args[0], "target", None) is executorch_call_delegate


def _home(operand: Node) -> TensorSpec | None:
    """Returns the storage of an operand that is a single tensor."""
    spec = operand.meta.get("spec")
    return storage_spec(spec) if isinstance(spec, TensorSpec) else None


def _operator(node: Node) -> str:
    return node.target.name() if isinstance(node.target, torch._ops.OpOverload) else ""


def _single_result(node: Node) -> TensorSpec | None:
    """The spec of a node that writes a single tensor, to its own memory."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    spec = node.meta.get("spec")
    allocs = [v for v in node.kwargs.values() if isinstance(v, Node) and v.target is memory.alloc]
    single = len(allocs) == 1 and isinstance(spec, TensorSpec) and allocs[0].meta.get("spec") is spec
    return spec if single and not spec.const and not spec.is_dynamic_unbound_tensor else None


def _same_layout(result: Node, operand: Node) -> bool:
    """Whether both can be one value of the program: an operator resizes its result before it reads, so the sizes are
    fixed, and equal."""
    a, b = result.meta["spec"], operand.meta["spec"]
    fixed = a.is_static_shape_tensor and b.is_static_shape_tensor
    return fixed and (list(a.shape), a.dtype, a.dim_order) == (list(b.shape), b.dtype, b.dim_order)
