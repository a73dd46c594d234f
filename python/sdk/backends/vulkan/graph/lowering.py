# SPDX-License-Identifier: BSD-3-Clause
"""`lower` turns the exported program of a partition into calls of the runtime's operators.

Each operator of the program is a call of the operator of the same name, with the arguments in the order of its schema.
Rules make other calls, for fusions and for calls that this operator does not support but others can compute.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from sdk.backends.operators import Operator
from sdk.backends.transforms.constants import get_constant, is_constant
from sdk.backends.vulkan.graph.ir import CHANGES_STATE, Call, GpuGraph, Symbol, Tensor, Value, tensors_of
from sdk.backends.vulkan.op_features import OpFeatures, Storages
from sdk.backends.vulkan.op_registry import called_operator, get_op_features
from sdk.backends.vulkan.options import Options
from sdk.backends.vulkan.representations import ANY_STORAGE, ANY_STORAGE_OR_INT8, CONTIGUOUS_BUFFER, Reprs
from sdk.exir.sym_util import upper_bound

Rule = Callable[["Lowering", Node], Value | None]
"""Lowers a node and returns its value, or None if the rule does not apply."""

RULES: dict[str, list[Rule]] = {}
"""Rules by the names of the operators. The first that applies makes the calls."""

EXACT = {
    **{
        f"quantized_decomposed.{verb}_per_{kind}.default": (1,)
        for verb in ("quantize", "dequantize")
        for kind in ("channel", "token")
    },
    **{f"quantized_decomposed.{verb}_per_tensor.tensor": (1,) for verb in ("quantize", "dequantize")},
    **{f"torchao.{verb}_affine.default": (2,) for verb in ("quantize", "dequantize")},
    "et_vk.linear_dq8ca_q4gsw.default": (1,),
    "quantized_decomposed.choose_qparams.tensor": (-1,),
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default": (-1,),
    "torchao.choose_qparams_affine.default": (-1,),
}
"""The positions of scales among the arguments of operators; -1 for the first result. They stay float32."""

_ASSERTS = ("_assert_scalar.default", "sym_constrain_range_for_size.default")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for operators. Rules that are registered later have priority."""

    def decorate(found: Rule) -> Rule:
        for name in names:
            RULES.setdefault(name, []).insert(0, found)
        return found

    return decorate


class Lowering:
    """The graph that is being written. Calls that nothing reads are removed at the end, so that a rule fuses a node by
    reading the operands of that node instead of its result."""

    def __init__(self, program: ExportedProgram, options: Options, operators: Mapping[str, Operator]) -> None:
        self.program = program
        self.options = options
        self._operators = operators
        self.graph = GpuGraph()
        self._values: dict[Node, Value] = {}
        self._packed: dict[Tensor, Tensor] = {}
        self._scalars: dict[tuple[float, torch.dtype], Tensor] = {}
        self._sizes: dict[tuple[Node, int], Symbol] = {}
        self._writing: list[Node] = []

    def run(self) -> GpuGraph:
        graph = self.program.graph
        signature = self.program.graph_signature
        given = {spec.arg.name for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT}
        for node in graph.nodes:
            if node.op == "placeholder" and node.name in given:
                value = self._new(node)
                self._values[node] = value
                self.graph.inputs.append(value)
        for node in graph.nodes:
            if node.op == "call_function" and called_operator(node) not in _ASSERTS and not self._is_constant(node):
                self._values[node] = self._write(node)
        for spec, result in zip(signature.output_specs, graph.output_node().args[0], strict=True):
            if not isinstance(result, Node):
                raise RuntimeError(f"a delegate of Vulkan returns tensors; {result!r} is not a tensor")
            if spec.kind != OutputKind.BUFFER_MUTATION:
                self.graph.outputs.append(self._output(result))
        for spec, result in zip(signature.output_specs, graph.output_node().args[0], strict=True):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self._keep(spec.target, result)
        self.graph.remove_unread()
        return self.graph

    def value(self, node: Node) -> Value:
        """Returns the value of a node. Its operands must have been lowered."""
        if node not in self._values:
            tensor = get_constant(self.program, node)
            self._values[node] = self._state(node) if tensor is None else self.constant(tensor)
        return self._values[node]

    def tensor(self, node: Node) -> Tensor:
        """The value of a node that is a tensor."""
        value = self.value(node)
        assert isinstance(value, Tensor), node
        return value

    def constant(self, tensor: torch.Tensor, is_exact: bool = False) -> Tensor:
        """A new constant, which has no node in the program."""
        return Tensor(tensor.dtype, tuple(tensor.shape), tensor.detach(), is_exact=is_exact)

    def features(self, name: str) -> OpFeatures:
        """The operator's conditions."""
        return get_op_features(name)

    def size_of(self, node: Node, dim: int) -> Symbol:
        """The size of a dynamic dimension, when the program runs."""
        key = (node, dim)
        if key not in self._sizes:
            self._sizes[key] = self.call("sym_size.int", [node, dim], Symbol())
        return self._sizes[key]

    def flattened(self, value: Tensor, of: tuple[torch.dtype, Sequence[Any]]) -> Tensor:
        """A view of a value as a batch of matrices. `of` has the value's dtype and shape."""
        dtype, shape = of
        if len(shape) == 3:
            return value
        count = 1
        for size in shape[:-2]:
            count = count * size
        target = [size if isinstance(size, int) else -1 for size in (count, *shape[-2:])]
        found: Tensor = self.call("aten.view_copy.default", [value, target], (dtype, [count, *shape[-2:]]))
        return found

    def scalar(self, value: float | int | bool, dtype: torch.dtype) -> Tensor:
        """A number as a tensor without dimensions."""
        key = (float(value), dtype)
        if key not in self._scalars:
            self._scalars[key] = self.constant(torch.tensor(value, dtype=dtype))
        return self._scalars[key]

    def call(
        self,
        name: str,
        args: Sequence[Any],
        result: Any,
        storages: Storages | None = None,
    ) -> Any:
        """Adds a call and returns its value. `args` are nodes, values, numbers, text and lists of those. `result` is
        the node, the fake tensor or the list of fake tensors of the result, or a pair of dtype and shape."""
        features = get_op_features(name)
        values = [self._argument(features, position, argument) for position, argument in enumerate(args)]
        found = result if isinstance(result, Tensor | Symbol) else self._new(result)
        for position in EXACT.get(name, ()):
            scales = values[position] if position >= 0 else next(tensors_of(found))
            for tensor in tensors_of(scales):
                tensor.is_exact = True
        call = Call(name, values, found, list(self._writing), features)
        if name in CHANGES_STATE:
            storages = CONTIGUOUS_BUFFER, CONTIGUOUS_BUFFER  # so that the call changes the state, not a copy of it
        if storages is None:
            storages = (
                features.storages(self._writing[-1])
                if self._asks(name)
                else (features.inputs_storage, features.outputs_storage)
            )
        _set_storages(call, storages)
        self.graph.calls.append(call)
        return found

    def default(self, node: Node) -> Value:
        """The call of the operator of the same name."""
        name = called_operator(node)
        features = get_op_features(name)
        return self.call(name, bound_arguments(node), node, features.storages(node))

    def _asks(self, name: str) -> bool:
        return bool(self._writing) and called_operator(self._writing[-1]) == name

    def _write(self, node: Node) -> Value:
        if node.target is operator.getitem:
            values = self._values[node.args[0]]
            assert isinstance(values, list)
            return values[node.args[1]]
        self._writing.append(node)
        try:
            return self._operators[called_operator(node)].lower(node, self)
        finally:
            self._writing.pop()

    def _is_constant(self, node: Node) -> bool:
        return is_constant(self.program, node)

    def changed_in_place(self, state: Node, reader: Node) -> Tensor | None:
        """The tensor of a buffer that `reader` may change in place, because nothing else reads the old contents. None
        if there is another reader, or if `state` is not a buffer of the delegate."""
        value = self.value(state)
        alone = list(state.users) == [reader]
        return value if isinstance(value, Tensor) and value.is_state and alone else None

    def change(self, name: str, state: Tensor, args: Sequence[Any]) -> Tensor:
        """Calls an operator that changes its first argument, which is `state`, and returns the state."""
        self.call(name, [state, *args], Tensor(state.dtype, state.shape))
        return state

    def _keep(self, target: str | None, result: Node) -> None:
        """Writes the new value of a buffer, unless calls have changed it in place."""
        state = next(s for s, name in self._targets().items() if name == target)
        placeholder = next(node for node in self.program.graph.nodes if node.name == state)
        before, after = self.tensor(placeholder), self.tensor(result)
        if after is not before:
            self.change("aten.copy_.default", before, [after, False])

    def _targets(self) -> dict[str, str]:
        signature = self.program.graph_signature
        return {**signature.inputs_to_buffers, **signature.inputs_to_parameters}

    def _state(self, node: Node) -> Tensor:
        """A buffer that calls change."""
        name = self._targets().get(node.name)
        tensors = {**self.program.constants, **self.program.state_dict}
        if name not in tensors:
            raise RuntimeError(f"{node} is neither an input of the delegate nor a constant")
        tensor = tensors[name]
        return Tensor(tensor.dtype, tuple(tensor.shape), tensor.detach(), is_state=True)

    def _argument(self, features: OpFeatures, position: int, argument: Any) -> Any:
        if isinstance(argument, Node):
            argument = self.value(argument)
        if isinstance(argument, list | tuple):
            return [self._argument(features, -1, item) for item in argument]
        if isinstance(argument, Tensor) and argument.constant is not None:
            own = features.supports_prepacking and position not in (-1, features.first)
            return argument if own else self.packed(argument)
        return argument

    def packed(self, constant: Tensor) -> Tensor:
        """A constant as a tensor of the GPU."""
        if constant not in self._packed:
            result = Tensor(constant.dtype, constant.shape, is_state=constant.is_state, is_exact=constant.is_exact)
            call = Call("et_vk.prepack.default", [constant], result, list(self._writing[-1:]))
            call.features = get_op_features(call.name)
            call.outputs = [CONTIGUOUS_BUFFER if constant.is_state else ANY_STORAGE]
            call.inputs = [None]
            self._packed[constant] = result
            self.graph.calls.append(call)
        return self._packed[constant]

    def _output(self, node: Node) -> Value:
        value = self.value(node)
        if isinstance(value, Tensor):
            if value.is_state:
                return self.clone(value)
            if value.constant is not None:
                return self.packed(value)
            if value in self.graph.inputs or value in self.graph.outputs:
                return self.clone(value)
        return value

    def clone(self, value: Tensor) -> Tensor:
        """A copy of a tensor."""
        return self.call("aten.clone.default", [value, None], Tensor(value.dtype, value.shape))

    def _new(self, of: Any) -> Value:
        if isinstance(of, Node):
            of = of.meta["val"]
        if isinstance(of, torch.Tensor):
            return Tensor(of.dtype, sizes(of.shape))
        if isinstance(of, list) or (isinstance(of, tuple) and not isinstance(of[0], torch.dtype)):
            return [self._new(item) for item in of]
        if isinstance(of, tuple):
            return Tensor(of[0], sizes(of[1]))
        bound = upper_bound(of) if isinstance(of, torch.SymInt) else None
        return Symbol(bound if bound is not None and abs(bound) < 2**31 else 0)


def lower(program: ExportedProgram, options: Options, operators: Mapping[str, Operator]) -> GpuGraph:
    """The calls of a program, which the entries of a table of operators make."""
    return Lowering(program, options, operators).run()


def sizes(shape: Sequence[int | torch.SymInt]) -> tuple[int, ...]:
    """Returns the largest sizes of a shape. Raises RuntimeError if a size has no upper bound."""
    found = [upper_bound(size) for size in shape]
    if None in found:
        raise RuntimeError(f"the shape {list(shape)} has no largest size; give the dynamic dimension a `max`")
    return tuple(size for size in found if size is not None)


def bound_arguments(node: Node) -> list[Any]:
    """All arguments of a call in the order of its schema, with defaults filled in."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return list(node.args)
    found: list[Any] = []
    for position, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and position < len(node.args):
            value = node.args[position]
        else:
            value = node.kwargs.get(argument.name, argument.default_value)
        if isinstance(value, torch.dtype | torch.device | torch.layout | torch.memory_format):
            value = None  # the result's dtype has this information
        elif isinstance(value, int | float) and not isinstance(value, bool) and str(argument.type) == "float":
            value = float(value)
        found.append(value)
    return found


def _set_storages(call: Call, storages: Storages) -> None:
    inputs, outputs = storages
    count = len(call.results())
    first = next((tensor for _, tensor in call.operands()), None)
    joint = isinstance(inputs, frozenset)
    count_args = range(len(call.args))
    per_input: list[Reprs | None]
    if isinstance(inputs, frozenset):
        per_input = [inputs for _ in count_args]
    else:
        per_input = [inputs[i] if i < len(inputs) else None for i in count_args]
    call.inputs = [
        reprs if any(t.constant is None for t in tensors_of(argument)) else None
        for argument, reprs in zip(call.args, per_input, strict=True)
    ]
    primary = next((reprs for reprs in call.inputs if reprs is not None), None)
    fallback = primary if primary is not None else next((r for r in per_input if r is not None), ANY_STORAGE_OR_INT8)
    if outputs is None or isinstance(outputs, frozenset):
        call.outputs = [fallback if outputs is None else outputs] * count
    else:
        call.outputs = list(outputs[:count])
    call.joint = joint
    call.tied = first is not None and bool(call.outputs) and call.outputs[0] == primary
