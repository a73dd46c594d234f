# SPDX-License-Identifier: BSD-3-Clause
"""Damaged payloads: each loads and runs, or is an error. Nothing crashes, hangs or accesses memory outside of the
delegate's (the validation layers are on)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SEEDS = ("convolutions", "attention", "shapes", "quantised", "cache")
ROUNDS = 30


def mutate(seeds: Sequence[str], first: int, rounds: int, timeout: int) -> subprocess.CompletedProcess[str]:
    """Runs all seeds in one process, because importing PyTorch takes longer than many rounds."""
    rounds_of = f"for seed in {list(seeds)!r}: mutate.main(seed, {first}, {rounds})"
    return subprocess.run(
        [sys.executable, "-c", f"import device_extension, mutate\n{rounds_of}"],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_damaged_payloads() -> None:
    """The device refuses or runs damaged payloads, and never crashes. The rounds are the same in each run of the
    test."""
    done = mutate(("quantised", "cache"), 0, ROUNDS, 300)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "Validation" not in done.stderr, done.stderr[-4000:]
    counts = [[int(word) for word in line.split()] for line in done.stdout.splitlines()[-2:]]
    assert all(loaded + refused == ROUNDS and refused > ROUNDS // 4 for loaded, refused in counts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_many_damaged_payloads(seed: str) -> None:
    done = mutate([seed], 1000, 3000, 1800)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
