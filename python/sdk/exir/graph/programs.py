# SPDX-License-Identifier: BSD-3-Clause
"""Copies of exported programs that share weights, and signatures that follow a changed graph."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, TensorArgument
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule


def make_graph_module(root: torch.nn.Module, graph: Graph) -> GraphModule:
    """A graph module of `graph` with the attributes of `root`. Its Python code is written when it is first called or
    printed: the code of a graph that a pass changes later is of no use, and took a quarter of the time of
    `to_executorch`."""
    return _LazyGraphModule(root, graph)


def copy_graph_module(gm: GraphModule) -> GraphModule:
    """A copy of a graph module with its own graph and metadata. Tensors and lowered modules are shared, branches are
    copied."""
    graph = Graph()
    mapping: dict[Node, Node] = {}
    for node in gm.graph.nodes:
        new = graph.node_copy(node, lambda n: mapping[n])
        new.meta = dict(node.meta)
        if node.op in ("placeholder", "output"):
            new.name = node.name
        mapping[node] = new
    root = torch.nn.Module()
    for name, module in gm.named_children():
        root.add_module(name, copy_graph_module(module) if isinstance(module, GraphModule) else module)
    for name, tensor in [*gm._parameters.items(), *gm._buffers.items()]:
        if tensor is not None:
            root.register_buffer(name, tensor)
    for node in graph.nodes:
        if node.op == "get_attr" and "." not in node.target and not hasattr(root, node.target):
            setattr(root, node.target, getattr(gm, node.target))
    copied = make_graph_module(root, graph)
    copied.meta.update(gm.meta)
    return copied


def copy_program(program: ExportedProgram) -> ExportedProgram:
    """An exported program whose graph can be edited without changing the original. The weights are shared."""
    return assemble(program, copy_graph_module(program.graph_module), copy_signature(program.graph_signature))


def copy_signature(signature: ExportGraphSignature) -> ExportGraphSignature:
    """A signature whose entries can be edited."""
    inputs = [_copy_spec(s) for s in signature.input_specs]
    return ExportGraphSignature(input_specs=inputs, output_specs=[_copy_spec(s) for s in signature.output_specs])


def _copy_spec(spec: Any) -> Any:
    new = copy.copy(spec)
    new.arg = copy.copy(spec.arg)
    return new


def assemble(
    program: ExportedProgram,
    gm: GraphModule,
    signature: ExportGraphSignature,
    *,
    verifiers: list[type] | None = None,
    state_dict: dict[str, Any] | None = None,
    constants: dict[str, Any] | None = None,
) -> ExportedProgram:
    """Returns `program` with another graph module and signature. It is verified only if `verifiers` are given."""
    new = ExportedProgram.__new__(ExportedProgram)
    new.__dict__.update(program.__dict__)
    new._graph_module = gm
    new._graph_signature = signature
    new._state_dict = dict(program.state_dict if state_dict is None else state_dict)
    new._constants = dict(program.constants if constants is None else constants)
    new._range_constraints = dict(program.range_constraints)
    new._module_call_graph = list(program.module_call_graph)
    if verifiers is not None:
        new._verifiers = verifiers
        for verifier in verifiers:
            verifier().check(new)
    return new


def with_graph_module(
    program: ExportedProgram, gm: GraphModule, *, verifiers: list[type] | None = None
) -> ExportedProgram:
    """`program` with a graph module that a pass made: the signature takes the new names of inputs and outputs."""
    signature = copy_signature(program.graph_signature)
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    if len(placeholders) != len(signature.input_specs):
        raise ValueError(
            f"a pass changed the number of inputs from {len(signature.input_specs)} to {len(placeholders)}; "
            "a pass that does so must be an ExportedProgramPassBase, which can change the signature too"
        )
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if hasattr(spec.arg, "name"):
            spec.arg.name = node.name
    output = next(n for n in gm.graph.nodes if n.op == "output")
    values = output.args[0] if isinstance(output.args[0], (tuple, list)) else (output.args[0],)
    if len(values) != len(signature.output_specs):
        raise ValueError(f"a pass changed the number of outputs from {len(signature.output_specs)} to {len(values)}")
    for value, spec in zip(values, signature.output_specs, strict=True):
        if isinstance(value, Node):
            if isinstance(value.meta.get("val"), torch.Tensor) and not isinstance(spec.arg, TensorArgument):
                spec.arg = TensorArgument(name=value.name)
            else:
                spec.arg.name = value.name
    return assemble(program, gm, signature, verifiers=verifiers)
