# SPDX-License-Identifier: BSD-3-Clause
"""Damaged payloads: each loads and runs, or is an error. Nothing crashes, hangs or touches memory that is not the
delegate's (the validation layers are on)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SEEDS = ("convolutions", "attention", "shapes", "quantised", "cache")
ROUNDS = 30


def mutate(seed: str, first: int, rounds: int, timeout: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import device_extension, mutate; mutate.main({seed!r}, {first}, {rounds})"],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.parametrize("seed", ["quantised", "cache"])
def test_damaged_payloads(seed: str) -> None:
    """The rounds are always the same."""
    done = mutate(seed, 0, ROUNDS, 300)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "Validation" not in done.stderr, done.stderr[-4000:]
    loaded, refused = (int(word) for word in done.stdout.split()[-2:])
    assert loaded + refused == ROUNDS and refused > ROUNDS // 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_many_damaged_payloads(seed: str) -> None:
    done = mutate(seed, 1000, 3000, 1800)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
