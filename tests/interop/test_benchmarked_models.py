# SPDX-License-Identifier: BSD-3-Clause
"""Limits on the compiler's cost, compared with the original, on the models of docs/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.harness import ALIVE, ARENA, LOWERING, PEAK, Harness
from bench.models import MODELS

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.oracle]


@pytest.fixture(scope="module")
def harness(bench_python: str, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    """Exports each model once with each SDK, alternately."""
    pythons = {"sdk": sys.executable, "original": bench_python}
    directory: Path = tmp_path_factory.mktemp("benchmarked")
    harness = Harness(pythons, MODELS, directory, rounds=1, threads=1)
    harness.measure_export(rounds=1)
    assert not harness.failures
    return harness


def test_lowering_takes_at_most_half_of_the_originals_cpu_time(harness: Harness) -> None:
    """The CPU time from the exported program to the file is at most half of the original's in total, and at most 0.8 of
    it for each model."""
    figures = {model: harness.results[model][LOWERING] for model in MODELS}
    for model, engines in figures.items():
        assert engines["sdk"].median <= 0.8 * engines["original"].median, model
    ours, theirs = (sum(engines[e].median for engines in figures.values()) for e in ("sdk", "original"))
    assert ours <= 0.5 * theirs


@pytest.mark.parametrize("model", MODELS)
def test_lowering_peaks_at_most_1_3_times_above_weights_and_baseline(model: str, harness: Harness) -> None:
    assert harness.results[model][PEAK]["sdk"].median <= 1.3


@pytest.mark.parametrize("model", MODELS)
def test_the_arena_is_near_its_bound_and_not_above_the_originals(model: str, harness: Harness) -> None:
    figures = harness.results[model]
    assert figures[ARENA]["sdk"].median <= 1.02 * figures[ALIVE]["sdk"].median
    assert figures[ARENA]["sdk"].median <= figures[ARENA]["original"].median
