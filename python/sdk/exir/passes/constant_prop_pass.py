# SPDX-License-Identifier: BSD-3-Clause
"""Constant propagation: computes ahead of time the results that depend only on constants.

`constant_prop_pass` works on an exported program, whose weights are inputs of its graph. `ConstPropPass` works on a
graph module, whose weights are attributes.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, TensorArgument
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.graph.programs import assemble, copy_program
from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue

aten = torch.ops.aten

_FACTORIES = frozenset({aten.full.default, aten.full_like.default, aten.empty.memory_format})
"""Operators that make a large tensor out of a number: storing the result would only make the program larger."""


def constant_prop_pass(
    exported_program: ExportedProgram,
    custom_skip_targets: set[Any] | None = None,
    _skip_dim_order: bool = True,
) -> ExportedProgram:
    """A program, in ATen or edge dialect, in which operators on constants are replaced by their results.

    Skips `custom_skip_targets`, by default the operators that quantise and dequantise; random operators, buffers that
    the program changes and, unless `_skip_dim_order` is False, operators with a dim order. A result that is returned is
    copied, because an output needs separate memory.
    """
    program = copy_program(exported_program)
    values = _constants(program)
    known: dict[Node, Any] = {
        n: values[n.name] for n in program.graph.nodes if n.op == "placeholder" and n.name in values
    }
    for node in program.graph.nodes:
        if _can_fold(node, known, custom_skip_targets, _skip_dim_order):
            args, kwargs = torch.fx.node.map_aggregate(
                (node.args, node.kwargs), lambda a: known[a] if isinstance(a, Node) else a
            )
            with torch.no_grad():
                known[node] = node.target(*args, **kwargs)
    return _replace(
        program, {n: v for n, v in known.items() if n.op != "placeholder" and not _is_read_list(n, v, known)}
    )


def _is_read_list(node: Node, value: Any, known: dict[Node, Any]) -> bool:
    """Whether a node returns a list (`split`) that is read by a node that is not folded."""
    return not isinstance(value, torch.Tensor) and any(user not in known for user in node.users)


def _constants(program: ExportedProgram) -> dict[str, torch.Tensor]:
    signature = program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    result = {}
    for spec in signature.input_specs:
        if (
            spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
            and spec.target not in mutated
        ):
            value = program.state_dict.get(spec.target, program.constants.get(spec.target))
            if isinstance(value, torch.Tensor):
                result[spec.arg.name] = value
    return result


def _can_fold(node: Node, known: dict[Node, Any], skip: set[Any] | None, skip_dim_order: bool) -> bool:
    if node.op != "call_function" or not node.all_input_nodes or not all(a in known for a in node.all_input_nodes):
        return False
    if node.target is operator.getitem:
        return True
    op = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    if not isinstance(op, torch._ops.OpOverload) or op in _FACTORIES or op._schema.is_mutable or _is_random(op):
        return False
    if op.namespace == "quantized_decomposed" if skip is None else node.target in skip:
        return False
    return not (skip_dim_order and op.namespace == "dim_order_ops")


def _is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


def _replace(program: ExportedProgram, folded: dict[Node, Any]) -> ExportedProgram:
    graph, signature = program.graph, program.graph_signature
    needed = [n for n in folded if any(user not in folded for user in n.users)]
    constants, specs = dict(program.constants), list(signature.input_specs)
    taken = {*constants, *program.state_dict}
    users = set(signature.user_inputs)
    first = next(n for n in graph.nodes if n.op != "placeholder" or n.name in users)
    position = sum(n.op == "placeholder" and n.name not in users for n in graph.nodes)
    for node in needed:
        name = next(name for i in itertools.count() if (name := f"_prop_tensor_constant{i}") not in taken)
        taken.add(name)
        with graph.inserting_before(first):
            placeholder = graph.placeholder(name)
        placeholder.meta = {**node.meta}
        node.replace_all_uses_with(placeholder)
        value = folded[node].detach()
        constants[name] = value.contiguous() if node.meta["val"].is_contiguous() or 0 in value.stride() else value
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(placeholder.name), name, persistent=True)
        specs.insert(position, spec)
        position += 1
        _copy_for_output(program, placeholder, node)
    for node in reversed(list(folded)):
        if not node.users:
            graph.erase_node(node)
    program.graph_module.recompile()
    new_signature = ExportGraphSignature(input_specs=specs, output_specs=signature.output_specs)
    return remove_unused_constants(assemble(program, program.graph_module, new_signature, constants=constants))


def _copy_for_output(program: ExportedProgram, constant: Node, folded: Node) -> None:
    """Makes the program return a copy of `constant` where it returned `folded`."""
    output = program.graph.output_node()
    if output not in constant.users:
        return
    is_edge = isinstance(folded.target, EdgeOpOverload)
    with program.graph.inserting_before(output):
        clone = exir_ops.edge.dim_order_ops._clone_dim_order.default if is_edge else aten.clone.default
        copied = program.graph.call_function(clone, (constant,))
    copied.meta = {**constant.meta}
    output.replace_input_with(constant, copied)
    for spec in program.graph_signature.output_specs:
        if spec.arg.name == folded.name:
            spec.arg.name = copied.name


def remove_unused_constants(program: ExportedProgram) -> ExportedProgram:
    """Drops weights that no node reads any more. Edits the graph of `program`."""
    graph, signature = program.graph, program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    by_name = {n.name: n for n in graph.nodes if n.op == "placeholder"}
    specs = []
    for spec in signature.input_specs:
        node = by_name.get(getattr(spec.arg, "name", None))
        constant = spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
        if constant and node is not None and not node.users and spec.target not in mutated:
            graph.erase_node(node)
        else:
            specs.append(spec)
    used = {s.target for s in specs}
    gone = {s.target for s in signature.input_specs} - used
    program.graph_module.recompile()
    return assemble(
        program,
        program.graph_module,
        ExportGraphSignature(input_specs=specs, output_specs=signature.output_specs),
        state_dict={k: v for k, v in program.state_dict.items() if k not in gone},
        constants={k: v for k, v in program.constants.items() if k not in gone},
    )


class ConstPropPass(ExportPass):
    """Replaces an operator whose arguments are all known by its result. Random operators stay, and quantising ones
    unless `propogate_quant`: a dequantised weight is larger than the quantised one."""

    def __init__(self, propogate_quant: bool = False) -> None:
        super().__init__()
        self.propogate_quant = propogate_quant

    def call_operator(self, op: Any, args: tuple, kwargs: dict, meta: NodeMetadata) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        known = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        if not known or any(isinstance(leaf, ProxyValue) for leaf in leaves) or self._is_kept(op):
            return super().call_operator(op, args, kwargs, meta)
        with unset_fake_temporarily(), torch.no_grad():
            return op(*args, **kwargs)

    def _is_kept(self, op: Any) -> bool:
        quantises = getattr(op, "namespace", "") == "quantized_decomposed"
        return _is_random(op) or (quantises and not self.propogate_quant)
