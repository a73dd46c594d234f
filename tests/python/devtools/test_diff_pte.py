# SPDX-License-Identifier: BSD-3-Clause
"""Differences of two programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.export import export

from sdk.devtools.pte_tool import diff_pte as tool
from sdk.devtools.pte_tool.diff_pte import diff_pte, format_diff_result
from sdk.exir import to_edge
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.scalar_type import ScalarType
from sdk.exir.schema import Int


class Model(torch.nn.Module):
    def __init__(self, changes: dict[tuple[int, int], float], negative: bool = False, twice: bool = False) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
        self.negative, self.twice = negative, twice
        for index, change in changes.items():
            self.weight.data[index] += change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.weight
        y = y * y if self.twice else y
        return y.neg() if self.negative else y


def _program(changes: dict | None = None, *, delegated: bool = False, names: str = "f", **options: bool) -> bytes:
    model, inputs = Model(changes or {}, **options).eval(), (torch.ones(2, 3),)
    manager = to_edge({name: export(model, inputs) for name in names})
    if delegated:
        manager = manager.to_backend(AddMulPartitionerDemo())
    return manager.to_executorch().buffer


def test_the_same_program() -> None:
    result = diff_pte(_program(), _program())
    assert result.bitwise_equal and not result.plan_diffs
    assert format_diff_result(result).endswith("Status: bitwise equal")


def test_elements_of_a_weight() -> None:
    result = diff_pte(_program(), _program({(0, 1): 0.5, (1, 2): -0.25}), "one", "two", max_samples=1)
    assert not result.bitwise_equal and result.error is None
    (plan,) = result.plan_diffs
    assert plan.has_differences() and not plan.evalue_diffs and not plan.operators_only_in_a
    (weight,) = plan.tensor_diffs
    assert weight.tensor_a.sizes == [2, 3] and weight.tensor_a.scalar_type == ScalarType.FLOAT
    assert [usage.arg_index for usage in weight.tensor_a.operator_usages] == [1]
    assert weight.tensor_a.operator_usages[0].name == "aten::mul.out"
    assert (weight.num_elements, weight.num_differing, weight.max_abs_diff) == (6, 2, 0.5)
    assert weight.mean_abs_diff == 0.375
    (first,) = weight.element_diffs
    assert (first.flat_index, first.multi_index, first.value_a, first.value_b) == (1, (0, 1), 1.0, 1.5)
    text = format_diff_result(result, verbose=True)
    assert "one" in text and "2 of 6 elements differ, by 0.5 at most" in text and "[0, 1]: 1.0 vs 1.5" in text
    assert "argument 1 of aten::mul.out in B" in text


def test_not_a_number_is_itself() -> None:
    change = {(0, 0): float("nan")}
    (plan,) = diff_pte(_program(change), _program({**change, (0, 1): 1.0})).plan_diffs
    assert plan.tensor_diffs[0].num_differing == 1


def test_operators_values_and_methods() -> None:
    result = diff_pte(_program(names="fg"), _program(negative=True))
    assert result.extra_plans_in_a == ["g"] and not result.extra_plans_in_b
    (plan,) = result.plan_diffs
    assert plan.operators_only_in_b == ["aten::neg.out"] and not plan.operators_only_in_a
    assert (plan.instruction_count_a, plan.instruction_count_b) == (1, 2)
    assert plan.value_count_b == (plan.value_count_a or 0) + len(plan.tensors_only_in_b)
    text = format_diff_result(result)
    assert "Operators only in B: aten::neg.out" in text and "Methods only in A: g" in text


def test_delegates() -> None:
    delegated = _program(delegated=True)
    (plan,) = diff_pte(_program(), delegated).plan_diffs
    (name,) = plan.delegates_only_in_b
    assert plan.operators_only_in_a == ["aten::mul.out"] and not plan.delegate_payloads
    (plan,) = diff_pte(delegated, _program(delegated=True, twice=True)).plan_diffs
    assert plan.delegate_payloads == [0] and not plan.delegates_only_in_a
    text = format_diff_result(diff_pte(_program(), delegated))
    assert f"Delegates only in B: {name}" in text


def test_fields_of_values() -> None:
    (field,) = tool._fields(Int(3), Int(4))
    assert (field.field_name, field.value_a, field.value_b) == ("int_val", 3, 4)


def test_a_file_that_cannot_be_read() -> None:
    result = diff_pte(_program(), b"not a program at all, but long enough", "a.pte", "b.pte")
    assert result.error is not None and result.error.startswith("b.pte cannot be read")
    assert "Error: b.pte cannot be read" in format_diff_result(result)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.pte", tmp_path / "b.pte"]
    for file, data in zip(files, (_program(), _program({(0, 0): 1.0})), strict=True):
        file.write_bytes(data)
    monkeypatch.setattr(sys, "argv", ["diff_pte", *map(str, files)])
    assert tool.main() == 0
    assert "1 of 6 elements differ" in capsys.readouterr().out
