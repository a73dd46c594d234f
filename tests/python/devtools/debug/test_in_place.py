# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.debug` of models that write to tensors: state of floats and of integers, sums in place, views."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_debug import BOTH, debug, lower
from torch import nn
from torch.export import export

INPUTS = (torch.linspace(-1, 2, 12).reshape(3, 4),)


class InPlace(nn.Module):
    """Each number is an operand of one of its operators that write in place."""

    def __init__(self, add: float = 1, count: int = 1, residual: float = 1, columns: float = 2) -> None:
        super().__init__()
        self.register_buffer("state", torch.full((3, 4), 0.5))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.linear = nn.Linear(4, 4)
        self.add, self.count, self.residual, self.columns = add, count, residual, columns

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.state.add_(x, alpha=self.add)
        self.calls += self.count
        y = self.linear(self.state)
        y.add_(x, alpha=self.residual)
        flat = y.view(-1)
        flat.mul_(self.columns)
        y[:, 0] *= 3
        self.state[0] = x[1]
        return y + self.state.sum(), self.calls * 2


def of(delegated: bool, path: Path, **numbers: float) -> Path:
    """The program of a model with these numbers. All have the same weights."""
    torch.manual_seed(0)
    manager = lower(export(InPlace(**numbers).eval(), INPUTS), delegated)
    manager.save(path)
    manager.get_etrecord().save(path.with_suffix(".etrecord"))
    return path


@BOTH
def test_a_right_program_is_not_accused(delegated: bool, tmp_path: Path) -> None:
    path = of(delegated, tmp_path / "right.pte")
    status, found = debug(path, "--etrecord", path.with_suffix(".etrecord"))
    assert status == 0 and found["departing"] == []
    assert {"aten.add_.Tensor", "aten.linear.default"} <= {layer["operator"] for layer in found["layers"]}


@pytest.mark.parametrize(
    ("numbers", "operator", "line"),
    [
        ({"add": 1.25}, "aten.add_.Tensor", "self.state.add_"),
        ({"count": 3}, "aten.add_.Tensor", "self.calls += "),
        ({"residual": 0.75}, "aten.add_.Tensor", "y.add_"),
        ({"columns": 2.5}, "aten.mul_.Tensor", "flat.mul_"),
    ],
)
def test_what_writes_a_wrong_number_is_named(numbers: dict, operator: str, line: str, tmp_path: Path) -> None:
    right = of(False, tmp_path / "right.pte")
    wrong = of(False, tmp_path / "wrong.pte", **numbers)
    status, found = debug(wrong, "--etrecord", right.with_suffix(".etrecord"))
    source = Path(__file__).read_text().splitlines()
    assert status == 1
    assert found["first"]["operator"] == operator
    assert line in source[found["first"]["line"] - 1]
    assert [layer["layer"] for layer in found["departing"]] == [found["first"]["layer"]]
