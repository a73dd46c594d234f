# SPDX-License-Identifier: BSD-3-Clause
"""Lowers the graph of an `ExportedProgram` from ATen dialect to edge dialect, and rebuilds the signature for the
result."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node

from sdk.exir._messages import source_of
from sdk.exir._to_edge._emitter import EdgeOptions
from sdk.exir._to_edge._graph import EdgeGraph, EdgeLowering
from sdk.exir._to_edge._overlap import refuse_shared_writes
from sdk.exir._to_edge._recorder import NeedsRetracingError
from sdk.exir._to_edge._retrace import retraced
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.branch_constants import lift_branch_constants, reads_attributes
from sdk.exir.graph.fake import fake_mode_of
from sdk.exir.operator.aten_rules import TRAINING_ARGUMENT, WHOLE_PADS, decomposition_table
from sdk.exir.passes.external_constants_pass import restore_delegate_tags
from sdk.exir.passes.remove_noop_pass import SLICES, remove_noops
from sdk.exir.tensor import has_repeated_elements


def lower_to_edge(
    program: ExportedProgram, options: EdgeOptions, verifier: type, notes: list[str] | None = None
) -> ExportedProgram:
    """The edge form of a program. The input is not changed; weights are shared, not copied.

    Programs with writes that cannot be lowered node by node (some writes through views) are first made functional by
    `torch.export`'s own tracer, which is slower; a note says so then.
    """
    if notes is not None:
        notes += _training_notes(program)
    refuse_shared_writes(program)
    try:
        return _lower(program, options, verifier)
    except NeedsRetracingError as reason:
        if notes is not None:
            notes.append(f"the program was re-traced to make it functional: {reason}")
        preserved = options.preserved
        table = {op: f for op, f in _full_table().items() if op not in preserved}
        return _lower(retraced(program, table, reason), options, verifier)


def _training_notes(program: ExportedProgram) -> list[str]:
    """Names the operators that compute as in training, in case the model was exported without `.eval()` by mistake."""
    notes = []
    for node in program.graph.nodes:
        place = TRAINING_ARGUMENT.get(node.target)
        if place is not None and len(node.args) > place and node.args[place] is True:
            notes.append(
                f"{node.target} computes as in training (random numbers, or statistics of the batch). For inference "
                f"call .eval() before torch.export.{source_of(node)}"
            )
    return notes


def _full_table() -> Any:
    table = torch.export.default_decompositions().materialize()
    return {op: f for op, f in {**table, **decomposition_table()}.items() if op not in WHOLE_PADS}


def _lower(program: ExportedProgram, options: EdgeOptions, verifier: type) -> ExportedProgram:
    module = program.graph_module
    fake_mode = fake_mode_of(module)
    root = torch.nn.Module()
    constants = _ConstantPlaceholders(program, fake_mode)
    lowering = EdgeLowering(module, root, fake_mode, options, constants)
    with _WithoutBackendKernels():
        lowered = lowering.run()
    outputs = _add_output(lowered, program)
    lowered.graph.eliminate_dead_code(_is_impure)
    signature = _signature(lowered, program.graph_signature, constants, outputs)
    branches = [m.graph for m in root.modules() if isinstance(m, GraphModule)]
    for graph in (lowered.graph, *branches):
        remove_noops(graph, SLICES)
    verifier().check_calls([lowered.graph, *branches])
    edge = ExportedProgram(
        root=root,
        graph=lowered.graph,
        graph_signature=signature,
        state_dict=_dense({**program.state_dict, **constants.tensors}),
        range_constraints=copy.copy(program.range_constraints),
        module_call_graph=_call_graph(program),
        example_inputs=program.example_inputs,
        constants=_dense(program.constants),
        verifiers=[verifier],
    )
    if reads_attributes(edge.graph_module):
        lift_branch_constants(edge)
    restore_delegate_tags(edge)
    return edge


def _dense(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Expanded tensors are copied: a file holds each element."""
    found = dict(tensors)
    for name, value in tensors.items():
        if has_repeated_elements(value):
            dense = value.detach().contiguous()
            is_parameter = isinstance(value, torch.nn.Parameter)
            found[name] = torch.nn.Parameter(dense, value.requires_grad) if is_parameter else dense
    return found


class _WithoutBackendKernels:
    """While active, PyTorch decomposes into operators that exist everywhere, not into those of its own CPU backends."""

    def __enter__(self) -> None:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        self._mkldnn = torch.backends.mkldnn.set_flags(False)
        self._nnpack = torch.backends.nnpack.set_flags(False)
        self._sdpa = sdpa_kernel(SDPBackend.MATH)
        self._sdpa.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._sdpa.__exit__(*exc)
        torch.backends.nnpack.set_flags(*self._nnpack)
        torch.backends.mkldnn.set_flags(*self._mkldnn)


def _is_impure(node: Node) -> bool:
    target = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    return node.op in ("placeholder", "output") or target in (
        torch.ops.aten._assert_scalar.default,
        torch.ops.aten._assert_async.msg,
        torch.ops.aten.sym_constrain_range_for_size.default,
        torch.ops.aten.sym_constrain_range.default,
    )


class _ConstantPlaceholders:
    """Adds constants to a program as buffers, in front of the user's inputs. Equal scalars share one."""

    def __init__(self, program: ExportedProgram, fake_mode: FakeTensorMode) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._fake_mode = fake_mode
        self._taken = set(program.state_dict) | set(program.constants) | {n.name for n in program.graph.nodes}
        self._user_inputs = set(program.graph_signature.user_inputs)
        self._nodes: dict[Any, Node] = {}
        self._front: Node | None = None

    def __call__(self, graph: Graph, constant: torch.Tensor) -> Node:
        key = (constant.dtype, repr(constant.item())) if constant.dim() == 0 else None
        if key in self._nodes and key is not None:
            return self._nodes[key]
        index = len(self.tensors)
        while f"_lifted_tensor_constant{index}" in self._taken:
            index += 1
        name = f"_lifted_tensor_constant{index}"
        self._taken.add(name)
        self.tensors[name] = constant
        with graph.inserting_before(self._first_user_input(graph)):
            node = graph.placeholder(name)
        node.meta["val"] = self._fake_mode.from_tensor(constant, static_shapes=True)
        if key is not None:
            self._nodes[key] = node
        return node

    def _first_user_input(self, graph: Graph) -> Node:
        """The node before which constants are inserted: the first that is not a weight's placeholder."""
        if self._front is None:
            behind = (n for n in graph.nodes if n.op != "placeholder" or n.name in self._user_inputs)
            self._front = next(behind, None)
        return self._front or graph._root


def _argument(value: Any, old: Any) -> Any:
    """The signature's description of an output that is now computed by `value`."""
    if not isinstance(value, Node):
        from torch.export.graph_signature import ConstantArgument

        name = getattr(old, "name", "") or ""
        return ConstantArgument(name=name, value=value)
    val = value.meta.get("val")
    for kind, argument in (
        (torch.SymInt, SymIntArgument),
        (torch.SymFloat, SymFloatArgument),
        (torch.SymBool, SymBoolArgument),
    ):
        if isinstance(val, kind):
            return argument(name=value.name)
    return TensorArgument(name=value.name)


def _add_output(lowered: EdgeGraph, program: ExportedProgram) -> list[OutputSpec]:
    """Adds the output node: first the new values of mutated buffers and inputs, then the program's outputs."""
    signature = program.graph_signature
    inputs = {spec.arg.name: spec for spec in signature.input_specs if hasattr(spec.arg, "name")}
    values, specs = [], []
    for name, value in lowered.written.items():
        spec = inputs[name]
        kinds = {
            InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
            InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
            InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
        }
        if spec.kind not in kinds:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"the program writes to the tensor {spec.target}, which torch.export made a constant because it is no "
                "buffer of the model: what is written would be lost after each call. Make it a buffer "
                "(self.register_buffer), or, if it is one under another name already, as in the StaticCache "
                f"of transformers, call torch.export.export(..., strict=True).{source_of(value)}",
            )
        target = name if spec.kind == InputKind.USER_INPUT else spec.target
        values.append(value)
        specs.append(OutputSpec(kind=kinds[spec.kind], arg=_argument(value, None), target=target))
    for value, spec in zip(lowered.outputs, signature.output_specs, strict=True):
        values.append(value)
        specs.append(OutputSpec(kind=spec.kind, arg=_argument(value, spec.arg), target=spec.target))
    output = lowered.graph.output(tuple(values))
    output.meta["val"] = tuple(v.meta.get("val") if isinstance(v, Node) else v for v in values)
    return specs


def _signature(
    lowered: EdgeGraph, old: ExportGraphSignature, constants: _ConstantPlaceholders, outputs: list[OutputSpec]
) -> ExportGraphSignature:
    specs = {spec.arg.name: spec for spec in old.input_specs}
    inputs = []
    for node in lowered.graph.nodes:
        if node.op != "placeholder":
            continue
        if node.name in constants.tensors:
            arg = TensorArgument(name=node.name)
            inputs.append(InputSpec(kind=InputKind.BUFFER, arg=arg, target=node.name, persistent=True))
        else:
            inputs.append(copy.copy(specs[node.name]))
    return ExportGraphSignature(input_specs=inputs, output_specs=outputs)


def _call_graph(program: ExportedProgram) -> list[Any]:
    """The module call graph. Only the root's calling convention outlives lowering: submodules' nodes no longer
    exist."""
    entries = []
    for entry in program.module_call_graph:
        entry = copy.copy(entry)
        if entry.fqn:
            entry.signature = None
        elif entry.signature is not None:
            signature = copy.copy(entry.signature)
            signature.inputs, signature.outputs = [], []
            entry.signature = signature
        entries.append(entry)
    return entries
