# SPDX-License-Identifier: BSD-3-Clause
"""Finds the losses of a program compared with its model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from sdk.devtools.report._model import PORTABLE, Loss, LossKind, Row
from sdk.devtools.report._operators import missing_kernels
from sdk.exir._serialize._tensor_data import memory_of
from sdk.exir.backend.declarations import get_losses
from sdk.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from sdk.exir.passes.external_constants_pass import delegate_tag
from sdk.exir.schema import Buffer, Program, Tensor, TensorDataLocation, TensorShapeDynamism
from sdk.exir.tensor import TensorSpec

_STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def find_losses(manager: Any, rows: Sequence[Row], captured: Mapping[str, ExportedProgram]) -> Iterator[Loss]:
    """Every loss, the worst first: those that prevent loading, then those that change results, then those that change
    where an operator runs."""
    emitted: Program = manager.executorch_program
    for method, name in missing_kernels(emitted):
        what = f"{method}: no kernel of {name} is linked into the runtime, which will refuse to load the program"
        yield Loss(LossKind.MISSING_KERNEL, method, what)
    for method in sorted(manager.methods):
        program = manager.exported_program(method)
        delegates = get_lowered_backend_modules(program.graph_module)
        yield from _unplanned(method, emitted)
        yield from _initial_values(method, program, manager._emitter_output.mutable_data)
        if method in captured:
            yield from _downcasts(method, program, delegates, captured[method])
        for lowered in delegates:
            for kind, what in get_losses(lowered):
                yield Loss(LossKind(kind), method, f"{method}: {lowered.backend_id} says: {what}")
        yield from _dropped_tags(method, program)
    for row in rows:
        if row.where == PORTABLE and row.refusals:
            at = f" ({row.source})" if row.source else ""
            what = f"{row.method}: {row.operator}{at} runs on a kernel. {row.why}"
            yield Loss(LossKind.FALLBACK, row.method, what, row.node)


def _unplanned(method: str, emitted: Program) -> Iterator[Loss]:
    plan = next(plan for plan in emitted.execution_plan if plan.name == method)
    given = {*plan.inputs, *plan.outputs}
    for index, value in enumerate(plan.values):
        tensor = value.val
        if not isinstance(tensor, Tensor) or index in given or 0 in tensor.sizes:
            continue
        extra = tensor.extra_tensor_info
        external = extra is not None and extra.location == TensorDataLocation.EXTERNAL
        if tensor.allocation_info is None and tensor.data_buffer_idx == 0 and not external:
            unbound = tensor.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
            why = "its size has no bound" if unbound else "the memory planning pass left it out"
            if not _is_view_result(plan, index):
                what = f"{method}: value {index} of sizes {list(tensor.sizes)} has no planned memory: {why}"
                yield Loss(LossKind.UNPLANNED, method, what)


def _is_view_result(plan: Any, index: int) -> bool:
    """Whether a value uses the memory of another value at run time."""
    views = {i for i, op in enumerate(plan.operators) if op.name == "executorch_prim::et_view"}
    calls = (instruction.instr_args for chain in plan.chains for instruction in chain.instructions)
    return any(getattr(call, "op_index", None) in views and call.args[-1] == index for call in calls)


def _initial_values(method: str, program: ExportedProgram, data: list[Buffer] | None) -> Iterator[Loss]:
    """Buffers that the method writes to, whose values are not in the file."""
    stored = {bytes(buffer.storage) for buffer in data or ()}
    written = {s.target for s in program.graph_signature.output_specs if s.kind in _WRITTEN}
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    for spec in program.graph_signature.input_specs:
        node = placeholders.get(getattr(spec.arg, "name", ""))
        if spec.target not in written or node is None or not node.users or node.meta.get("constant_tag") is not None:
            continue
        tensor = program.state_dict.get(spec.target, program.constants.get(spec.target))
        plan = node.meta.get("spec")
        if not isinstance(tensor, torch.Tensor) or not isinstance(plan, TensorSpec):
            continue
        if bool(tensor.count_nonzero()) and _bytes(tensor, plan.dim_order) not in stored:
            what = f"{method}: buffer {spec.target} starts at zero; its value in the model is not in the program"
            yield Loss(LossKind.INITIAL_VALUE, method, what, node.name)


def _bytes(tensor: torch.Tensor, dim_order: Sequence[int]) -> bytes:
    return bytes(memory_of(tensor.detach().permute(tuple(dim_order)).contiguous()))


def _downcasts(
    method: str, program: ExportedProgram, delegates: Sequence[LoweredBackendModule], captured: ExportedProgram
) -> Iterator[Loss]:
    for kind, before, after in (
        ("input", _user_values(captured, "inputs"), _user_values(program, "inputs")),
        ("output", _user_values(captured, "outputs"), _user_values(program, "outputs")),
    ):
        for i, (old, new) in enumerate(zip(before, after, strict=False)):
            if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.dtype != new.dtype:
                what = f"{method}: {kind} {i} is {_dtype(new)}; in the model it is {_dtype(old)}"
                yield Loss(LossKind.DOWNCAST, method, what)
    for holder in (program, *(lowered.original_module for lowered in delegates)):
        for spec in holder.graph_signature.input_specs:
            name = str(spec.target)
            old, new = _weight(captured, name), _weight(holder, name)
            if spec.kind in _STATE and old is not None and new is not None and old.dtype != new.dtype:
                what = f"{method}: weight {name} is {_dtype(new)}; in the model it is {_dtype(old)}"
                yield Loss(LossKind.DOWNCAST, method, what)


def _user_values(program: ExportedProgram, side: str) -> list[Any]:
    nodes = {node.name: node for node in program.graph.nodes}
    names = program.graph_signature.user_inputs if side == "inputs" else program.graph_signature.user_outputs
    return [nodes[name].meta.get("val") if isinstance(name, str) and name in nodes else name for name in names]


def _weight(program: ExportedProgram, name: str) -> torch.Tensor | None:
    found = program.state_dict.get(name, program.constants.get(name))
    return found if isinstance(found, torch.Tensor) else None


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _dropped_tags(method: str, program: ExportedProgram) -> Iterator[Loss]:
    """Weights that were marked for a delegate's data file."""
    for node in program.graph.find_nodes(op="placeholder"):
        tag = delegate_tag(node)
        # Weights that kernels read may be in the same file without the backend.
        if tag is not None and node.users and node.meta.get("constant_tag") != tag:
            what = f"{method}: {node.name} is marked for the file {tag} of a delegate, but no delegate took it"
            yield Loss(LossKind.DROPPED_TAG, method, what, node.name)
