# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a method without an ETRecord: its instructions, with an edge from the one that writes a value to each
one that reads it."""

from __future__ import annotations

from sdk.devtools.page._graph import Graph, GraphNode, Weight
from sdk.devtools.page._program import MethodFile, instructions_of
from sdk.devtools.report.facts import call_name, nbytes_of, type_of, values_read, values_written
from sdk.exir import schema


def graph_of_instructions(file: MethodFile) -> Graph:
    """A node for each instruction. A delegate is one node, because only an ETRecord has the operators inside it."""
    plan, nodes = file.plan, list[GraphNode]()
    writer: dict[int, int] = {}
    for number, value in enumerate(plan.inputs):
        writer[value] = len(nodes)
        held = plan.values[value].val
        nodes.append(GraphNode(f"input {number}", "input", "input", [type_of(held)], _bytes(held)))
    partition = {call.instruction: index for index, call in enumerate(file.delegate_calls)}
    for number, call in enumerate(instructions_of(plan)):
        written = list(values_written(plan, call))
        read = values_read(plan, call)
        if isinstance(call, schema.DelegateCall):
            # The program does not say which arguments a delegate writes. They are the ones that no instruction has
            # written.
            read = [value for value in read if value in writer or _weight(plan, value) is not None]
            written = [value for value in written if value not in read]
        node = GraphNode(
            name=f"{call_name(plan, call)} ({number})",
            op=call_name(plan, call),
            kind="op",
            outputs=[type_of(plan.values[value].val) for value in written],
            nbytes=sum(_bytes(plan.values[value].val) for value in written),
            inputs=list(dict.fromkeys(writer[value] for value in read if value in writer)),
            weights=[w for value in dict.fromkeys(read) if value not in writer and (w := _weight(plan, value))],
            instruction=number,
            partition=partition.get(number),
        )
        writer.update(dict.fromkeys(written, len(nodes)))
        nodes.append(node)
    nodes.append(
        GraphNode(
            "output",
            "output",
            "output",
            [type_of(plan.values[value].val) for value in plan.outputs],
            inputs=list(dict.fromkeys(writer[value] for value in plan.outputs if value in writer)),
        )
    )
    return Graph(file.name, nodes, file.delegate_calls)


def _weight(plan: schema.ExecutionPlan, value: int) -> Weight | None:
    """A constant or a state; None for computed values and for numbers."""
    tensor = plan.values[value].val
    if not isinstance(tensor, schema.Tensor):
        return None
    extra = tensor.extra_tensor_info
    name = extra.fully_qualified_name if extra is not None else ""
    # A state that starts at zero has a name, and no data in the file.
    if tensor.allocation_info is None or tensor.data_buffer_idx > 0 or name:
        return Weight(name or f"value {value}", type_of(tensor), nbytes_of(tensor), tensor.allocation_info is not None)
    return None


def _bytes(held: object) -> int:
    return nbytes_of(held) if isinstance(held, schema.Tensor) else 0
