# SPDX-License-Identifier: BSD-3-Clause
"""Finds the nodes of a model that the events of an ETDump belong to.

source = Sources.of(record, runs)        # of the method whose instructions the events fit
source.handles(instruction, identifier)  # debug handles of an instruction, or of an operator inside a delegate
source.nodes(handles)                    # the nodes of the edge program that have them
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule, Node

from sdk.devtools.etdump.schema_flatcc import RunData
from sdk.devtools.inspector._events import DelegateMetadata
from sdk.devtools.inspector._signatures import delegate_ids, instruction_of
from sdk.exir.debug_handle_utils import DEBUG_HANDLE_KEY
from sdk.exir.delegate import is_lowered_module
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.record import ETRecord

DELEGATE_CALL = "DELEGATE_CALL"
"""The runtime's name of the event of a delegate."""
OPERATOR_CALL = "OPERATOR_CALL"
"""The runtime's name for the event that surrounds a kernel's own event."""

KERNEL_EVENT = "native_call_"
"""Prefix of the runtime's name of the event of a kernel; the name of the operator follows."""

Handles = int | Sequence[int] | None


class MismatchError(ValueError):
    """The ETDump and the ETRecord are of different programs."""


@dataclass(frozen=True)
class Source:
    """A node as the origin of an event: its name and operator, and the stack trace and modules in its metadata."""

    name: str
    op_type: str
    stack_trace: str
    modules: dict[str, Any]

    @staticmethod
    def of(node: Node) -> Source:
        return Source(
            node.name,
            op_type(node),
            node.meta.get("stack_trace") or "",
            dict(node.meta.get("nn_module_stack") or {}),
        )


@dataclass(frozen=True)
class Recorded:
    """The value that a delegate records under one of its identifiers: the result of the node with this debug handle and
    operator.

    `shape` is the node's shape if the record has other dimensions: N, spatial dimensions, C, and a volume as a batch of
    slices. None if the dimensions are the same.
    """

    handle: int
    operator: str
    shape: Sequence[Any] | None

    def in_the_order_of_the_node(self, value: Any) -> Any:
        """A recorded tensor with the dimensions that the node's result has."""
        if self.shape is None or not isinstance(value, torch.Tensor) or value.dim() != 4:
            return value
        if len(self.shape) == 5:  # [N * D, H, W, C]
            value = value.unflatten(0, (-1, int(self.shape[2])))
        return value.movedim(-1, 1)


def op_type(node: Node) -> str:
    """The operator of a node as tables show it: `aten.add.Tensor`."""
    target = node.target
    if isinstance(target, EdgeOpOverload):
        target = target._op
    return (
        str(target) if not callable(target) or hasattr(target, "_schema") else getattr(target, "__name__", str(target))
    )


def graphs_of(module: GraphModule) -> Iterator[GraphModule]:
    """The graph modules of a program: its own, those of branches, and those that were lowered to delegates."""
    for part in module.modules():
        if isinstance(part, GraphModule):
            yield part
        elif is_lowered_module(part):
            yield from graphs_of(part.original_module.graph_module)


EDGE_DIALECT_GRAPH_KEY = "edge_dialect_graph_module"
"""The name of the edge program among the graphs of an ETRecord."""


class Sources:
    """The debug maps of one method of an ETRecord, and its nodes."""

    def __init__(self, record: ETRecord, method: str) -> None:
        self.method = method
        self.program: ExportedProgram | None = programs_of(record).get(method)
        self._reference = self.program
        self._handles = _by_instruction(record._debug_handle_map, method)
        self._delegates = _by_instruction(record._delegate_map, method)
        self._num_outs = _by_instruction(record._instruction_id_to_num_outs_map, method)

    @staticmethod
    def of(record: ETRecord, runs: Iterable[RunData], method: str | None = None) -> Sources:
        """The sources of the method whose instructions match the events of `runs`.

        Raises MismatchError if no method matches: the ETDump is of another program.
        """
        methods = list(record._debug_handle_map or {})
        if method is not None and method not in methods:
            raise MismatchError(
                f"the ETRecord has no method {method!r}, it has {', '.join(map(repr, sorted(methods)))}"
            )
        candidates = [method] if method is not None else sorted(methods, key=lambda name: name != "forward")
        events = list(_instruction_events(runs))
        problems: list[str] = []
        for name in candidates:
            sources = Sources(record, name)
            problem = sources._problem(events)
            if problem is None:
                return sources
            problems.append(problem)
        raise MismatchError(
            "the ETDump and the ETRecord are of different programs: "
            + ("; ".join(problems) or "the ETRecord has no debug handles")
            + ". Pass the ETRecord that was made together with the program that ran"
        )

    def refer_to(self, record: ETRecord, name: str) -> None:
        """Takes the nodes of events from a graph of the ETRecord. Raises ValueError if it has no graph of that name."""
        if name == EDGE_DIALECT_GRAPH_KEY:
            return
        graphs = record.graph_map or {}
        if name not in graphs:
            known = ", ".join(map(repr, [EDGE_DIALECT_GRAPH_KEY, *sorted(graphs)]))
            raise ValueError(f"reference_graph_name is {name!r}; the ETRecord has {known}")
        self._reference = graphs[name]

    def _problem(self, events: Sequence[tuple[int, str, int | str | None]]) -> str | None:
        """Describes what in the events does not fit the method; None if all do."""
        where = f"method {self.method!r} of the ETRecord"
        last = self._last
        for instruction, name, identifier in events:
            delegate = self._delegates.get(instruction)
            if (name == DELEGATE_CALL or identifier is not None) and delegate is None:
                return f"instruction {instruction} of the ETDump calls a delegate, in {where} it does not"
            if name == OPERATOR_CALL and delegate is not None:
                return (
                    f"instruction {instruction} of the ETDump calls a kernel, in {where} it calls the delegate "
                    f"{delegate.get('name')!r}"
                )
            if instruction > last and name == OPERATOR_CALL:
                return f"the ETDump has an instruction {instruction}, the last one of {where} is {last}"
            known = (delegate or {}).get("delegate_map") or {}
            if isinstance(identifier, int) and known and str(identifier) not in {str(key) for key in known}:
                return (
                    f"the delegate of instruction {instruction} has an event {identifier} in the ETDump, which the "
                    f"delegate of {where} does not have"
                )
        return None

    @cached_property
    def _last(self) -> int:
        """The last instruction that the method may have.

        A method ends by writing new values back to its buffers and inputs. These instructions have no debug handles.
        Records of this package count them; for others, there is at most one for each value that the graph changes.
        """
        last = max((*self._handles, *self._delegates), default=-1)
        changed = 0
        if self.program is not None:
            kinds = (spec.kind for spec in self.program.graph_signature.output_specs)
            changed = sum(kind not in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT) for kind in kinds)
        return max(last + changed, max(self._num_outs, default=-1))

    def delegate(self, instruction: int | None) -> DelegateMetadata | None:
        """The information of the delegate that an instruction calls; None if it calls none."""
        found = None if instruction is None else self._delegates.get(instruction)
        return None if found is None else DelegateMetadata(found)

    def handles(self, instruction: int | None, identifier: int | str | None = None) -> Handles:
        """The debug handles of an instruction or, in its delegate, of the event `identifier`; None if they are unknown.

        An identifier that the delegate's map lacks yields the handles of the whole delegate.
        """
        if instruction is None:
            return None
        whole: Handles = self._handles.get(instruction)
        delegate = self._delegates.get(instruction)
        if identifier is None or delegate is None:
            return whole
        known = delegate.get("delegate_map") or {}
        # JSON converts keys to strings.
        found: Any = known.get(identifier, known.get(str(identifier)))
        return whole if found is None else (found,) if isinstance(found, int) else tuple(found)

    def knows_values(self, instruction: int) -> bool:
        """Whether the delegate of an instruction says which node's result each of its recorded values is."""
        return bool((self._delegates.get(instruction) or {}).get("value_map"))

    def recorded(self, instruction: int, identifier: int | str) -> Recorded | None:
        """The result that a delegate records under an identifier; None for a step on the way to a node's result."""
        known = (self._delegates.get(instruction) or {}).get("value_map") or {}
        found = known.get(identifier, known.get(str(identifier)))
        if found is None:
            return None
        handle, operator, is_channels_last = found
        return Recorded(handle, operator, self._shapes.get(handle) if is_channels_last else None)

    @cached_property
    def _shapes(self) -> dict[int, Sequence[Any]]:
        graphs = graphs_of(self.program.graph_module) if self.program is not None else ()
        return {
            node.meta[DEBUG_HANDLE_KEY]: node.meta["val"].shape
            for graph_module in graphs
            for node in graph_module.graph.nodes
            if isinstance(node.meta.get("val"), torch.Tensor) and isinstance(node.meta.get(DEBUG_HANDLE_KEY), int)
        }

    def num_outputs(self, instruction: int | None) -> int:
        """Returns the number of values that an instruction returns."""
        return 1 if instruction is None else int(self._num_outs.get(instruction, 1))

    @cached_property
    def _nodes(self) -> dict[int, list[Source]]:
        found: dict[int, list[Source]] = defaultdict(list)
        if self._reference is not None:
            for graph_module in graphs_of(self._reference.graph_module):
                for node in graph_module.graph.nodes:
                    handle = node.meta.get(DEBUG_HANDLE_KEY)
                    if node.op == "call_function" and handle:
                        for number in handle if isinstance(handle, (list, tuple)) else (handle,):
                            found[number].append(Source.of(node))
        return found

    def nodes(self, handles: Handles) -> list[Source]:
        """Returns the nodes with these debug handles, each once, in the order of the graph. Leaves out getitem nodes,
        and calls of delegates, because the nodes that were lowered are listed themselves."""
        if handles is None:
            return []
        wanted = (handles,) if isinstance(handles, int) else handles
        found: dict[str, Source] = {}
        for handle in wanted:
            for source in self._nodes.get(handle, ()):
                if source.op_type not in ("getitem", "executorch_call_delegate"):
                    found.setdefault(source.name, source)
        return list(found.values())


def programs_of(record: ETRecord) -> dict[str, ExportedProgram]:
    """The edge programs of an ETRecord by method; a single program stands for the method of any name."""
    programs = record.edge_dialect_program
    if programs is None:
        return {}
    if isinstance(programs, dict):
        return programs
    methods = list(record._debug_handle_map or {"forward": None})
    return {methods[0] if len(methods) == 1 else "forward": programs}


def has_state(program: ExportedProgram) -> bool:
    """Whether a call changes buffers, of the program itself or of one of its delegates, so that later calls depend on
    it."""
    if program.graph_signature.buffers_to_mutate:
        return True
    lowered = (part.original_module for part in program.graph_module.modules() if is_lowered_module(part))
    return any(map(has_state, lowered))


def instructions_problem(
    record: ETRecord, method: str, events: Sequence[tuple[int, str, int | str | None]]
) -> str | None:
    """Why instructions cannot belong to a method of an ETRecord; None if they can.

    Args:
        record: The ETRecord.
        method: Its method.
        events: The number of each instruction, `DELEGATE_CALL` or `OPERATOR_CALL`, and None.
    """
    if method not in (record._debug_handle_map or {}):
        return f"the ETRecord has no method {method!r}, it has {', '.join(map(repr, record._debug_handle_map or ()))}"
    return Sources(record, method)._problem(events)


def _by_instruction(maps: Mapping[str, Any] | None, method: str) -> dict[int, Any]:
    """The map of a method with integer keys, which JSON has converted to strings."""
    return {int(key): value for key, value in ((maps or {}).get(method) or {}).items()}


def _instruction_events(runs: Iterable[RunData]) -> Iterator[tuple[int, str, int | str | None]]:
    """Instruction, name and identifier of what was measured, each once."""
    seen = set()
    for run in runs:
        for event in run.events or ():
            profile = event.profile_event
            if profile is not None and instruction_of(profile) >= 0:
                number, text = delegate_ids(profile)
                key = (profile.instruction_id, profile.name or "", number if number is not None else text)
                if key not in seen:
                    seen.add(key)
                    yield key
