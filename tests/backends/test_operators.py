# SPDX-License-Identifier: BSD-3-Clause
"""Every operator of Core ATen on the kernels and on every backend, at sizes that models have (operator conformance).

A test makes all calls of one operator (backends/cases) for one target on 1, 2, 3 and 8 threads, and compares them with
eager. Whatever a backend leaves to kernels must come with its reason, as docs/generated/conformance.md has it.
"""

from __future__ import annotations

import pytest
import torch

from backends import page
from backends.cases import OPERATORS, Calls, Sliced, call, call_of
from backends.conformance import NO_REASON, Cell, Outcome, examine_operator, joined
from backends.targets import Target, targets
from sdk.exir import to_edge_transform_and_lower

NO_CALLS = {
    "_local_scalar_dense.default": "Tensor.item(): a size or a Python number, tests/zoo (size_from_data)",
    "_native_batch_norm_legit.default": "writes running statistics in place: tests/python/operators",
    "atan2.out": "an out variant: what atan2.default becomes",
    "empty.memory_format": "its values are undefined",
    "empty_strided.default": "its values are undefined",
    "rand.default": "its values are random",
    "randn.default": "its values are random",
    "randperm.default": "its values are random",
    "resize_.default": "changes the shape of an input, which functional programs do not",
    "sym_is_contiguous.default": "a property of strides, which programs do not have",
    "sym_numel.default": "a size: tests/zoo (size_arithmetic)",
    "sym_size.int": "a size: tests/zoo (size_arithmetic)",
    "sym_storage_offset.default": "a size: programs have no storage offsets",
    "sym_stride.int": "a size: programs have no strides",
}
"""Overloads of Core ATen without results to compare, and how they are tested instead."""


def core_aten() -> set[str]:
    """The overloads that PyTorch tags as Core ATen."""
    names = (name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    found = set()
    for name in names:
        packet, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload or "default")
        if torch.Tag.core in function.tags:
            found.add(str(function).removeprefix("aten."))
    return found


def test_every_operator_of_core_aten_has_calls() -> None:
    assert core_aten() - set(OPERATORS) == set(NO_CALLS)


@pytest.mark.sampled
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str, target: Target) -> None:
    cell = examine_operator(name, target)
    assert cell.outcome is not Outcome.FAILED, cell.reasons[0]
    if not target.is_kernels:
        expected = page.read().get((name, target.name))
        assert cell == expected, f"docs/generated/conformance.md has {expected}: run scripts/pages conformance"


def test_a_wrong_result_fails() -> None:
    """A test of the suite itself: it fails if a program computes another operator than the expected one."""
    cell = examine_operator("sin.default", targets()[0], computes=torch.ops.aten.cos.default)
    assert cell.outcome is Outcome.FAILED
    assert "elements differ" in cell.reasons[0]


def test_pages_are_read_as_they_were_written() -> None:
    cells = {("a.default", "x"): Cell(Outcome.PARTLY, ("b", "c")), ("b.default", "x"): Cell(Outcome.RIGHT)}
    assert page.parse(page.render(cells)) == cells


def test_values_in_a_reason_are_listed_once() -> None:
    reasons = {"dim is 1, and X takes the last one", "dim is 0, and X takes the last one", "ceil_mode is on"}
    assert joined(reasons) == ("ceil_mode is on", "dim is 0 or 1, and X takes the last one")


def test_nodes_belong_to_calls_but_the_slices_before_them_do_not() -> None:
    """A backend that takes only the slice, and not the call that reads it, does not count as computing the call."""
    absolute = torch.ops.aten.abs.default
    calls = Calls([(absolute, call(Sliced(torch.ones(2, 3)))), (absolute, call(torch.ones(4)))])
    program = to_edge_transform_and_lower(torch.export.export(calls, tuple(calls.inputs))).exported_program()
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    found = {str(call_of(node)): node.target.name() for node in nodes}
    assert found == {"None": "aten::slice_copy.Tensor", "calls.0": "aten::abs", "calls.1": "aten::abs"}


def test_the_page_gives_a_reason_for_all_that_is_left_to_kernels() -> None:
    for (name, column), cell in page.read().items():
        left = cell.outcome in (Outcome.PARTLY, Outcome.REFUSED)
        assert bool(cell.reasons) == left, (name, column)
        assert NO_REASON not in cell.reasons, (name, column)
