# SPDX-License-Identifier: BSD-3-Clause
"""Times in the output: three digits with their unit, and models that change buffers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sdk.export.cli.timing import same, timing
from sdk.export.example_inputs import ExampleInputs
from sdk.util.words import readable_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.1e-5, "0.021 ms"),
        (0.00123, "1.23 ms"),
        (0.0123, "12.3 ms"),
        (0.123, "123 ms"),
        (1.5, "1.50 s"),
        (75, "75.0 s"),
    ],
)
def test_three_digits(seconds: float, text: str) -> None:
    assert readable_seconds(seconds) == text


class Once(nn.Module):
    """Fails when it is called again."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls > 1:
            raise RuntimeError("called again")
        return x


class Counted:
    """A program that counts its calls."""

    calls = 0

    def run(self, method: str, inputs: ExampleInputs) -> list[torch.Tensor]:
        self.calls += 1
        return []


def test_both_sides_are_called_several_times() -> None:
    program = Counted()
    timed = timing("forward", nn.Identity(), ExampleInputs.of((torch.ones(2),)), program)  # type: ignore[arg-type]
    assert timed is not None and timed.program > 0 and timed.eager > 0 and 4 <= program.calls <= 101


def test_a_call_that_fails_has_no_time() -> None:
    """The export goes on: the program is verified."""
    assert timing("forward", Once(), ExampleInputs.of((torch.ones(2),)), Counted()) is None  # type: ignore[arg-type]


def test_buffers_are_the_same_where_both_are_nan() -> None:
    a = torch.tensor([1.0, float("nan")])
    assert same(a, a.clone()) and not same(a, torch.tensor([1.0, 2.0])) and not same(a, a[:1])
    assert same(torch.tensor([True]), torch.tensor([True])) and same(torch.empty(0), torch.empty(0))
