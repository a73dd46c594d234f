# SPDX-License-Identifier: BSD-3-Clause
"""Shows which tensors are in planned memory at each step, in the format of Chrome's trace viewer.

The viewer is made for time, so its axes mean something else here: one second from left to right is one megabyte (10^6
bytes), a process is an arena, and each row is one instruction of the program.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdk.devtools.report.facts import PlannedTensor, program_facts
from sdk.exir._serialize._files import write_atomically
from sdk.exir.schema import DelegateCall, Instruction, KernelCall, Program

if TYPE_CHECKING:
    from sdk.exir import ExecutorchProgramManager


def generate_memory_trace(
    executorch_program_manager: ExecutorchProgramManager,
    chrome_trace_filename: str | os.PathLike[str],
    enable_memory_offsets: bool = False,
    method_name: str = "forward",
) -> None:
    """Writes the memory plan of a method as JSON.

    Arguments:
        executorch_program_manager: what `to_executorch()` has returned.
        chrome_trace_filename: the file to write.
        enable_memory_offsets: show each tensor at its place in the arena; otherwise the tensors of a row are shown one
            after another, so that its length is the bytes in use at this step.
        method_name: the method to show.

    Raises:
        ValueError: the program has no such method.
    """
    program: Program = executorch_program_manager.executorch_program
    plans = {plan.name: plan for plan in program.execution_plan}
    if method_name not in plans:
        raise ValueError(f"the program has no method {method_name!r}; it has {sorted(plans)}")
    (facts,) = [method for method in program_facts(program).methods if method.name == method_name]
    plan = plans[method_name]
    names = [_name(instruction, plan) for instruction in plan.chains[0].instructions]

    events: list[dict[str, Any]] = []
    for memory_id in facts.arenas:
        tensors = [tensor for tensor in facts.tensors if tensor.memory_id == memory_id]
        events.append(_label("process_name", memory_id, 0, f"arena {memory_id}"))
        for step, name in enumerate(names):
            events.append(_label("thread_name", memory_id, step, f"{step}: {name}"))
            events += _row(step, [t for t in tensors if t.first <= step <= t.last], enable_memory_offsets)
    write_atomically(Path(chrome_trace_filename), json.dumps({"traceEvents": events}) + "\n")


def _row(step: int, alive: list[PlannedTensor], at_offsets: bool) -> list[dict[str, Any]]:
    events, end = [], 0
    for tensor in sorted(alive, key=lambda t: t.offset):
        events.append(
            {
                "name": f"{tensor.made_by}: {tensor.type}",
                "cat": "memory_allocation",
                "ph": "X",
                "ts": tensor.offset if at_offsets else end,
                "dur": tensor.nbytes,
                "pid": tensor.memory_id,
                "tid": step,
                "args": {"bytes": tensor.nbytes, "offset": tensor.offset, "alive": [tensor.first, tensor.last]},
            }
        )
        end += tensor.nbytes
    return events


def _label(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _name(instruction: Instruction, plan: Any) -> str:
    call = instruction.instr_args
    if isinstance(call, KernelCall):
        operator = plan.operators[call.op_index]
        return f"{operator.name}.{operator.overload}" if operator.overload else str(operator.name)
    if isinstance(call, DelegateCall):
        return str(plan.delegates[call.delegate_index].id)
    return type(call).__name__.removesuffix("Call").lower()
