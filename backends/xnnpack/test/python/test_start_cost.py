# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench --start with XNNPACK."""

from __future__ import annotations

import sys

from bench.native import measurement

start = measurement("xnnpack", "start")


def test_starts_are_compared_with_the_original() -> None:
    """The figures are in milliseconds and in millions of bytes."""
    figures = start.one_start([sys.executable, "-c", "print('0.0003 0.010 0.5 30000000 20000000 600000 5200000')"])
    assert figures.pop("first use") == 0.0003
    assert figures == {"load": 0.010, "first": 0.5, "peak": 3e7, "own": 2e7, "planned": 6e5, "added": 5.2e6}
    starts = start.Starts("small", "int8")
    starts.add("without a file", figures)
    starts.add("with the file", {**figures, "load": 0.002, "own": 1e7})
    # The peak is 30 MB, 1.5 times 14.2 + 0.6 + 5.2.
    expected = "| small | int8 | 10 | 2 | – | – | 14.2 | 0.6 | 5.2 | 20.0 | 30.0 | 10.0 | 30.0 | – | 1.50 |"
    assert starts.row(14_200_000) == expected
    starts.add("original", {"load": 0.008, "peak": 2.5e7})
    assert starts.row(14_200_000).split(" | ")[4:6] == ["8", "**0.25**"]
    assert start.HEAD.splitlines()[0].count("|") == starts.row(1).count("|") == start.HEAD.splitlines()[1].count("|")
