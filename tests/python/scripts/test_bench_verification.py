# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench --verification: the table that is made from its samples."""

from __future__ import annotations

import pytest

from bench.verification import Cost, row


def test_slow_rounds_do_not_count() -> None:
    quiet = [(200.0, 100.0, 104.0), (210.0, 100.0, 105.0), (220.0, 100.0, 106.0)]
    slow = [(400.0, 150.0, 190.0)] * 8
    cost = Cost.of(slow + quiet)
    assert (cost.read, cost.mapped, cost.verification) == (200.0, 100.0, 5.0)
    assert row("m", cost) == "| m | 5.0 | 100 | 5.0% | 200 | 2.5% |"


@pytest.mark.parametrize(
    ("read", "mapped", "small"), [(200.0, 100.0, True), (200.0, 99.0, False), (99.0, 200.0, False)]
)
def test_either_way_of_loading_counts(read: float, mapped: float, small: bool) -> None:
    assert Cost(read, mapped, 5.0).is_small is small
