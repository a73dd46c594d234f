# SPDX-License-Identifier: BSD-3-Clause
"""`to_float16`: a captured float32 program, computed in float16 where that is accurate.

_rules     the operators that lose accuracy in float16, and why
_plan      which call of a graph is computed in which dtype
_rewrite   the graph with float16 calls and the conversions between
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir._to_edge._retrace import retraced
from sdk.exir.backend.declarations import declare_note, keep_losses, preprocessing
from sdk.exir.float16._plan import HALF, Plan, Planner
from sdk.exir.float16._rewrite import Rewriter
from sdk.exir.float16._rules import HALF_LIMITS
from sdk.exir.graph.constants import constant_of
from sdk.exir.graph.fake import fake_mode_of
from sdk.exir.graph.programs import assemble, copy_program, make_graph_module, with_graph_module


def to_float16(program: ExportedProgram) -> ExportedProgram:
    """A copy of `program`, a float32 program from torch.export, with float16 weights and intermediate results.

    Inputs, outputs and state keep their dtypes. Operators that lose accuracy in float16 (sums, exponentials, norms,
    positions, values outside its range), the bodies of control flow and operators of other libraries stay in float32.
    The receipt's notes list them with the reasons. `program` is not changed.

    Raises:
        ExportError: The program writes to its tensors in a way that PyTorch's tracer cannot make functional.
    """
    program = copy_program(_functional(program))
    mode = fake_mode_of(program.graph_module)
    constants = {
        node: value
        for node in program.graph.find_nodes(op="placeholder")
        if (value := constant_of(program, node)) is not None and value.dtype == torch.float32
    }
    large = _large_inputs(program)
    written = set(program.graph_signature.buffers_to_mutate.values())
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target is not None}
    state = {node for node in program.graph.find_nodes(op="placeholder") if targets.get(node.name) in written}
    plan = Planner(mode, constants, targets, {*large, *state}).plan(program.graph)
    graph = Rewriter(plan, mode).write(program.graph)
    graph.eliminate_dead_code()
    module = make_graph_module(program.graph_module, graph)
    module.meta.update(program.graph_module.meta)
    _note(module, plan, large)
    state_dict, others = _halved(program, [constants[node] for node, dtype in plan.constants.items() if dtype == HALF])
    halved = with_graph_module(program, module)
    return assemble(halved, module, halved.graph_signature, state_dict=state_dict, constants=others)


def _halved(program: ExportedProgram, tensors: list[torch.Tensor]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state and the constants of a program with these tensors in float16. Tied weights stay one tensor."""
    halves = {id(tensor): _half(tensor) for tensor in tensors}
    state, constants = (
        {name: halves.get(id(value), value) for name, value in store.items()}
        for store in (program.state_dict, program.constants)
    )
    return state, constants


def rounding_steps(program: ExportedProgram) -> int:
    """The largest number of calls in sequence whose results are rounded to float16, from an input to an output."""
    steps: dict[Node, int] = {}
    for node in program.graph.nodes:
        before = max((steps[operand] for operand in node.all_input_nodes), default=0)
        steps[node] = before + _rounds(node)
    return max(steps.values(), default=0)


def _rounds(node: Node) -> bool:
    """Whether a call rounds its result to float16; views only pass on values that were rounded before."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    is_view = any(result.alias_info is not None for result in node.target._schema.returns)
    leaves = pytree.tree_leaves(node.meta.get("val"))
    return not is_view and any(isinstance(leaf, torch.Tensor) and leaf.dtype == HALF for leaf in leaves)


def _functional(program: ExportedProgram) -> ExportedProgram:
    """The program without calls that write to their arguments: an argument may have a copy in another dtype."""
    writes = [node for node in program.graph.nodes if _writes(node)]
    if not writes:
        return program
    made = retraced(program, {}, ValueError(f"{writes[0].target} writes to its argument, which may become float16"))
    # The tracer forgets the bounds that were given for a program.
    made.range_constraints.update(
        {symbol: bounds for symbol, bounds in program.range_constraints.items() if symbol in made.range_constraints}
    )
    return made


def _writes(node: Node) -> bool:
    if node.op != "call_function":
        return False
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return node.target.name().startswith("wrap_with")  # a region without gradients, which the tracer dissolves
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _half(tensor: torch.Tensor) -> torch.Tensor:
    half = tensor.detach().to(HALF)
    return torch.nn.Parameter(half, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else half


def _large_inputs(program: ExportedProgram) -> dict[Node, float]:
    """The largest values of the float32 inputs whose example exceeds float16."""
    if program.example_inputs is None:
        return {}
    args, kwargs = program.example_inputs
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
    given: list[Any] = pytree.tree_leaves((args, kwargs))
    found = {}
    for name, value in zip(names, given, strict=False):
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32 and value.numel():
            largest = float(value.nan_to_num(0, 0, 0).abs().max())
            if largest > HALF_LIMITS.max:
                found[placeholders[name]] = largest
    return found


def _note(module: GraphModule, plan: Plan, large: dict[Node, float]) -> None:
    """Stores in the metadata of a module what stays in float32, for the receipt."""
    with preprocessing() as declared:
        reasons: dict[str, Counter[str]] = {}
        for (target, reason), calls in plan.kept.items():
            reasons.setdefault(reason, Counter())[target.rpartition(".")[0] or target] += calls
        for reason, calls_of in reasons.items():
            listed = ", ".join(f"{name} \u00d7{calls}" for name, calls in calls_of.most_common())
            declare_note(f"float32: {listed}: {reason}")
        for node, largest in large.items():
            declare_note(f"float32: the input {node.name}: its example reaches {largest:.3g}")
    keep_losses(module, declared)
