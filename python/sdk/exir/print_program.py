# SPDX-License-Identifier: BSD-3-Clause
"""Programs and graphs as readable text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any, TextIO

from torch.fx import Graph, Node

from sdk.exir.schema import (
    Bool,
    BoolList,
    DelegateCall,
    Double,
    DoubleList,
    ExecutionPlan,
    FreeCall,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    KernelTypes,
    MoveCall,
    Null,
    OptionalTensorList,
    Program,
    String,
    Tensor,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)

_LONG_BYTES = 16


def print_program(
    program: Program,
    show_meminfo: bool = True,
    mark_dynamic_shape_tensor: bool = False,
    out: TextIO | None = None,
) -> None:
    """Prints each method's instructions, with every argument as `<index>:<value>`.

    `show_meminfo` adds where tensors are stored, as `@<memory id>+<offset>`; `mark_dynamic_shape_tensor` puts `?` after
    the sizes of tensors that can be resized, which are upper bounds.
    """
    for plan in program.execution_plan:
        for line in _plan_lines(plan, show_meminfo, mark_dynamic_shape_tensor):
            print(line, file=out or sys.stdout)


def _plan_lines(plan: ExecutionPlan, show_meminfo: bool, mark_dynamic: bool) -> Iterator[str]:
    values = [value.val for value in plan.values]
    count = sum(len(chain.instructions) for chain in plan.chains)
    yield f"method {plan.name}: {count} instructions, {len(values)} values, planned bytes {plan.non_const_buffer_sizes}"

    def show(index: int) -> str:
        return f"{index}:{_value(values[index], values, show_meminfo, mark_dynamic)}"

    def show_all(indices: list[int]) -> str:
        return ", ".join(show(index) for index in indices)

    yield f"  inputs: {show_all(plan.inputs)}"
    for chain in plan.chains:
        width = len(str(len(chain.instructions)))
        for number, instruction in enumerate(chain.instructions):
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                op = plan.operators[call.op_index]
                text = f"{op.name}{'.' if op.overload else ''}{op.overload}({show_all(call.args)})"
            elif isinstance(call, DelegateCall):
                text = f"delegate {plan.delegates[call.delegate_index].id}({show_all(call.args)})"
            elif isinstance(call, JumpFalseCall):
                text = f"if not {show(call.cond_value_index)}: go to {call.destination_instruction}"
            elif isinstance(call, MoveCall):
                text = f"{call.move_to} = {show(call.move_from)}"
            elif isinstance(call, FreeCall):
                text = f"free {show(call.value_index)}"
            else:
                text = repr(call)
            yield f"  {number:>{width}}  {text}"
    yield f"  outputs: {show_all(plan.outputs)}"


def _value(value: KernelTypes, values: list[KernelTypes], show_meminfo: bool, mark_dynamic: bool) -> str:
    if isinstance(value, Tensor):
        dynamic = mark_dynamic and value.shape_dynamism != TensorShapeDynamism.STATIC
        text = f"{value.scalar_type.name.lower()}{list(value.sizes)}{'?' if dynamic else ''}"
        info = value.extra_tensor_info
        if info is not None and info.location == TensorDataLocation.EXTERNAL:
            text += f" external {info.fully_qualified_name}"
        elif value.allocation_info is None:
            text += " const" if value.data_buffer_idx else ""
        if show_meminfo and value.allocation_info is not None:
            text += f"@{value.allocation_info.memory_id}+{value.allocation_info.memory_offset}"
        return text
    if isinstance(value, Null):
        return "None"
    if isinstance(value, IntList):
        return str(
            [item.int_val if isinstance(item := values[index], Int) else f"value {index}" for index in value.items]
        )
    if isinstance(value, (TensorList, OptionalTensorList)):
        return "tensors " + str([None if index < 0 else index for index in value.items])
    if isinstance(value, (Int, Double, Bool, String, DoubleList, BoolList)):
        return repr(getattr(value, fields(value)[0].name))
    return repr(value)


def pretty_print(obj: Any, indent: int = 0, out: TextIO | None = None) -> None:
    """Prints a dataclass with all of its fields, one on each line. Long byte strings are shown by their length."""
    for line in _pretty_lines(obj, indent):
        print(line, file=out or sys.stdout)


def _pretty_lines(obj: Any, indent: int, label: str = "") -> Iterator[str]:
    pad = " " * indent
    if is_dataclass(obj) and not isinstance(obj, type):
        yield f"{pad}{label}{type(obj).__name__}" + ("(" if fields(obj) else "()")
        for field in fields(obj):
            yield from _pretty_lines(getattr(obj, field.name), indent + 2, f"{field.name}=")
        if fields(obj):
            yield f"{pad})"
    elif isinstance(obj, (list, tuple)) and any(map(is_dataclass, obj)):
        yield f"{pad}{label}["
        for index, item in enumerate(obj):
            yield from _pretty_lines(item, indent + 2, f"{index}: ")
        yield f"{pad}]"
    elif isinstance(obj, (bytes, bytearray)) and len(obj) > _LONG_BYTES:
        yield f"{pad}{label}<{len(obj)} bytes: {bytes(obj[:_LONG_BYTES]).hex(' ')} ...>"
    else:
        yield f"{pad}{label}{obj.name if isinstance(obj, IntEnum) else repr(obj)}"


def add_cursor_to_graph(graph: Graph, finding_node: Node) -> str:
    """The graph as text, with an arrow at a node."""
    lines = []
    for node in graph.nodes:
        text = node.format_node()
        if text is not None:
            lines.append(f"{'-->' if node is finding_node else '   '} {text}")
    return "graph():\n" + "\n".join(lines)


def inspect_node(graph: Graph, node: Node) -> str:
    """A node's place in the graph, its inputs with their types, and where in the model it comes from."""
    lines = [
        f"{node.name} error_msg: Here is the node in the graph module:",
        add_cursor_to_graph(graph, node),
        f"This node {node.name} has metadata of:",
    ]
    for argument in node.all_input_nodes:
        lines.append(f"  input {argument.name}: {argument.meta.get('val')!r}")
    lines.append(f"  value: {node.meta.get('val')!r}")
    if trace := node.meta.get("stack_trace"):
        lines += ["The node stacktrace:", "Traceback (most recent call last):", *trace.rstrip().splitlines()]
    return "\n".join(lines)
