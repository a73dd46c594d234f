# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and numbers in branches and loop bodies: each keeps its value when it is lowered, run, saved and read."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from functorch.experimental.control_flow import map as map_over
from torch import nn
from torch._higher_order_ops.scan import scan
from torch.export import ExportedProgram, export

from sdk.devtools import parse_etrecord
from sdk.exir import EdgeProgramManager, to_edge
from sdk.exir.serde.serialize import load, save
from sdk.runtime import Runtime

X = torch.tensor([1.0, 2.0, 3.0])


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def branches(x: torch.Tensor) -> torch.Tensor:
    """Both branches have constants, of other dtypes."""

    def positive(y: torch.Tensor) -> torch.Tensor:
        return y * 2.5 + torch.tensor([1.0, 2.0, 3.0])

    return torch.cond(x.sum() > 0, positive, lambda y: y - torch.tensor(3) + 1, (x,))


def nested(x: torch.Tensor) -> torch.Tensor:
    def inner(y: torch.Tensor) -> torch.Tensor:
        return torch.cond(y.max() > torch.tensor(1.5), lambda z: z * 4 + torch.tensor([7.0]), lambda z: z - 1, (y,))

    return torch.cond(x.sum() > 0, inner, lambda y: y * 3, (x,))


def loop(x: torch.Tensor) -> Any:
    def body(i: torch.Tensor, y: torch.Tensor) -> Any:
        return i + 1, y * 2 + torch.tensor([0.5])

    return torch.while_loop(lambda i, y: i < torch.tensor(3), body, (torch.tensor(0), x))


def mapped(x: torch.Tensor) -> torch.Tensor:
    return map_over(lambda y, z: y * torch.tensor(2.0) + z + 1, x.reshape(3, 1), x.neg())


def scanned(x: torch.Tensor) -> Any:
    def step(total: torch.Tensor, y: torch.Tensor) -> Any:
        total = total * 2 + y + torch.tensor(0.25)
        return total, total * torch.tensor([3.0])

    return scan(step, torch.zeros(1), x.reshape(3, 1))


def without_gradients(x: torch.Tensor) -> torch.Tensor:
    """Each region has a branch; torch numbers branches in each region anew."""
    with torch.no_grad():
        y = torch.cond(x.sum() > 0, lambda a: a * 2 + torch.tensor([1.0]), lambda a: a.sin(), (x,))
    return torch.cond(y.sum() > 0, lambda a: a * 3 + torch.tensor([5.0]), lambda a: a.cos(), (y,))


def written(x: torch.Tensor) -> torch.Tensor:
    """A write in a branch: the program is traced as a whole."""

    def positive(y: torch.Tensor) -> torch.Tensor:
        z = y.clone()
        z.mul_(2.5).add_(torch.tensor([1.0, 2.0, 3.0]))
        return z * 3

    return torch.cond(x.sum() > 0, positive, lambda y: y + torch.tensor([4.0]) + 2, (x,))


FUNCTIONS = [branches, nested, loop, mapped, scanned, without_gradients, written]
INPUTS = [X, -X, torch.tensor([0.5, 0.25, 1.0])]
EXACT: Any = {"rtol": 0, "atol": 0}


def lowered(function: Callable[..., Any], strict: bool = True) -> EdgeProgramManager:
    return to_edge(export(Function(function), (X,), strict=strict), generate_etrecord=True)


def run(manager: EdgeProgramManager, x: torch.Tensor) -> Any:
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    assert method is not None
    found = method.execute((x,))
    return found[0] if len(found) == 1 else tuple(found)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_numbers_and_tensors_of_a_branch_do_not_take_each_others_place(
    function: Callable[..., Any], strict: bool
) -> None:
    manager = lowered(function, strict)
    for x in INPUTS:
        expected = function(x)
        torch.testing.assert_close(manager.exported_program().module()(x), expected, **EXACT)
        torch.testing.assert_close(run(manager, x), expected, **EXACT)


def test_branches_with_weights_and_numbers_have_gradients() -> None:
    """torch.cond traces branches for gradients, and PyTorch traces no tensor that is not an input of the branch."""
    linear = nn.Linear(3, 3)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: linear(y) + 1, lambda y: linear(y) - 1, (x,))

    model = Function(function)
    model.linear = linear
    module = to_edge(export(model, (X,))).exported_program().module()
    for x in INPUTS:
        found, expected = (x.clone().requires_grad_() for _ in range(2))
        results = module(found), function(expected)
        torch.testing.assert_close(*results)
        for result in results:
            result.sum().backward()
        torch.testing.assert_close(found.grad, expected.grad)


def handles(program: ExportedProgram) -> list[tuple[str, Any]]:
    """The handle of each call, also in branches."""
    modules = [module for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    calls = [node for module in modules for node in module.graph.nodes if node.op == "call_function"]
    return sorted((str(node.target), node.meta.get("debug_handle") or 0) for node in calls)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_record_keeps_constants_of_branches(function: Callable[..., Any], tmp_path: Path) -> None:
    """ETR-01: the record's programs compute what they did, and each call has its debug handle."""
    manager = lowered(function)
    edge = manager.exported_program()
    manager.to_executorch().get_etrecord().save(tmp_path / "record.bin")
    record = parse_etrecord(tmp_path / "record.bin")
    assert record.exported_program is not None and isinstance(record.edge_dialect_program, ExportedProgram)
    for x in INPUTS:
        for program in (record.exported_program, record.edge_dialect_program):
            torch.testing.assert_close(program.module()(x), function(x), **EXACT)
    assert handles(record.edge_dialect_program) == handles(edge)
    assert any(handle for _, handle in handles(edge))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_files_keep_constants_of_branches_and_are_lowered_from(function: Callable[..., Any]) -> None:
    program = export(Function(function), (X,), strict=True)
    for saved in (program, to_edge(program).exported_program(), to_edge(program).to_executorch().exported_program()):
        file = io.BytesIO()
        before = str(saved.graph), str(saved.graph_signature)
        save(saved, file)
        assert (str(saved.graph), str(saved.graph_signature)) == before, "saving changed the program"
        read = load(file)
        assert len(read.constants) >= len(saved.constants)
        if saved is program:
            for x in INPUTS:
                torch.testing.assert_close(run(to_edge(read), x), function(x), **EXACT)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64])
def test_constants_of_branches_keep_their_dtype(dtype: torch.dtype) -> None:
    constant = torch.tensor([1, 0, 3]).to(dtype)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y + constant.clone(), lambda y: y * 2, (x,))

    x = torch.tensor([1, 2, 3]).to(dtype)
    saved = to_edge(export(Function(lambda x: function(x)), (x,), strict=True))
    file = io.BytesIO()
    save(saved.exported_program(), file)
    torch.testing.assert_close(load(file).module()(x), function(x), **EXACT)


def test_a_branch_that_two_calls_share_is_saved_for_each() -> None:
    program = export(Function(branches), (X,), strict=True)
    graph = program.graph_module.graph
    call = next(node for node in graph.nodes if node.target is torch.ops.higher_order.cond)
    _, first, _, operands = call.args
    call.args = (call.args[0], first, first, operands)
    program.graph_module.recompile()
    file = io.BytesIO()
    save(program, file)
    expected = X * 2.5 + torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(load(file).module()(X), expected, **EXACT)
