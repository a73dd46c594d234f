# SPDX-License-Identifier: BSD-3-Clause
"""The memory of an emitted program's graph, which torch's serialiser does not support: `memory.alloc` and
`memory.view`.

The original writes the memory of a tensor as the text `SIZES;DTYPE`, for example `(2, 3);7`, where 7 is the number of
float32 in torch's schema. For a list of tensors, the node has one such argument and one output for each tensor. The
arguments of a view have no names. `memory.free` is left out: it holds a tensor's plan, and only the emitter needs it.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch._export.serde import serialize as torch_serde
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.fx import Graph, GraphModule, Node

from sdk.exir import memory

_ALLOC = "memory.alloc"
_VIEW = "executorch.exir.memory.view"
_MARK = "#memory:"
_SPEC = re.compile(r"\(((?:\d+(?:, \d+)*)?),?\);(\d+)", re.ASCII)


@dataclass(frozen=True)
class _MemoryOp:
    """Replaces a function of `memory` while torch writes or reads the graph."""

    __name__: str
    __module__ = memory.__name__

    def __call__(self, *_: Any) -> None:
        raise NotImplementedError(f"{self.__name__} is only written and read")


VIEW = _MemoryOp("view")
_SCHEMAS = {
    "alloc": "memory::alloc(str spec) -> Tensor",
    "alloc_list": "memory::alloc_list(str[] specs) -> Tensor[]",
    "view": "memory::view(Tensor base, SymInt[] size) -> Tensor",
}
NAMES = frozenset(_MARK + name for name in _SCHEMAS)
"""The targets of these nodes in torch's JSON."""


class _MemoryOps(torch_serde.ExtensionHandler):
    @classmethod
    def namespace(cls) -> str:
        return _MARK[1:-1]

    @classmethod
    def to_op_name(cls, op: _MemoryOp) -> str:
        return op.__name__

    @classmethod
    def from_op_name(cls, name: str) -> _MemoryOp:
        return _MemoryOp(name)

    @classmethod
    def op_schema(cls, op: _MemoryOp) -> torch.FunctionSchema:
        return torch._C.parse_schema(_SCHEMAS[op.__name__])


torch_serde.register_extension(_MemoryOp, _MemoryOps)


def copy_alloc(node: Node, graph: Graph, copies: dict[Node, Any]) -> None:
    """Adds a replacement for a `memory.alloc` node, which torch can serialise, to `copies`: one node for one tensor, a
    list of nodes for several."""
    (spec,) = node.args
    several = isinstance(spec, list)
    text: Any = [_to_text(item) for item in spec] if several else _to_text(spec)
    made = graph.create_node("call_function", _MemoryOp("alloc_list" if several else "alloc"), (text,), {}, node.name)
    made.meta = {**node.meta, "val": node.meta["val"] if "val" in node.meta else memory.alloc(spec)}
    copies[node] = made
    if several:
        parts = [graph.call_function(operator.getitem, (made, index)) for index in range(len(spec))]
        for part, value in zip(parts, made.meta["val"], strict=True):
            part.meta["val"] = value
        for user in node.users:
            if user.target is operator.getitem:
                copies[user] = parts[user.args[1]]
                copies[user].name = user.name
        copies[node] = parts


def restore(node: Node) -> None:
    """Undoes `copy_alloc` and `VIEW`, in place."""
    if not isinstance(node.target, _MemoryOp):
        return
    name = node.target.__name__
    if name == "view":
        node.target = memory.view
        return
    (text,) = node.args or node.kwargs.values()
    node.target = memory.alloc
    node.args = ([_from_text(item) for item in text] if name == "alloc_list" else _from_text(text),)
    node.kwargs = {}


def is_emitted(module: GraphModule) -> bool:
    """Whether the graph or a branch allocates memory for results, which means that it is the graph of an emitted
    program."""
    graphs = [part.graph for part in module.modules() if isinstance(part, GraphModule)]
    return any(node.target is memory.alloc for graph in graphs for node in graph.nodes)


def without_writes(module: GraphModule, signature: ExportGraphSignature) -> ExportGraphSignature:
    """The signature of the results of an emitted program's graph: it writes to buffers itself."""
    returned = {node.name for node in module.graph.output_node().all_input_nodes}
    written = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)
    outputs = [
        spec for spec in signature.output_specs if spec.kind not in written or getattr(spec.arg, "name", "") in returned
    ]
    return ExportGraphSignature(input_specs=signature.input_specs, output_specs=outputs)


def to_file(nodes: list[dict[str, Any]]) -> None:
    """Turns torch's JSON of the nodes of a graph into the file's, in place."""
    lists: dict[tuple[str, ...], str] = {}
    for node in nodes:
        if node["target"] in NAMES:
            _node_to_file(node)
            lists[tuple(output["as_tensor"]["name"] for output in node["outputs"])] = node["name"]
        for argument in node["inputs"]:
            names = tuple(tensor["name"] for tensor in argument["arg"].get("as_tensors", ()))
            if names in lists:
                argument["arg"] = {"as_tensor": {"name": lists[names]}}


def _node_to_file(node: dict[str, Any]) -> None:
    name = node["target"].removeprefix(_MARK)
    node["target"] = _VIEW if name == "view" else _ALLOC
    if name == "alloc_list":
        (specs,) = node["inputs"]
        node["inputs"] = [{"name": "alloc_list", "arg": {"as_string": text}} for text in specs["arg"]["as_strings"]]
        (results,) = node["outputs"]
        node["outputs"] = [{"as_tensor": tensor} for tensor in results["as_tensors"]]
    else:
        for argument in node["inputs"]:
            argument["name"] = "alloc_arg" if name == "alloc" else ""


def from_file(node: dict[str, Any]) -> None:
    """Turns the file's JSON of a node into torch's, in place."""
    if node["target"] == _VIEW:
        node["target"] = _MARK + "view"
        for argument, name in zip(node["inputs"], ("base", "size"), strict=True):
            argument["name"] = name
    elif node["target"] == _ALLOC and [argument["name"] for argument in node["inputs"]] == ["alloc_arg"]:
        node["target"] = _MARK + "alloc"
        node["inputs"][0]["name"] = "spec"
    elif node["target"] == _ALLOC:
        node["target"] = _MARK + "alloc_list"
        texts = [argument["arg"]["as_string"] for argument in node["inputs"]]
        node["inputs"] = [{"name": "specs", "arg": {"as_strings": texts}}]
        node["outputs"] = [{"as_tensors": [output["as_tensor"] for output in node["outputs"]]}]


def _to_text(spec: memory.TensorAllocSpec) -> str:
    sizes, dtype = spec
    return f"{tuple(map(int, sizes))};{torch_serde._TORCH_TO_SERIALIZE_DTYPE[dtype]:d}"


def _from_text(text: Any) -> memory.TensorAllocSpec:
    found = _SPEC.fullmatch(text) if isinstance(text, str) else None
    dtype = torch_serde._SERIALIZE_TO_TORCH_DTYPE.get(int(found[2])) if found else None
    if found is None or dtype is None:
        raise ValueError(
            f"the memory of a tensor is {str(text)[:80]!r}, expected sizes and a dtype, such as '(2, 3);7'"
        )
    return tuple(int(size) for size in found[1].split(", ") if size), dtype
