# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a method for the page: nodes with their modules, delegates, source lines and weights."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.devtools.inspector._matching import Sources, op_type
from sdk.devtools.page._program import DelegateCall, MethodFile, instructions_of
from sdk.devtools.report._rows import values_of
from sdk.devtools.report.facts import call_name
from sdk.exir import schema
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY
from sdk.exir.graph_module import get_control_flow_submodules

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in ([^\n]*)(?:\n[ \t]+([^\n]*))?')
_ADVICE = "Pass the ETRecord that was made together with the program"
_CODE = 200  # the most characters of a source line that are kept

Frame = tuple[str, int, str, str]
"""File, line, function and text of a source line."""


@dataclass(frozen=True)
class Weight:
    """A constant or a state that a node reads. `nbytes` is 0 if unknown."""

    name: str
    type: str
    nbytes: int
    state: bool = False  # the program changes it


@dataclass
class GraphNode:
    """An operator, an input or the outputs of a method."""

    name: str
    op: str  # aten.add.Tensor
    kind: str  # "op", "input" or "output"
    outputs: list[str] = field(default_factory=list)  # float32[1, 8]
    nbytes: int = 0  # size of the outputs in bytes, at their largest sizes
    inputs: list[int] = field(default_factory=list)  # indices of nodes
    weights: list[Weight] = field(default_factory=list)
    modules: tuple[tuple[str, str], ...] = ()  # path and class of each module around the call, outermost first
    frames: tuple[Frame, ...] = ()  # outermost first
    handles: tuple[int, ...] = ()
    instruction: int | None = None
    partition: int | None = None  # index of the delegate call that contains it


@dataclass
class Graph:
    """The nodes of a method in an order in which they can run, and its delegate calls."""

    method: str
    nodes: list[GraphNode]
    partitions: list[DelegateCall]

    def with_handles(self, handles: Sequence[int]) -> list[int]:
        """The nodes with these debug handles, in the order of the handles."""
        found = (index for handle in handles for index in self._by_handle.get(handle, ()))
        return list(dict.fromkeys(found))

    def at_instruction(self, instruction: int) -> list[int]:
        """The nodes that an instruction runs."""
        return self._by_instruction.get(instruction, [])

    @cached_property
    def _by_handle(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for handle in node.handles:
                found.setdefault(handle, []).append(index)
        return found

    @cached_property
    def _by_instruction(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, node in enumerate(self.nodes):
            if node.instruction is not None:
                found.setdefault(node.instruction, []).append(index)
        return found


def graph_of_edge_program(file: MethodFile, sources: Sources, program: ExportedProgram) -> Graph:
    """The graph of an ETRecord's edge program, with the delegates and instructions of the program made from it.

    Raises ValueError if the record's instructions do not belong to the program.
    """
    handles = _handles_of_instructions(file, sources)
    builder = _EdgeGraph(program)
    builder.add(program.graph_module, (), {})
    graph = Graph(file.name, builder.nodes, file.delegate_calls)
    _find_instructions(graph, file, handles)
    return graph


def _handles_of_instructions(file: MethodFile, sources: Sources) -> list[tuple[int, ...]]:
    calls = {call.instruction: call.backend for call in file.delegate_calls}
    found: list[tuple[int, ...]] = []
    for instruction in range(file.instructions):
        delegate = sources.delegate(instruction)
        said = None if delegate is None else delegate.get("name")
        if said != calls.get(instruction):
            raise ValueError(
                f"the ETRecord is of another program: instruction {instruction} of method {file.name!r} calls "
                f"{_called(said)} in the record and {_called(calls.get(instruction))} in the program. {_ADVICE}"
            )
        handles = sources.handles(instruction)
        found.append(() if handles is None else (handles,) if isinstance(handles, int) else tuple(handles))
    last = max(sources._handles, default=-1)
    if last >= file.instructions:
        raise ValueError(
            f"the ETRecord is of another program: it has an instruction {last} of method {file.name!r}, and the "
            f"program has {file.instructions}. {_ADVICE}"
        )
    return found


def _called(backend: object) -> str:
    return "no delegate" if backend is None else f"the delegate {backend!r}"


def _find_instructions(graph: Graph, file: MethodFile, handles: list[tuple[int, ...]]) -> None:
    """Assigns to each node the instruction that runs it: the call of a delegate, or a kernel of the same operator.

    The nodes into which one operator of the model was decomposed share a debug handle, and their instructions have the
    same order. Nodes without an instruction, such as views, get none. Raises ValueError if most instructions have no
    node.
    """
    partitions = {call.instruction: index for index, call in enumerate(graph.partitions)}
    waiting = {handle: list(graph.with_handles([handle])) for handle in dict.fromkeys(h for hs in handles for h in hs)}
    kernels = found = 0
    for instruction, (call, owned) in enumerate(zip(instructions_of(file.plan), handles, strict=True)):
        wanted = _base_name(call_name(file.plan, call))
        if instruction in partitions or not owned:
            continue
        kernels += isinstance(call, schema.KernelCall)  # jumps and moves carry out no operator
        for handle in owned:
            position = next((i for i, n in enumerate(waiting[handle]) if _base_name(graph.nodes[n].op) == wanted), None)
            if position is not None:
                graph.nodes[waiting[handle][position]].instruction = instruction
                del waiting[handle][: position + 1]
                found += 1
                break
    # Lowering renames some operators, but not most.
    if 2 * found < kernels:
        raise ValueError(
            f"the ETRecord is of another program: of {kernels} kernel calls of method {file.name!r} it has the "
            f"operators of {found}. {_ADVICE}"
        )
    # A delegate may also name the handles of its inputs, which kernels or delegates before it compute.
    for instruction, partition in partitions.items():
        for node in (graph.nodes[index] for index in graph.with_handles(handles[instruction])):
            if node.instruction is None:
                node.instruction, node.partition = instruction, partition


def _base_name(operator: str) -> str:
    """`add` for `aten::add.out` and `aten.add.Tensor`: out variants have other overload names."""
    if "::" in operator:
        return operator.split("::")[1].split(".")[0]
    return operator.split(".")[1] if "." in operator else operator


class _EdgeGraph:
    def __init__(self, program: ExportedProgram) -> None:
        self.nodes: list[GraphNode] = []
        signature = program.graph_signature
        changed = {*signature.buffers_to_mutate.values()}
        self._weights: dict[str, tuple[str, bool]] = {}
        for names in (
            signature.inputs_to_parameters,
            signature.inputs_to_buffers,
            signature.inputs_to_lifted_tensor_constants,
        ):
            self._weights.update({name: (target, target in changed) for name, target in names.items()})

    def add(self, module: GraphModule, inside: tuple[tuple[str, str], ...], known: dict[Node, int]) -> None:
        """Adds the nodes of a graph. `inside` are the branches that contain it."""
        branches: dict[Node, list[tuple[str, GraphModule]]] = {}
        for name, branch, node in get_control_flow_submodules(module):
            branches.setdefault(node, []).append((name, branch))
        weights: dict[Node, Weight] = {}
        for node in module.graph.nodes:
            if node.op == "placeholder" and not inside and node.name in self._weights:
                weights[node] = self._weight(node)
            elif node.op == "get_attr" or (node.op == "call_function" and node.target is operator.getitem):
                # A getitem is drawn as an edge, not as a node.
                source = node.args[0] if node.args else None
                if isinstance(source, Node) and source in known:
                    known[node] = known[source]
            elif node.op != "output" or not inside:
                known[node] = len(self.nodes)
                self.nodes.append(self._node(node, inside, known, weights))
                for name, branch in branches.get(node, ()):
                    self.add(branch, (*self.nodes[known[node]].modules, (f"{node.name}.{name}", "branch")), {})

    def _weight(self, node: Node) -> Weight:
        target, changed = self._weights[node.name]
        values = values_of(node)
        return Weight(target, ", ".join(map(str, values)), sum(value.nbytes for value in values), changed)

    def _node(
        self, node: Node, inside: tuple[tuple[str, str], ...], known: dict[Node, int], weights: dict[Node, Weight]
    ) -> GraphNode:
        values = values_of(node) if node.op != "output" else ()
        handle = node.meta.get(DEBUG_HANDLE_KEY) or ()
        handles = (handle,) if isinstance(handle, int) else tuple(handle)
        return GraphNode(
            name=node.name,
            op=op_type(node) if node.op == "call_function" else node.op,
            kind={"placeholder": "input", "output": "output"}.get(node.op, "op"),
            outputs=[str(value) for value in values],
            nbytes=sum(value.nbytes for value in values),
            inputs=list(dict.fromkeys(known[n] for n in node.all_input_nodes if n in known)),
            weights=[weights[n] for n in node.all_input_nodes if n in weights],
            modules=inside or _modules(node),
            frames=tuple(_frames(node.meta.get("stack_trace") or "")),
            handles=handles,
        )


def _modules(node: Node) -> tuple[tuple[str, str], ...]:
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    found = []
    for path, kind in stack.values():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        found.append((str(path).removeprefix("L['self']").removeprefix("."), name.rpartition(".")[2]))
    return tuple(found)


def _frames(trace: str) -> Iterator[Frame]:
    for file, line, function, code in _FRAME.findall(trace):
        yield file, int(line), function.strip(), code.strip()[:_CODE]
