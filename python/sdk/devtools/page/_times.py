# SPDX-License-Identifier: BSD-3-Clause
"""The time of a method's parts, and the difference between their values and those of eager mode, by node of the
graph."""

from __future__ import annotations

import math
from typing import Any

from sdk.devtools.inspector import Inspector
from sdk.devtools.inspector._events import Event, EventBlock
from sdk.devtools.inspector._matching import DELEGATE_CALL, Sources
from sdk.devtools.inspector._numeric_gap import Layer
from sdk.devtools.inspector.numerical_comparator import MSEComparator, SNRComparator
from sdk.devtools.inspector.time_table import leaves, method_time
from sdk.devtools.page._graph import Graph


def times_of(inspector: Inspector, graph: Graph) -> dict[str, Any] | None:
    """The times of a run as plain data; None if nothing was measured. The times of different `events` do not overlap.

    An event has the nodes that it ran. An event for a delegate's time outside its operators has the `partition`.
    """
    blocks = [block for block in inspector.event_blocks if method_time(block) > 0]
    if not blocks:
        return None
    block = max(blocks, key=_runs)
    total = method_time(block)
    events = [_event(event, mean, graph, inspector._sources) for event, mean in leaves(block)]
    return {
        "unit": block.target_time_scale.value,
        "runs": _runs(block),
        "total": total,
        "rest": max(total - sum(event["mean"] for event in events), 0.0),
        "events": events,
    }


def _runs(block: EventBlock) -> int:
    return max((len(event.perf_data.raw) for event in block.events if event.perf_data is not None), default=0)


def _event(event: Event, mean: float, graph: Graph, sources: Sources | None) -> dict[str, Any]:
    data, instruction = event.perf_data, event._instruction_id
    assert data is not None and instruction is not None
    partition = next((i for i, call in enumerate(graph.partitions) if call.instruction == instruction), None)
    found: dict[str, Any] = {"name": event.name, "instruction": instruction, "mean": mean}
    if event.name == DELEGATE_CALL and not event.is_delegated_op:
        return {**found, "name": "", "partition": partition, "nodes": graph.at_instruction(instruction)[:1]}
    own = graph.at_instruction(instruction)
    nodes = (own if not event.is_delegated_op else []) or graph.with_handles(event.handles) or own
    if event.is_delegated_op and not _is_known(event, sources):
        # Operators that a backend adds, such as a change of layout, belong to no node but to the delegate.
        found["partition"], nodes = partition, own[:1]
    # For fused nodes, the node with the largest weights comes first: the convolution, not its activation.
    nodes = sorted(nodes, key=lambda index: -sum(weight.nbytes for weight in graph.nodes[index].weights))
    return {**found, "nodes": nodes, "p50": data.p50, "min": data.min, "max": data.max}


def _is_known(event: Event, sources: Sources | None) -> bool:
    """Whether the ETRecord says which nodes an event of a delegate ran. Without it, only the call of the delegate is
    known."""
    if sources is None:
        return True
    delegate = sources.delegate(event._instruction_id)
    known = {} if delegate is None else delegate.get("delegate_map") or {}
    return str(event.delegate_debug_identifier) in {str(key) for key in known}


def gaps_of(inspector: Inspector, graph: Graph) -> list[dict[str, Any]]:
    """The differences between eager mode and the runtime, layer by layer in the order of the graph.

    Raises ValueError if the ETDump has no recorded values.
    """
    return [_gap(layer, graph) for layer in inspector.layers()]


def _gap(layer: Layer, graph: Graph) -> dict[str, Any]:
    pairs = list(zip(_list(layer.expected), _list(layer.found), strict=False))
    # If several nodes share a handle, the last one computes the result of their common operator.
    nodes = (graph.with_handles(layer.handle) or graph.with_handles(layer.runtime_handle))[-1:]
    return {
        "nodes": nodes,
        "name": layer.event.name,
        "largest": _finite(max((_largest_difference(a, b) for a, b in pairs), default=0.0)),
        "mse": _finite(max((MSEComparator().element_compare(a, b) for a, b in pairs), default=0.0)),
        "snr": _finite(min((SNRComparator().element_compare(a, b) for a, b in pairs), default=math.inf)),
    }


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _largest_difference(expected: Any, found: Any) -> float:
    import torch

    a, b = (torch.as_tensor(value).to(torch.float64).flatten() for value in (expected, found))
    difference = (a - b).abs()
    return float(difference.max()) if difference.numel() else 0.0


def _finite(value: float) -> float | str:
    """JSON has neither infinity nor NaN."""
    return value if math.isfinite(value) else str(value)
