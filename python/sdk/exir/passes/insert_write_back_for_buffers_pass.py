# SPDX-License-Identifier: BSD-3-Clause
"""Writes the new values of buffers back at the end of a method.

A method with a functional graph returns the new values. The program instead ends with `copy_(buffer,
new_value)` for every changed buffer (or input) and returns only the user's outputs. A value that an operator such as
`index_put_` has written to the buffer itself is not copied.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, TensorArgument
from torch.fx import GraphModule, Node

from sdk.exir import memory
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.memory_planning._lifetimes import _is_inplace_node

_MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
    getattr(OutputKind, "PARAMETER_MUTATION", None),
)


def insert_write_back_for_buffers_pass(ep: ExportedProgram) -> tuple[GraphModule, ExportGraphSignature]:
    """Edits the graph module of `ep`; returns it with the signature that now describes it."""
    gm, signature = ep.graph_module, ep.graph_signature
    targets = {_key(s): s.arg.name for s in signature.input_specs if hasattr(s.arg, "name")}
    nodes = {n.name: n for n in gm.graph.nodes if n.op == "placeholder"}
    output = next(n for n in gm.graph.nodes if n.op == "output")
    kept, specs = [], []
    with gm.graph.inserting_before(output):
        for value, spec in zip(output.args[0], signature.output_specs, strict=True):
            spec = copy.copy(spec)
            if spec.kind in _MUTATIONS:
                destination = nodes[targets[spec.target]]
                if _written_by(value) is not destination:
                    write = gm.graph.call_function(torch.ops.aten.copy_.default, (destination, value))
                    write.meta = {"val": destination.meta.get("val")}
                    if "spec" in destination.meta:
                        write.meta["spec"] = destination.meta["spec"]
                    spec.arg = TensorArgument(name=write.name)
            else:
                kept.append(value)
            specs.append(spec)
    output.args = (tuple(kept),)
    output.meta["val"] = tuple(v.meta.get("val") if isinstance(v, Node) else v for v in kept)
    if "spec" in output.meta:
        output.meta["spec"] = tuple(v.meta.get("spec") if isinstance(v, Node) else v for v in kept)
    gm.graph.lint()
    gm.recompile()
    return gm, ExportGraphSignature(input_specs=list(signature.input_specs), output_specs=specs)


def written_inputs(ep: ExportedProgram) -> dict[Node, Node]:
    """The placeholders of the buffers and inputs that a program with a functional graph changes, with their new
    values."""
    signature = ep.graph_signature
    targets = {_key(s): s.arg.name for s in signature.input_specs if hasattr(s.arg, "name")}
    nodes = {n.name: n for n in ep.graph.nodes if n.op == "placeholder"}
    values = ep.graph.output_node().args[0]
    pairs = zip(values, signature.output_specs, strict=True)
    return {nodes[targets[spec.target]]: value for value, spec in pairs if spec.kind in _MUTATIONS}


def _written_by(value: Any) -> Any:
    """The tensor that the calls which made `value` have overwritten; `value` itself if they have not."""
    while isinstance(value, Node) and _is_inplace_node(value):
        value = value.args[0]
    return value


def _key(spec: Any) -> str:
    return spec.arg.name if spec.kind == InputKind.USER_INPUT else spec.target


def protect_values_from_write_back(gm: GraphModule, signature: ExportGraphSignature) -> int:
    """Copies values of buffers that are returned, or that are the new value of another buffer, because both are read
    after the buffers are overwritten; returns their number."""
    names = {_key(s): s.arg.name for s in signature.input_specs if hasattr(s.arg, "name")}
    # A buffer whose new value is itself is not written.
    mutated = {s.target for s in signature.output_specs if s.kind in _MUTATIONS and names.get(s.target) != s.arg.name}
    if not mutated:
        return 0
    placeholders = {s.arg.name for s in signature.input_specs if hasattr(s.arg, "name") and _key(s) in mutated}
    output = next(n for n in gm.graph.nodes if n.op == "output")
    values, copies = list(output.args[0]), 0
    for i, (value, spec) in enumerate(zip(values, signature.output_specs, strict=True)):
        base = _written_by(value)
        while isinstance(base, Node) and base.target is memory.view:
            base = _written_by(base.args[0])
        if not isinstance(base, Node) or base.op != "placeholder" or base.name not in placeholders:
            continue
        if spec.kind in _MUTATIONS and names.get(spec.target) == base.name:
            continue
        with gm.graph.inserting_before(output):
            val = value.meta["val"]
            clone = gm.graph.call_function(
                exir_ops.edge.dim_order_ops._clone_dim_order.default, (value,), {"dim_order": list(val.dim_order())}
            )
        clone.meta = {**value.meta}
        clone.meta.pop("spec", None)
        values[i] = clone
        copies += 1
    output.args = (tuple(values),)
    return copies
