# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench: how engines are compared, and which results count. The expected numbers are arithmetic."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bench.comparison import Series, geometric_mean, signal_to_noise, verdict
from bench.peer_table import Row

NINE = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]


def series(low: float, high: float) -> Series:
    """Returns a series with these quartiles."""
    return Series([low - 1, low, (low + high) / 2, high, high + 1])


def test_quartiles_and_the_median_of_nine_samples() -> None:
    """The samples are 1 to 9: quartiles 3 and 7, median 5; the spread, half of 7 - 3, is 0.4 of 5."""
    found = Series(NINE)
    assert (found.lower_quartile, found.median, found.upper_quartile) == (3.0, 5.0, 7.0)
    assert found.spread == pytest.approx(0.4)


def test_a_single_sample_has_no_spread() -> None:
    found = Series([4.0])
    assert (found.lower_quartile, found.median, found.upper_quartile, found.spread) == (4.0, 4.0, 4.0, 0.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ((1, 2), (3, 4), "ahead"),
        ((1, 3), (3, 4), "level"),  # they touch
        ((1, 5), (2, 3), "level"),
        ((2, 3), (1, 5), "level"),
        ((3, 4), (1, 3), "level"),
        ((3, 4), (1, 2), "behind"),
    ],
)
def test_engines_are_level_where_their_interquartile_ranges_meet(
    ours: tuple[float, float], theirs: tuple[float, float], expected: str
) -> None:
    assert verdict(series(*ours), series(*theirs)) == expected


def test_the_mean_of_ratios_is_geometric() -> None:
    """The mean of twice as fast and half as fast is equally fast."""
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([1.0, 8.0, 1.0]) == pytest.approx(2.0)


def test_decibels_are_signal_over_noise() -> None:
    """An error of a tenth of the amplitude is 20 dB. For a result with NaN, the ratio is minus infinity."""
    right = np.array([3.0, -4.0])
    assert signal_to_noise(right, right * 1.1) == pytest.approx(20.0)
    assert signal_to_noise(right, right) == inf
    assert signal_to_noise(right, np.array([3.0, np.nan])) == -inf
    assert signal_to_noise(np.zeros(2), np.ones(2)) == -inf


def row(precision: str = "int8", **columns: tuple[float, float]) -> Row:
    """Returns a row with the time and the decibels of each column."""
    return Row(
        "model",
        precision,
        1,
        {column: Series([time]) for column, (time, _) in columns.items()},
        {},
        {column: decibels for column, (_, decibels) in columns.items()},
    )


def test_int8_results_of_at_most_20_decibels_do_not_count() -> None:
    found = row(sdk=(2.0, 30.0), ncnn=(0.1, 20.0), MNN=(3.0, 20.1))
    assert found.peers() == ["MNN"] and found.fastest_peer() == "MNN"
    assert found.advantage() == pytest.approx(1.5) and found.verdict() == "ahead"
    assert not found.counts("ncnn") and not found.counts("LiteRT")


def test_a_row_whose_own_result_does_not_count_has_no_advantage() -> None:
    found = row(sdk=(1.0, 12.0), MNN=(3.0, 40.0), ncnn=(3.0, 40.0), LiteRT=(3.0, 40.0))
    assert found.advantage() is None and found.verdict() is None and not found.in_means()


def test_decibels_do_not_matter_in_float32() -> None:
    assert row("float32", sdk=(1.0, 5.0), MNN=(2.0, 5.0)).advantage() == pytest.approx(2.0)


def test_means_are_over_models_that_three_peers_run() -> None:
    two = row(sdk=(1.0, 30.0), MNN=(2.0, 30.0), ncnn=(2.0, 30.0), LiteRT=(2.0, 3.0))
    three = row(sdk=(1.0, 30.0), MNN=(2.0, 30.0), ncnn=(2.0, 30.0), LiteRT=(2.0, 33.0))
    assert not two.in_means() and three.in_means()
