# SPDX-License-Identifier: BSD-3-Clause
"""Constant propagation: computes ahead of time the results that depend only on constants.

`constant_prop_pass` works on an exported program, whose weights are inputs of its graph. `ConstPropPass` works on a
graph module, whose weights are attributes.
"""

from __future__ import annotations

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

_FACTORIES = frozenset(
    {exir_ops.edge.aten.full.default, exir_ops.edge.aten.full_like.default, exir_ops.edge.aten.empty.memory_format}
)
"""Operators that make a large tensor out of a number: storing the result would only make the program larger."""


def constant_prop_pass(
    exported_program: ExportedProgram,
    custom_skip_targets: set[EdgeOpOverload] | None = None,
    _skip_dim_order: bool = True,
) -> ExportedProgram:
    """A program in which operators on constants are replaced by their results.

    Skips `custom_skip_targets`, random operators, buffers that the program changes and, unless `_skip_dim_order`
    is False, operators with a dim order.
    """
    program = copy_program(exported_program)
    skip = _FACTORIES | frozenset(custom_skip_targets or ())
    values = _constants(program)
    known: dict[Node, Any] = {
        n: values[n.name] for n in program.graph.nodes if n.op == "placeholder" and n.name in values
    }
    for node in program.graph.nodes:
        if _can_fold(node, known, skip, _skip_dim_order):
            args, kwargs = torch.fx.node.map_aggregate(
                (node.args, node.kwargs), lambda a: known[a] if isinstance(a, Node) else a
            )
            with torch.no_grad():
                known[node] = node.target(*args, **kwargs)
    return _replace(program, {n: v for n, v in known.items() if n.op != "placeholder" and isinstance(v, torch.Tensor)})


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


def _can_fold(node: Node, known: dict[Node, Any], skip: frozenset, skip_dim_order: bool) -> bool:
    if node.op != "call_function" or not node.all_input_nodes or not all(a in known for a in node.all_input_nodes):
        return False
    if getattr(node.target, "__name__", "") == "getitem":
        return True
    if not isinstance(node.target, EdgeOpOverload) or node.target in skip:
        return False
    if skip_dim_order and node.target.namespace == "dim_order_ops":
        return False
    return not _is_random(node.target)


def _is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


def _replace(program: ExportedProgram, folded: dict[Node, torch.Tensor]) -> ExportedProgram:
    graph, signature = program.graph, program.graph_signature
    needed = [n for n in folded if any(user not in folded for user in n.users)]
    state, specs = dict(program.state_dict), list(signature.input_specs)
    users = set(signature.user_inputs)
    first = next(n for n in graph.nodes if n.op != "placeholder" or n.name in users)
    position = sum(n.op == "placeholder" and n.name not in users for n in graph.nodes)
    for node in needed:
        name, index = "_prop_tensor_constant0", 0
        while name in state:
            index += 1
            name = f"_prop_tensor_constant{index}"
        with graph.inserting_before(first):
            placeholder = graph.placeholder(name)
        placeholder.meta = {**node.meta}
        node.replace_all_uses_with(placeholder)
        state[name] = folded[node].detach().contiguous() if node.meta["val"].is_contiguous() else folded[node].detach()
        specs.insert(position, InputSpec(InputKind.BUFFER, TensorArgument(placeholder.name), name, persistent=True))
        position += 1
    for node in reversed(list(folded)):
        if not node.users:
            graph.erase_node(node)
    program.graph_module.recompile()
    new_signature = ExportGraphSignature(input_specs=specs, output_specs=signature.output_specs)
    return remove_unused_constants(assemble(program, program.graph_module, new_signature, state_dict=state))


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
