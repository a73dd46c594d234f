# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of many operators, on the kernels and on every backend, with dynamic sizes and state between
calls."""

from __future__ import annotations

import pytest
import torch

from backends.targets import Target, targets
from compositions.examine import NotCapturedError, examine
from compositions.program import Composition, Function, Program, Step, make
from compositions.steps import MAKERS

FOUND = (112, 124, 151, 178)
"""Programs that were wrong once."""


def expect_right(seed: int, target: Target) -> None:
    program = make(seed)
    try:
        finding = examine(program, target)
    except NotCapturedError:
        return
    steps = "\n  ".join(program.texts)
    assert finding is None, f"{target.name}: {finding.what}; the program of seed {seed} is\n  {steps}"


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_sample(target: Target) -> None:
    for seed in (*FOUND, *range(8)):
        expect_right(seed, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_many(first: int, target: Target) -> None:
    for seed in range(first, first + 50):
        expect_right(seed, target)


def test_a_wrong_result_is_found() -> None:
    """Of a step that adds another number when it is captured than in eager mode."""
    add = Function(lambda x: x + (1 if torch.compiler.is_exporting() else 2))
    model = Composition([Step("add", (0,))], [add], [1])
    finding = examine(Program(0, model, (torch.randn(5, 3),)), targets()[0])
    assert finding is not None
    assert "15 of 15 elements differ" in finding.what


def test_every_step_is_drawn() -> None:
    """In two hundred programs."""
    drawn = {text.split(" = ")[1].partition("(")[0] for seed in range(200) for text in make(seed).texts}
    assert drawn == set(MAKERS)
