# SPDX-License-Identifier: BSD-3-Clause
"""New values for inputs that a verification draws."""

from __future__ import annotations

import torch

from sdk.export.cli.fresh import fresh
from sdk.export.cli.specs import input_spec
from sdk.export.example_inputs import ExampleInputs


def made(example: torch.Tensor, size: int) -> torch.Tensor:
    """Returns new values like those of an example with one dimension."""
    found = fresh(ExampleInputs((example, 3), {}), {(0, 0): size}, (), torch.Generator().manual_seed(0))
    assert found.args[1] == 3 and found.args[0].dtype == example.dtype
    result: torch.Tensor = found.args[0]
    assert result.shape == (size,)
    return result


def test_fresh_floats_lie_in_the_range_of_the_example() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        found = made(torch.tensor([-1.0, 0.5, 3.0], dtype=dtype), 200)
        assert -1 <= found.min() < 0 and 2 < found.max() <= 3
    assert made(torch.randn(5), 1000).unique().numel() > 990
    assert made(torch.ones(4), 64).unique().numel() > 60
    assert made(torch.zeros(0), 2).tolist() == [0, 0]
    mask = torch.tensor([0.0, -torch.inf, 0.0])
    assert set(made(mask, 50).tolist()) == {0.0, -torch.inf}
    assert set(made(torch.tensor([0.0, 1.0] * 4), 50).tolist()) == {0.0, 1.0}
    assert made(torch.tensor([1 + 2j, 3 - 1j]), 50).imag.max() <= 2


def test_fresh_integers_are_distinct_where_they_can_be() -> None:
    found = made(torch.tensor([7, 900, 20]), 64)
    assert found.unique().numel() == 64 and found.min() >= 7 and found.max() <= 900
    assert set(made(torch.tensor([1, 3]), 64).tolist()) == {1, 2, 3}
    offsets = made(torch.tensor([0, 3, 9]), 6)
    assert offsets.tolist() == sorted(offsets.tolist()) and offsets.max() <= 9
    assert set(made(torch.tensor([True, False]), 50).tolist()) == {True, False}
    assert made(torch.tensor([2**63 - 1, 0]), 4).min() >= 0
    for dtype in (torch.uint8, torch.int8, torch.uint16, torch.int32):
        assert made(torch.tensor([0, 100], dtype=dtype), 30).to(torch.int64).max() <= 100


def test_fresh_inputs_have_the_range_of_the_command_line() -> None:
    spec = input_spec("2x4:int64=10..5000")
    inputs = ExampleInputs((torch.full((2, 4), 10),), {})
    (found,) = fresh(inputs, {(0, 1): 100}, [spec], torch.Generator().manual_seed(0)).args
    assert found.shape == (2, 100) and found.unique().numel() == 200 and found.max() > 4000
