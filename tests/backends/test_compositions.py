# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of many operators, on the kernels and on every backend, with dynamic sizes and state between
calls."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import declared
from backends.targets import Target, targets
from compositions.examine import Capture, NotCapturedError, capture, examine
from compositions.int8 import capture_int8, make_int8
from compositions.program import Composition, Function, Program, Step, make
from compositions.steps import MAKERS

FOUND = (112, 124, 151, 178)
"""Programs that were wrong once."""


def expect_right(program: Program, target: Target, capture: Capture = capture) -> None:
    try:
        finding = examine(program, target, capture=capture)
    except NotCapturedError:
        return
    steps = "\n  ".join(program.texts)
    assert finding is None, f"{target.name}: {finding.what}; the program of seed {program.seed} is\n  {steps}"


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_sample(target: Target) -> None:
    for seed in (*FOUND, *range(8)):
        expect_right(make(seed), target)


INT8 = [target for target in targets() if target.backend in (None, declared.default())]


@pytest.mark.parametrize("target", INT8, ids=lambda target: target.name)
def test_int8_sample(target: Target) -> None:
    for seed in range(4):
        expect_right(make_int8(seed), target, capture_int8)


def test_a_wrong_int8_result_is_found() -> None:
    """`examine` finds the wrong result of a layer whose bias differs by 1."""

    def program(layer: nn.Module) -> Program:
        return Program(1, Composition([Step("layer", (0,))], [layer], [1]), (torch.randn(5, 16),))

    layer, other = nn.Linear(16, 8), nn.Linear(16, 8)
    other.load_state_dict({"weight": layer.weight, "bias": layer.bias + torch.eye(8)[3]})
    captured, calls = capture_int8(program(layer))
    assert examine(program(layer), targets()[0], capture=lambda _: (captured, calls)) is None
    captured, _ = capture_int8(program(other))
    finding = examine(program(layer), targets()[0], capture=lambda _: (captured, calls))
    assert finding is not None
    assert "elements differ" in finding.what


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_many(first: int, target: Target) -> None:
    for seed in range(first, first + 50):
        expect_right(make(seed), target)


def test_a_wrong_result_is_found() -> None:
    """`examine` finds the wrong result of a step that computes something else when it is captured."""
    add = Function(lambda x: x + (1 if torch.compiler.is_exporting() else 2))
    model = Composition([Step("add", (0,))], [add], [1])
    finding = examine(Program(0, model, (torch.randn(5, 3),)), targets()[0])
    assert finding is not None
    assert "15 of 15 elements differ" in finding.what


def test_every_step_is_drawn() -> None:
    """Two hundred programs together contain every kind of step."""
    drawn = {text.split(" = ")[1].partition("(")[0] for seed in range(200) for text in make(seed).texts}
    assert drawn == set(MAKERS)
