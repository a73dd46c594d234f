# SPDX-License-Identifier: BSD-3-Clause
"""`SubgraphWriter`: collects the values, nodes and constants of one payload.

XNNPACK works on images in NHWC. A result of rank 4 exists in one layout or in both: a node asks for its operands in
the layout it wants (`SubgraphWriter.read`), and a transpose is added only where that layout is not there yet, so images
stay NHWC from one convolution to the next.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.xnnpack.constants import get_constant, is_constant
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import (
    NO_VALUE,
    NODES,
    ConstantDataOffset,
    OutputMinMax,
    StepKind,
    ValueFlag,
    XNNDatatype,
    XNNGraph,
    XNNStep,
    XNNTensorValue,
    XNode,
    XValue,
)
from sdk.exir._serialize._named_data_store import NamedDataStore, tensor_bytes
from sdk.exir.sym_util import eval_upper_bound
from sdk.exir.tensor import TensorSpec

TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)
NAMED = 2**64 - 1  # the offset of constants that have a name

_DATATYPES = {
    torch.float32: XNNDatatype.xnn_datatype_fp32,
    torch.bool: XNNDatatype.xnn_datatype_bool,
    torch.int64: XNNDatatype.xnn_datatype_int64,
}

# How a step converts.
FLOAT_TO_BOOL, BOOL_TO_FLOAT, INT64_TO_FLOAT, INT64_TO_TRUTH, FLOAT_TO_TRUTH = range(5)


def is_channels_last(node: Node) -> bool | None:
    """Whether the program keeps the elements of a tensor of rank 4 in the order NHWC; None for neither that nor the
    usual order."""
    order = tuple(int(dim) for dim in TensorSpec.from_tensor(node.meta["val"]).dim_order)
    if order == tuple(range(len(order))):
        return False
    return True if order == TO_NHWC else None


def shape_of(node: Node) -> list[int]:
    """The sizes of a tensor, of dynamic dimensions the largest; of the first one where there are several."""
    value = node.meta["val"]
    return [eval_upper_bound(size) for size in (value[0] if isinstance(value, (list, tuple)) else value).shape]


def inputs_of(node: Any) -> list[int]:
    """The ids that a node of a payload reads, and some that it does not: those of a form with more operands."""
    if isinstance(node, XNNStep):
        return node.input_ids
    return [getattr(node, item.name) for item in fields(node) if item.name in _INPUT_FIELDS]


_INPUT_FIELDS = {"input_id", "filter_id", "bias_id", *(f"input{i}_id" for i in range(1, 6))}


class SubgraphWriter:
    """Ids are indices into `values`. Truth values are 0 and 1 among floats inside of a delegate; integers are there as
    arguments only."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.values: list[XNNTensorValue] = []
        self.nodes: list[XNode] = []
        self.store = NamedDataStore()
        self._constants = [ConstantDataOffset()]  # 0 means none
        self._of_constants: dict[tuple[str, tuple[int, ...]], int] = {}
        self._forms: dict[Node, dict[bool, int]] = {}  # node -> whether NHWC -> id
        # Arguments that hold integers, and views of them, by their values.
        self.integers: dict[Node, int] = {}
        self._externals = 0
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._handle = 0

    def enter(self, node: Node) -> None:
        """What is added from now on comes from `node`."""
        handle = node.meta.get("debug_handle", 0)
        self._handle = int(handle[0] if isinstance(handle, (list, tuple)) else handle or 0)

    def add_input(self, node: Node) -> None:
        """The next argument of the delegate."""
        nhwc, dtype = bool(is_channels_last(node)), node.meta["val"].dtype
        shape = self._ordered(shape_of(node), nhwc)
        index = self._value(shape, dtype)
        self._make_external(index, ValueFlag.EXTERNAL_INPUT)
        self._inputs.append(index)
        if dtype == torch.int64:
            self.integers[node] = index
            return
        if dtype == torch.bool:
            source, index = index, self._value(shape)
            self.add_step(StepKind.CONVERT, [source], index, [BOOL_TO_FLOAT])
        self._forms[node] = {nhwc: index}

    def add_output(self, node: Node) -> None:
        """The next result of the delegate. Every result is a value of its own that a node computes."""
        nhwc = bool(is_channels_last(node))
        index = self.read(node, nhwc)
        value = self.values[index]
        if node.meta["val"].dtype == torch.bool:
            source, index = index, self._value(list(value.dims), torch.bool)
            self.add_step(StepKind.CONVERT, [source], index, [FLOAT_TO_BOOL])
        elif value.flags or value.constant_buffer_idx:
            index = self._value(list(value.dims))
            self.add(NODES["Copy"](self.read(node, nhwc), index))
        self._make_external(index, ValueFlag.EXTERNAL_OUTPUT)
        self._outputs.append(index)

    def has(self, node: Any, nhwc: bool) -> bool:
        """Whether a result exists in a layout, or costs nothing to have in it."""
        return nhwc in self._forms.get(node, ()) or is_constant(self.program, node)

    def is_written(self, node: Node) -> bool:
        """Whether a result exists already, because it is part of what another call became."""
        return node in self._forms or node in self.integers

    def read(self, operand: Any, nhwc: bool = False) -> int:
        """The id of an operand in a layout: of a tensor or of a number."""
        if not isinstance(operand, Node):
            return self.constant(torch.tensor([float(operand)]))
        forms = self._forms.setdefault(operand, {})
        if nhwc not in forms:
            tensor = get_constant(self.program, operand)
            if tensor is not None:
                forms[nhwc] = self.constant(tensor.permute(TO_NHWC) if nhwc else tensor)
            else:
                source = forms[not nhwc]
                permutation = TO_NHWC if nhwc else TO_NCHW
                forms[nhwc] = self._value([self.values[source].dims[dim] for dim in permutation])
                self.add(NODES["StaticTranspose"](4, list(permutation), source, forms[nhwc]))
        return forms[nhwc]

    def read_integers(self, operand: Any) -> int:
        """The id of an argument that holds integers, of which `operand` may be a view."""
        if operand not in self.integers:
            raise RuntimeError(f"a delegate of XNNPACK takes integers as arguments; {operand} is computed inside of it")
        return self.integers[operand]

    def result(self, node: Node, nhwc: bool = False) -> int:
        """A new value for what a node computes."""
        index = self._value(self._ordered(shape_of(node), nhwc))
        self._forms.setdefault(node, {})[nhwc] = index
        return index

    def alias(self, node: Node, operand: Node) -> None:
        """`node` is the same as `operand`."""
        self._forms[node] = self._forms[operand]

    def temporary(self, shape: list[int]) -> int:
        """A value that stands for no node."""
        return self._value(shape)

    def constant(self, tensor: torch.Tensor) -> int:
        """A constant, stored once under a hash of its bytes."""
        tensor = tensor.detach().to(torch.float32).contiguous()
        data = tensor_bytes(tensor)
        key = hashlib.sha256(data).hexdigest()
        known = self._of_constants.get((key, tuple(tensor.shape)))
        if known is not None:
            return known
        self.store.add_named_data(key, data, alignment=16)
        index = self._value(list(tensor.shape))
        self.values[index].constant_buffer_idx = len(self._constants)
        self._constants.append(ConstantDataOffset(NAMED, len(data), key))
        self._of_constants[key, tuple(tensor.shape)] = index
        return index

    def add(self, node: Any, limits: tuple[float, float] | None = None) -> None:
        """Adds a node, which clamps its results to `limits`."""
        self.nodes.append(XNode(node, self._handle, None if limits is None else OutputMinMax(*limits)))

    def add_step(
        self,
        kind: StepKind,
        inputs: list[int],
        output: int,
        integers: list[int] | None = None,
        numbers: list[float] | None = None,
        flags: int = 0,
    ) -> None:
        """Adds a node that XNNPACK does not have."""
        self.add(XNNStep(kind, inputs, output, flags, integers or [], numbers or []))

    def graph(self) -> XNNGraph:
        self._remove_unused()
        return XNNGraph(
            "0",
            self.nodes,
            [XValue(value) for value in self._kept_values],
            self._externals,
            self._inputs,
            self._outputs,
            self._constants,
        )

    def _remove_unused(self) -> None:
        """Removes nodes whose results nothing reads, last first."""
        read = set(self._outputs)
        kept = []
        for node in reversed(self.nodes):
            if node.xnode_union.output_id in read:
                kept.append(node)
                read.update(inputs_of(node.xnode_union))
        self.nodes = kept[::-1]
        used = read.union(self._inputs, (node.xnode_union.output_id for node in self.nodes))
        self._kept_values = [value for value in self.values if value.id_out in used]

    def _value(self, shape: list[int], dtype: torch.dtype = torch.float32) -> int:
        index = len(self.values)
        datatype = _DATATYPES[dtype]
        self.values.append(XNNTensorValue(datatype, len(shape), shape, 0, NO_VALUE, ValueFlag.NONE, index))
        return index

    def _make_external(self, index: int, flag: ValueFlag) -> None:
        self.values[index].external_id, self.values[index].flags = self._externals, flag
        self._externals += 1

    @staticmethod
    def _ordered(shape: list[int], nhwc: bool) -> list[int]:
        return [shape[dim] for dim in TO_NHWC] if nhwc else shape
