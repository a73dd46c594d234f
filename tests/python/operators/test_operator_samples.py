# SPDX-License-Identifier: BSD-3-Clause
"""Samples that are lowered together, those of scripts/operator_samples in processes, and the page of the results."""

from __future__ import annotations

from pathlib import Path

import torch
from conformance import tolerances
from sample_page import read_results, render
from sample_processes import examine_all
from sample_program import NOT_CAPTURED, NOT_LOWERED, REFUSED, RIGHT, WRONG, Group, Sample, attempt
from sample_table import OP_INFOS, Result, Task, examine

X = torch.tensor([0.5, -2.0])


def outcomes(*members: Sample) -> list[tuple[str, str]]:
    (op,) = (op for op in OP_INFOS if op.full_name == "exp")
    return [(outcome.kind, outcome.reason) for outcome in attempt(op, members, tolerances(op, torch.float32))]


def refused_by_eager(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.ones(3)


def not_captured(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


def captured_wrongly(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if torch.compiler.is_compiling() else x


def two_results(x: torch.Tensor) -> list[torch.Tensor]:
    return [x.abs(), x + x]


def test_each_sample_of_a_group_has_its_own_outcome() -> None:
    functions = (torch.exp, refused_by_eager, two_results, captured_wrongly, torch.neg)
    found = outcomes(*(Sample(function, (X,), {}) for function in functions))
    assert [kind for kind, _ in found] == [RIGHT, REFUSED, RIGHT, WRONG, RIGHT]
    assert [reason for kind, reason in found if kind == RIGHT] == [""] * 3
    assert "not close" in found[3][1]


def test_a_sample_that_spoils_the_program_spoils_no_other_one() -> None:
    found = outcomes(*(Sample(function, (X,), {}) for function in (torch.exp, not_captured, two_results)))
    assert [kind for kind, _ in found] == [RIGHT, NOT_CAPTURED, RIGHT]
    # The outcomes record that the samples are right only in separate programs.
    assert all("DataDependent" in reason for _, reason in found)


def test_more_samples_than_a_group_takes() -> None:
    found = outcomes(*(Sample(torch.mul, (X, float(i)), {}) for i in range(60)))
    assert found == [(RIGHT, "")] * 60


def test_inputs_of_a_group_are_those_of_its_samples() -> None:
    group = Group([Sample(torch.add, (X, X + 1), {}), Sample(torch.neg, (X + 2,), {})])
    assert [x.tolist() for x in group.inputs()] == [[0.5, -2.0], [1.5, -1.0], [2.5, 0.0]]
    assert [x.tolist() for x in group(*group.inputs())] == [[2.0, -3.0], [-2.5, -0.0]]


def test_results_are_kept(tmp_path: Path) -> None:
    """Results of tasks that crash are kept, too."""
    tasks = [Task("neg", None, 1), Task("no function", None, 1)]
    found = {result.task: result for result in examine_all(tasks, 2, 60.0, float("inf"))}
    assert found[tasks[0]].counts["float32"] == {RIGHT: 1} and "bool" not in found[tasks[0]].counts
    assert found[tasks[1]].failure == "the process ended with 1"
    file = tmp_path / "results"
    file.write_text("".join(result.line() + "\n" for result in found.values()))
    assert {result.task: result for result in read_results([file])} == found


def test_time_ends() -> None:
    (result,) = examine_all([Task("neg", None, None)], 1, 0.0, float("inf"))
    assert result.failure == "not done after 0 s"
    assert list(examine_all([Task("neg", None, 1)], 1, 60.0, -1.0)) == []


def test_page_tells_what_was_tried() -> None:
    counts = {"float32": {RIGHT: 6.0, REFUSED: 2.0, NOT_LOWERED: 1.0, NOT_CAPTURED: 1.0}, "bool": {RIGHT: 2.0}}
    whole = Result(Task("neg", None, None), {"float32": {RIGHT: 10.0}})
    other = Result(Task("neg", 7, 2), {"float32": {RIGHT: 3.0, WRONG: 1.0}})
    text = render(
        [Result(Task("linalg.eig", None, None), counts), whole, other, Result(Task("abs", None, None), failure="x")]
    )
    assert f"All samples of 3 of {len(OP_INFOS)} functions, with the random numbers of PyTorch's tests." in text
    assert "| float32 | 18 | 17 | 16 | 94.12% | 88.89% |" in text and "| all | 20 | 19 | 18 | 94.74% | 90.00% |" in text
    assert "| `linalg.eig` | 8 | 1 | 1 | 0 | 0 | eigenvalues" in text and "`neg`" not in text
    assert "with the random numbers of seed 7: 4 are computed by eager, 4 captured, and 3 right, 75.00%" in text
    assert "Not done in time, or crashed: `abs`." in text


def test_errors_are_named() -> None:
    result = examine(Task("to_sparse", None, 1))
    assert {(dtype, kind) for dtype, kind, _, _ in result.errors} >= {("float32", NOT_LOWERED)}
