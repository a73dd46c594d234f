# SPDX-License-Identifier: BSD-3-Clause
"""Vela's estimates for graphs of this SDK, beside those for the original's graphs of the same models."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
LARGER = {"person detection": 1.003, "MobileNetV2": 1.004}
"""How many times the original's cycles a model may take; by default 1. docs/benchmarks.md has the reasons."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "keyword spotting",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("person detection", "transformer", "MobileNetV2")),
    ],
)
def test_cycles_and_memory_beside_the_original(name: str, oracle_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Image models with the channels first and last."""
    monkeypatch.syspath_prepend(str(BENCH))
    bench = import_module("ethos_u")
    models = {each: model for each, model in bench.chosen([name]).items() if each != "first"}
    ours, originals = bench.ours(models), bench.originals(oracle_python, models)
    for each in models:
        mine, theirs = ours[each], originals[each]
        assert mine.cycles <= LARGER.get(each.partition(",")[0], 1.0) * theirs.cycles, (each, mine, theirs)
        assert mine.sram <= theirs.sram, (each, mine, theirs)
