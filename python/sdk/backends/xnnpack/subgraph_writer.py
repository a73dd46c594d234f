# SPDX-License-Identifier: BSD-3-Clause
"""`SubgraphWriter`: collects the values, nodes and constants of one payload.

XNNPACK computes images in NHWC. A result of rank 4 exists in one layout or in both: a node reads its operands in the
layout that it requires (`SubgraphWriter.read`), and a transpose is added only if that layout does not exist yet. So
images stay NHWC from one convolution to the next. The other layout of a result of rank 5, a batch of volumes [N, C, D,
H, W], is a batch of images: the slices [N * D, H, W, C].
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.quantized import dynamic_source, is_dequantize, is_quantize
from sdk.backends.transforms.constants import get_constant, is_constant
from sdk.backends.transforms.weight_files import WeightFiles
from sdk.backends.xnnpack.clamps import join_clamps
from sdk.backends.xnnpack.layouts import (
    SLICES_FIRST,
    SLICES_LAST,
    TO_NCHW,
    TO_NHWC,
    as_images,
    is_channels_last,
    shape_of_images,
)
from sdk.backends.xnnpack.payload_nodes import inputs_of, outputs_of, renumber, used_nodes
from sdk.backends.xnnpack.payload_values import PayloadValues
from sdk.backends.xnnpack.quantization import IntegerCall, scale_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import (
    NO_VALUE,
    NODES,
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
from sdk.backends.xnnpack.serialization.xnnpack_values import (
    PerTokenDynamicQuant,
)
from sdk.exir.sym_util import eval_upper_bound

# Kinds of conversion of a step.
FLOAT_TO_BOOL, BOOL_TO_FLOAT, INT64_TO_FLOAT, INT64_TO_TRUTH, FLOAT_TO_TRUTH = range(5)


def is_half(node: Node) -> bool:
    """Whether the first (or only) result of a node is in half precision."""
    value = node.meta.get("val")
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return isinstance(first, torch.Tensor) and first.dtype == torch.float16


def shape_of(node: Node) -> list[int]:
    """The sizes of a node's first (or only) result, with the upper bounds of dynamic sizes."""
    value = node.meta["val"]
    return [eval_upper_bound(size) for size in (value[0] if isinstance(value, (list, tuple)) else value).shape]


class SubgraphWriter(PayloadValues):
    """Ids are indices into `values`, until `graph` numbers the remaining values. Inside a delegate, bools are float32
    numbers 0 and 1; integers exist only as arguments.

    int8: while an `IntegerCall` is written (`integers_for`), its `dequantize_per_tensor` operands are read as their
    int8 inputs, and its result is that of the `quantize_per_tensor` after it. Elsewhere these two are conversions,
    which are added when a node reads the floats.

    Half precision: the numbers and constants of a call have the dtype of its result. While a call that computes in
    float32 is written (`in_floats`), its operands are converted to float32 and its result is rounded.
    """

    def __init__(self, program: ExportedProgram, files: WeightFiles) -> None:
        super().__init__(files)
        self.program = program
        self.nodes: list[XNode] = []
        self._forms: dict[Node, dict[bool, int]] = {}  # node -> whether NHWC -> id
        # int64 arguments, and views of them.
        self.integers: dict[Node, int] = {}
        self._dynamic: dict[int, int] = {}  # floats -> the same, quantised for each row
        self._floats: dict[Node, dict[bool, int]] = {}  # like _forms: halves converted to float32
        self._converts_halves = False
        self._rounded: dict[int, int] = {}  # float32 -> the half-precision result
        self._call: IntegerCall | None = None
        self._covered: set[Node] = set()
        self._externals = 0
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._handle = 0
        self._numbers = {NO_VALUE: NO_VALUE}  # ids -> ids of the complete graph, without gaps
        # Nodes of the payload have their own identifiers, because several may come from one node of the graph.
        self.handles: dict[int, tuple[int, ...]] = {}  # identifier -> debug handle

    def enter(self, node: Node) -> None:
        """Attributes the nodes that are added next to `node`."""
        handle = node.meta.get("debug_handle", 0)
        self._handle = int(handle[0] if isinstance(handle, (list, tuple)) else handle or 0)
        self._type = torch.float16 if is_half(node) else torch.float32

    @contextmanager
    def in_floats(self) -> Iterator[None]:
        """The context in which a half-precision call that computes in float32 is written."""
        self._type, self._converts_halves = torch.float32, True
        yield
        for floats, result in self._rounded.items():
            self.add(NODES["Convert"](floats, result))
        self._rounded, self._converts_halves = {}, False

    def add_input(self, node: Node) -> None:
        """Adds the next argument of the delegate."""
        nhwc, dtype = bool(is_channels_last(node)), node.meta["val"].dtype
        shape = shape_of_images(shape_of(node)) if nhwc else shape_of(node)
        index = self._value(shape, dtype)
        if dtype == torch.int8:
            self._set_scale(index, scale_of(next(filter(is_dequantize, node.users))))
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
        """Adds the next result of the delegate. Each result is a separate value that a node computes."""
        nhwc = bool(is_channels_last(node))
        index = self.read(node, nhwc)
        value = self.values[index]
        if node.meta["val"].dtype == torch.bool:
            source, index = index, self._value(list(value.dims), torch.bool)
            self.add_step(StepKind.CONVERT, [source], index, [FLOAT_TO_BOOL])
        elif value.flags or value.constant_buffer_idx:
            index = self._like(index, list(value.dims))
            self.add(NODES["Copy"](self.read(node, nhwc), index))
        self._make_external(index, ValueFlag.EXTERNAL_OUTPUT)
        self._outputs.append(index)

    def has(self, node: Any, nhwc: bool) -> bool:
        """Whether a result exists in a layout, or can be read in it without a node."""
        if is_constant(self.program, node) or nhwc in self._forms.get(node, ()):
            return True
        return node not in self._forms and is_dequantize(node) and self.has(node.args[0], nhwc)

    def can_read(self, node: Any) -> bool:
        """Whether a result is a value of the payload in any layout. The result of a call that was fused into another is
        not: a linear layer followed by a view has only the shape of the view."""
        return self.has(node, False) or self.has(node, True)

    def is_written(self, node: Node) -> bool:
        """Whether a result exists already, or was fused into another call."""
        return node in self._forms or node in self.integers or node in self._covered

    @contextmanager
    def integers_for(self, call: IntegerCall) -> Iterator[None]:
        """The context in which a call that computes in int8 is written."""
        self._call = call
        self._covered.update(call.covered)
        yield
        limits = self.take_limits()
        if limits is not None:
            (index,) = self._forms[call.result].values()
            nhwc = True in self._forms[call.result]
            clamped = self._like(index, list(self.values[index].dims))
            self.add(NODES["Clamp"](index, clamped), limits)
            self._forms[call.result] = {nhwc: clamped}
        self._call = None

    def cover(self, node: Node) -> None:
        """Marks `node` as fused into another call; no other node reads it."""
        self._covered.add(node)

    @property
    def in_integers(self) -> bool:
        """Whether the call that is being written computes in int8."""
        return self._call is not None

    def take_limits(self) -> tuple[float, float] | None:
        """Returns and clears the limits of the int8 call that is being written, for a node that can clamp."""
        if self._call is None or self._call.limits is None:
            return None
        limits, self._call = self._call.limits, replace(self._call, limits=None)
        return limits

    def read(self, operand: Any, nhwc: bool = False, rank: int = 1) -> int:
        """The id of an operand in a layout. The operand is a tensor, or a number, which becomes a constant of rank 1
        (of rank 0 if `rank` is 0)."""
        if not isinstance(operand, Node):
            return self.constant(torch.full((1,) * min(rank, 1), float(operand)))
        if self._call is not None and is_dequantize(operand):
            return self._read_quantized(operand, nhwc)
        source = dynamic_source(operand)
        if source is not None:
            return self._read_dynamic(source, nhwc)
        if self._converts_halves and is_half(operand):
            return self._read_floats(operand, nhwc)
        forms = self._forms.setdefault(operand, {})
        if nhwc not in forms:
            tensor = get_constant(self.program, operand)
            if tensor is not None:
                forms[nhwc] = self.constant(as_images(tensor) if nhwc else tensor, tensor.dtype)
            elif not forms and is_dequantize(operand):
                integers = self.read(operand.args[0], nhwc)
                forms[nhwc] = self._value(list(self.values[integers].dims))
                self.add(NODES["Convert"](integers, forms[nhwc]))
            elif not forms:
                raise RuntimeError(f"a delegate of XNNPACK reads {operand}, which it does not compute")
            else:
                forms[nhwc] = self._turn(operand, forms[not nhwc], nhwc)
        return forms[nhwc]

    def _turn(self, operand: Node, source: int, nhwc: bool) -> int:
        """Converts `source`, which is `operand` in one layout, to the other layout."""
        dims = self.values[source].dims
        if len(shape_of(operand)) == 4:
            permutation = TO_NHWC if nhwc else TO_NCHW
            result = self._like(source, [dims[dim] for dim in permutation])
            self.add(NODES["StaticTranspose"](4, list(permutation), source, result))
            return result
        batch, channels, *sizes = shape_of(operand)
        slices = self._like(source, [batch, *sizes, channels])
        if nhwc:
            result = self._like(source, shape_of_images(shape_of(operand)))
            self.add(NODES["StaticTranspose"](5, list(SLICES_LAST), source, slices))
            self.add(NODES["StaticReshape"](4, [0, *sizes[1:], channels], slices, result))
        else:
            result = self._like(source, shape_of(operand))
            self.add(NODES["StaticReshape"](5, [0, *sizes, channels], source, slices))
            self.add(NODES["StaticTranspose"](5, list(SLICES_FIRST), slices, result))
        return result

    def _read_floats(self, operand: Node, nhwc: bool) -> int:
        """A result in half precision, converted to float32."""
        forms = self._floats.setdefault(operand, {})
        if nhwc not in forms:
            tensor = get_constant(self.program, operand)
            if tensor is not None:
                forms[nhwc] = self.constant(as_images(tensor) if nhwc else tensor)
                return forms[nhwc]
            self._converts_halves = False
            half = self.read(operand, nhwc)
            self._converts_halves = True
            forms[nhwc] = self._value(list(self.values[half].dims))
            self.add(NODES["Convert"](half, forms[nhwc]))
        return forms[nhwc]

    def _read_quantized(self, operand: Node, nhwc: bool) -> int:
        """The integers that `operand` dequantises. If the call keeps its scale, they are converted to that scale."""
        assert self._call is not None
        scale, source = scale_of(operand), operand.args[0]
        tensor = get_constant(self.program, source)
        if tensor is not None:
            index = self._add_constant(as_images(tensor) if nhwc else tensor, XNNDatatype.xnn_datatype_qint8)
            self._set_scale(index, scale)
        else:
            index = self.read(source, nhwc)
        if self._call.keeps_scale and scale != self._call.scale:
            integers, index = index, self._value(list(self.values[index].dims), torch.int8)
            self._set_scale(index, self._call.scale)
            self.add(NODES["Convert"](integers, index))
        return index

    def _read_dynamic(self, source: Node, nhwc: bool) -> int:
        """`source` with dynamic quantisation: a scale for each row, or for each image."""
        floats = self.read(source, nhwc)
        if floats not in self._dynamic:
            dims = list(self.values[floats].dims)
            index = self._dynamic[floats] = self._value(dims, XNNDatatype.xnn_datatype_qdint8)
            self._quantization[index] = PerTokenDynamicQuant(3 if nhwc else 1)
            self.add(NODES["Convert"](floats, index))
        return self._dynamic[floats]

    def read_integers(self, operand: Any) -> int:
        """Returns the id of an int64 argument. `operand` may be a view of it."""
        if operand not in self.integers:
            raise RuntimeError(f"a delegate of XNNPACK takes integers as arguments; {operand} is computed inside of it")
        return self.integers[operand]

    def result(self, node: Node, nhwc: bool = False) -> int:
        """A new value for the result of a node."""
        shape = shape_of_images(shape_of(node)) if nhwc else shape_of(node)
        if self._call is not None:
            node = self._call.result
        elif not is_quantize(node):
            index = self._value(shape, torch.float16 if is_half(node) else torch.float32)
            self._forms.setdefault(node, {})[nhwc] = index
            if not (self._converts_halves and is_half(node)):
                return index
            floats = self._value(shape)
            self._rounded[floats] = index
            return floats
        index = self._value(shape, torch.int8)
        self._set_scale(index, scale_of(node))
        self._forms.setdefault(node, {})[nhwc] = index
        return index

    def alias(self, node: Node, operand: Node) -> None:
        """Makes `node` the same value as `operand`."""
        if self._call is not None:
            nhwc = not self.has(operand, False)
            self._forms[self._call.result] = {nhwc: self.read(operand, nhwc)}
            return
        if operand not in self._forms:
            self.read(operand, not self.has(operand, False))
        self._forms[node] = self._forms[operand]

    def temporary(self, shape: list[int]) -> int:
        """A new value for an intermediate result, which belongs to no node of the graph."""
        if self._call is None:
            return self._value(shape, self._type)
        index = self._value(shape, torch.int8)
        self._set_scale(index, self._call.scale)
        return index

    def add(self, node: Any, limits: tuple[float, float] | None = None) -> None:
        """Adds a node that clamps its results to `limits`."""
        identifier = 0  # 0 means none
        if self._handle:
            identifier = len(self.nodes) + 1
            self.handles[identifier] = (self._handle,)
        self.nodes.append(XNode(node, identifier, None if limits is None else OutputMinMax(*limits)))

    def add_step(
        self,
        kind: StepKind,
        inputs: list[int],
        output: int,
        integers: list[int] | None = None,
        numbers: list[float] | None = None,
        flags: int = 0,
        more_outputs: list[int] | None = None,
    ) -> None:
        """Adds a step: a node that XNNPACK lacks."""
        self.add(XNNStep(kind, inputs, output, flags, integers or [], numbers or [], more_outputs or []))

    def graph(self) -> XNNGraph:
        """The payload's graph. There, ids are the positions of its values; readers of the format rely on that."""
        self.nodes = used_nodes(self.nodes, self._outputs)
        self._join_clamps()
        used = self._used_values()
        values = [XValue(self._quantized(value)) for value in used]
        self._numbers.update({value.id_out: number for number, value in enumerate(used)})
        for node in self.nodes:
            renumber(node.xnode_union, self._numbers)
        for number, value in enumerate(used):
            value.id_out = number
        inputs, outputs = ([self._numbers[index] for index in ids] for ids in (self._inputs, self._outputs))
        return XNNGraph("0", self.nodes, values, self._externals, inputs, outputs, self.constants.entries)

    def recorded_values(self) -> dict[int, tuple[int, str, bool]]:
        """The values that the runtime can log, once the graph is complete. Maps the identifiers of nodes that compute
        the result of a call to its debug handle, its operator, and whether the value is NHWC. Other values are
        intermediate.
        """
        owners: dict[int, tuple[int, str, bool]] = {}
        for node, forms in self._forms.items():
            handle = node.meta.get("debug_handle") if isinstance(node, Node) and node.op == "call_function" else None
            for nhwc, index in forms.items():
                if isinstance(handle, int) and node.target is not operator.getitem:
                    owners.setdefault(self._numbers.get(index, NO_VALUE), (handle, node.target.__name__, nhwc))
        found: dict[int, tuple[int, str, bool]] = {}
        for written in self.nodes:
            outputs = outputs_of(written.xnode_union)
            if written.debug_handle and len(outputs) == 1 and outputs[0] in owners:
                found[written.debug_handle] = owners[outputs[0]]
        return found

    def _join_clamps(self) -> None:
        read = Counter(self._outputs)
        for node in self.nodes:
            read.update(set(inputs_of(node.xnode_union)))
        floats = {value.id_out for value in self.values if value.id_out not in self._quantization}
        self.nodes = join_clamps(self.nodes, read, floats)

    def _used_values(self) -> list[XNNTensorValue]:
        used = {*self._inputs, *self._outputs}
        for node in self.nodes:
            used.update(inputs_of(node.xnode_union), outputs_of(node.xnode_union))
        return [value for value in self.values if value.id_out in used]

    def _make_external(self, index: int, flag: ValueFlag) -> None:
        self.values[index].external_id, self.values[index].flags = self._externals, flag
        self._externals += 1
