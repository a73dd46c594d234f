# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of many operators: each SDK runs its own and the other's. `python -m compositions.exchange` runs
more of them."""

from __future__ import annotations

import pytest

from backends.targets import targets
from compositions.exchange import Exchange
from compositions.program import make
from interop import original_lowering

pytestmark = [pytest.mark.oracle, pytest.mark.network]

SEEDS = (5005, 5006)


def test_both_ways(oracle_python: str) -> None:
    chosen = [target for target in targets() if hasattr(original_lowering, target.name)]
    outcomes = list(Exchange(chosen, oracle_python)({str(seed): make(seed) for seed in SEEDS}))
    assert not [one for one in outcomes if one[2].is_finding]
    assert [one.outcome for _, _, one in outcomes].count("right") == len(SEEDS) * len(chosen)
