# SPDX-License-Identifier: BSD-3-Clause
"""Parts of an edge dialect graph that torch's serialiser does not support: edge operators, lowered modules, debug
handles.

The original's records (ExecuTorch 1.4) keep programs as the JSON of `torch.export` with schema version 5.4. torch
writes a later version, whose new fields have defaults, so torch reads both versions. The original's reader refuses
unknown fields.
Edge operators are named `executorch.exir.dialects.edge.ops.NAMESPACE.NAME.OVERLOAD`; a delegate's first argument is a
string: the lowered module as JSON, its bytes in base64.
"""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._export.serde import serialize as torch_serde
from torch.fx import Graph, GraphModule, Node

import sdk.exir.operator.dim_order_ops
import sdk.exir.operator.prim_ops  # noqa: F401  (registers the operators)
from sdk.exir import memory
from sdk.exir.delegate import executorch_call_delegate, is_lowered_module
from sdk.exir.dialects.backend._ops import BackendOpOverload
from sdk.exir.dialects.edge._ops import EdgeOpOverload, to_edge_op
from sdk.exir.serde import _memory
from sdk.exir.serde._targets import registered

_PREFIXES = {
    "#edge:": "executorch.exir.dialects.edge.ops.",
    "#backend:": "executorch.exir.dialects.backend.ops.",
}
"""How torch names an operator of an extension, and how the file does."""

_HIGHER_ORDER = "torch.ops.higher_order."
_DELEGATE = f"{_HIGHER_ORDER}executorch_call_delegate"
_HANDLE = "debug_handle"
_SINGLE = "is_hop_single_tensor_return"

LoweredToText = Callable[[torch.nn.Module], str]
TextToLowered = Callable[[str], torch.nn.Module]


class _EdgeOps(torch_serde.ExtensionHandler):
    """Edge operators, by the name of the ATen operator."""

    @classmethod
    def namespace(cls) -> str:
        return "edge"

    @classmethod
    def to_op_name(cls, op: EdgeOpOverload) -> str:
        return op.__name__

    @classmethod
    def from_op_name(cls, name: str) -> EdgeOpOverload:
        return to_edge_op(registered(name))

    @classmethod
    def op_schema(cls, op: EdgeOpOverload) -> torch.FunctionSchema:
        return op._op._schema


class _BackendOps(_EdgeOps):
    """Operators of a backend's dialect."""

    @classmethod
    def namespace(cls) -> str:
        return "backend"

    @classmethod
    def from_op_name(cls, name: str) -> EdgeOpOverload:
        return BackendOpOverload.from_op(registered(name))


torch_serde.register_extension(EdgeOpOverload, _EdgeOps)
torch_serde.register_extension(BackendOpOverload, _BackendOps)


def portable(module: GraphModule, lowered_to_text: LoweredToText) -> GraphModule:
    """A copy that torch can serialise: lowered modules are text, debug handles are custom metadata."""
    graph = Graph()
    copies: dict[Node, Any] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr" and is_lowered_module(getattr(module, str(node.target), None)):
            continue
        if node in copies or node.target is memory.free:
            continue
        if node.target is memory.alloc:
            _memory.copy_alloc(node, graph, copies)
            continue
        if node.op == "call_function" and node.target is executorch_call_delegate:
            text = lowered_to_text(getattr(module, node.args[0].target))
            inputs = [copies[a] if isinstance(a, Node) else a for a in node.args[1:]]
            copy = graph.create_node("call_function", node.target, (text, *inputs), {}, node.name)
            results = node.meta["val"]
            copy.meta = {**node.meta, "val": tuple(results) if isinstance(results, list) else results}
        else:
            copy = graph.node_copy(node, copies.__getitem__)
            copy.meta = dict(node.meta)
            if node.target is memory.view:
                copy.target = _memory.VIEW
        if _HANDLE in node.meta:
            copy.meta["custom"] = {**node.meta.get("custom", {}), _HANDLE: node.meta[_HANDLE]}
        copy.name = node.name  # also a name that the graph would not generate, such as "input"
        copies[node] = copy
    parts: dict[str, Any] = {}
    for name in {str(node.target) for node in graph.nodes if node.op == "get_attr"}:
        value: Any = module
        for part in name.split("."):
            value = getattr(value, part)
        parts[name] = portable(value, lowered_to_text) if isinstance(value, GraphModule) else value
    result = GraphModule(parts, graph)
    result.meta = dict(module.meta)
    return result


def restore(module: GraphModule, text_to_lowered: TextToLowered) -> None:
    """Undoes `portable`, in place."""
    for part in list(module.modules()):
        if not isinstance(part, GraphModule):
            continue
        for node in list(part.graph.nodes):
            custom = node.meta.get("custom") or {}
            if _HANDLE in custom:
                node.meta[_HANDLE] = custom.pop(_HANDLE)
                if not custom:
                    del node.meta["custom"]
            elif node.target is operator.getitem and _HANDLE in node.args[0].meta:
                node.meta[_HANDLE] = node.args[0].meta[_HANDLE]  # torch shares the metadata of all results
            _memory.restore(node)
            if node.op != "call_function" or node.target is not executorch_call_delegate:
                continue
            index = 0
            while hasattr(part, f"lowered_module_{index}"):
                index += 1
            part.register_module(f"lowered_module_{index}", text_to_lowered(node.args[0]))
            with part.graph.inserting_before(node):
                node.args = (part.graph.get_attr(f"lowered_module_{index}"), *node.args[1:])
        part.recompile()


def _graphs(graph: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A serialised graph, and the graphs that its control flow operators take."""
    yield graph
    for node in graph["nodes"]:
        for argument in node["inputs"]:
            if inner := argument["arg"].get("as_graph"):
                yield from _graphs(inner["graph"])


def _nodes(graph: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in _graphs(graph):
        yield from part["nodes"]


def to_file(program: dict[str, Any], version: tuple[int, int]) -> None:
    """Turns torch's JSON into the file's, in place."""
    delegates = 0
    for node in _nodes(program["graph_module"]["graph"]):
        for ours, theirs in _PREFIXES.items():
            if node["target"].startswith(ours):
                node["target"] = theirs + node["target"].removeprefix(ours)
        if node["target"] == _DELEGATE:
            # The reader makes the first argument an attribute of the graph, so each needs a unique name.
            names = [f"lowered_module_{delegates}", *(f"delegate_arg_{i}" for i in range(len(node["inputs"]) - 1))]
            for argument, name in zip(node["inputs"], names, strict=True):
                argument["name"] = name
            delegates += 1
        of_tuple = node["target"].startswith(_HIGHER_ORDER) and node.get(_SINGLE) is False
        if of_tuple and len(node["outputs"]) == 1 and "as_tensor" in node["outputs"][0]:
            # A tuple of one tensor, which this version of the schema writes as a list.
            node["outputs"] = [{"as_tensors": [node["outputs"][0]["as_tensor"]]}]
        metadata = node["metadata"]
        custom = json.loads(metadata.pop("custom", "{}"))
        if _HANDLE in custom:
            metadata[_HANDLE] = str(custom.pop(_HANDLE))
        if custom:
            metadata["custom"] = json.dumps(custom)
    for graph in _graphs(program["graph_module"]["graph"]):
        _memory.to_file(graph["nodes"])
    _drop_later_fields(program)
    program["schema_version"] = {"major": version[0], "minor": version[1]}


def _drop_later_fields(program: dict[str, Any]) -> None:
    """Removes fields that torch writes and version 5.4 does not have: its reader refuses unknown fields."""
    module = program["graph_module"]
    for graph in _graphs(module["graph"]):
        graph.pop("sym_float_values", None)
        for node in graph["nodes"]:
            node.pop(_SINGLE, None)
            for argument in node["inputs"]:
                argument.pop("kind", None)
    for entry in module["module_call_graph"]:
        if entry["signature"] is None:
            del entry["signature"]
        else:
            entry["signature"].pop("forward_arg_names", None)
    for name in ("metadata", "treespec_namedtuple_fields"):
        module.pop(name, None)
    for name in ("torch_version", "guards_code"):
        program.pop(name, None)


def from_file(program: dict[str, Any]) -> None:
    """Turns the file's JSON into torch's, in place."""
    for node in _nodes(program["graph_module"]["graph"]):
        for ours, theirs in _PREFIXES.items():
            if node["target"].startswith(theirs):
                node["target"] = ours + node["target"].removeprefix(theirs)
        if node["target"].startswith(_HIGHER_ORDER) and len(node["outputs"]) == 1 and _SINGLE not in node:
            tensors = node["outputs"][0].get("as_tensors", ())
            node[_SINGLE] = "as_tensor" in node["outputs"][0]
            if len(tensors) == 1:
                node["outputs"] = [{"as_tensor": tensors[0]}]
        if node["target"] == _DELEGATE:
            for argument in node["inputs"]:
                argument["name"] = ""  # by position
        _memory.from_file(node)
        metadata = node["metadata"]
        if handle := metadata.pop(_HANDLE, None):
            custom = json.loads(metadata.get("custom", "{}"))
            metadata["custom"] = json.dumps({**custom, _HANDLE: int(handle)})


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
