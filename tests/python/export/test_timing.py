# SPDX-License-Identifier: BSD-3-Clause
"""Times for people: three digits with their unit, and what counts as a changed buffer."""

from __future__ import annotations

import pytest
import torch

from sdk.export.cli.timing import readable_seconds, same


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


def test_buffers_are_the_same_where_both_are_nan() -> None:
    a = torch.tensor([1.0, float("nan")])
    assert same(a, a.clone()) and not same(a, torch.tensor([1.0, 2.0])) and not same(a, a[:1])
    assert same(torch.tensor([True]), torch.tensor([True])) and same(torch.empty(0), torch.empty(0))
