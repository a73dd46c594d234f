# SPDX-License-Identifier: BSD-3-Clause
"""Files of cases for a user's own kernels. tests/consume/selective tests the program that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.kernels.testing import KernelCases

CONSUMER = Path(__file__).resolve().parents[2] / "consume" / "selective"


def test_kr22_the_consumers_cases_are_those_of_eager(tmp_path: Path) -> None:
    cases = KernelCases()
    for x in (
        torch.tensor([0.5, -1.25, 3.0, -0.0]),
        torch.tensor([float("nan"), float("inf"), -float("inf")]),
        torch.tensor(7.0),
        torch.empty(0, 3),
        torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    ):
        cases.add("my_ops::mul3.out", x, expected=3 * x)
    cases.write(tmp_path / "cases.txt")
    assert (tmp_path / "cases.txt").read_text() == (CONSUMER / "mul3_cases.txt").read_text()


def test_every_kind_of_argument_has_a_line(tmp_path: Path) -> None:
    out = torch.tensor([[True, False]])
    cases = KernelCases()
    cases.add("b::x.out", torch.tensor([1, -2], dtype=torch.int8), [1, 2], [0.5, 2], "mean", None, expected=out)
    cases.add("a::x.out", True, 3, 2.0, torch.int64, [out, out], [None, out], expected=[out, out], tolerance=1e-3)
    cases.add("a::x.out", expected=out, tolerance=0.0)
    cases.add("a::x.out", refused=torch.zeros(1, dtype=torch.bfloat16))
    cases.write(tmp_path / "cases.txt")
    tensor = "tensor bool 1,2 0,1 1 0"
    assert (tmp_path / "cases.txt").read_text().splitlines()[1:] == [
        *("case a::x.out tolerance 0.001", "bool 1", "int 3", "float 2.0", "int 4", "tensors 2", tensor, tensor),
        *("optional_tensors 2", "none", tensor, "out", tensor, tensor),
        *("case a::x.out tolerance 0.0", "out", tensor),
        *("case a::x.out fails", "out", "tensor bfloat16 1 0 0"),
        *("case b::x.out", "tensor int8 2 0 1 -2", "ints 1 2", "floats 0.5 2.0", "str mean", "none", "out", tensor),
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((1,), {}, "`expected`"),
        ((1,), {"expected": torch.ones(1), "refused": torch.ones(1)}, "`refused`"),
        ((object(),), {"expected": torch.ones(1)}, "type object has no form"),
        (("two words",), {"expected": torch.ones(1)}, "one word"),
        ((torch.ones(1, dtype=torch.complex64),), {"expected": torch.ones(1)}, "torch.complex64 has no form"),
        ((1,), {"expected": torch.ones(1), "tolerance": -1e-3}, "not negative"),
        ((1,), {"expected": torch.ones(1), "tolerance": float("inf")}, "finite"),
    ],
)
def test_what_has_no_form_is_refused(arguments: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KernelCases().add("a::x.out", *arguments, **options)
