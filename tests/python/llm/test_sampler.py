# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of sampled tokens, against softmax in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sdk.extension.llm.runner import Sampler

DRAWS = 20000
RNG = np.random.default_rng(0)
LOGITS = np.concatenate([RNG.normal(size=30) * 2, [-40.0]]).astype(np.float32)


def softmax(logits: NDArray[np.float32], temperature: float) -> NDArray[np.float64]:
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return np.asarray(weights / weights.sum())


def kept(probabilities: NDArray[np.float64], top_k: int, top_p: float, min_p: float) -> NDArray[np.float64]:
    """Applies the filters one after another, as they are defined. Returns the probabilities of all tokens."""
    order = np.argsort(-probabilities, kind="stable")
    result = probabilities.copy()
    if top_k:
        result[order[top_k:]] = 0
        result /= result.sum()
    if top_p < 1:
        before = np.cumsum(result[order]) - result[order]
        result[order[before >= top_p]] = 0
        result /= result.sum()
    result[result < min_p * result.max()] = 0
    return np.asarray(result / result.sum())


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "min_p"),
    [
        (1.0, 0, 1.0, 0.0),
        (0.3, 0, 1.0, 0.0),
        (2.5, 0, 1.0, 0.0),
        (1.0, 5, 1.0, 0.0),
        (1.0, 0, 0.8, 0.0),
        (1.0, 0, 1.0, 0.05),
        (1.5, 10, 0.7, 0.1),
    ],
)
def test_distribution(temperature: float, top_k: int, top_p: float, min_p: float):
    """LR-08: counts of draws pass a chi-square test at 1e-4, and filtered tokens never come."""
    expected = kept(softmax(LOGITS, temperature), top_k, top_p, min_p)
    sampler = Sampler(len(LOGITS), temperature, top_p, 1234)
    sampler.set_topk(top_k)
    sampler.set_minp(min_p)
    counts = np.bincount([sampler.sample(LOGITS) for _ in range(DRAWS)], minlength=len(LOGITS))
    assert counts[expected == 0].sum() == 0
    common = expected * DRAWS >= 5
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum()) * DRAWS
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    # Wilson and Hilferty's approximation of the chi-square quantile; 3.72 is the normal one at 1e-4.
    freedom = len(wanted) - 1
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 3.72 * np.sqrt(2 / (9 * freedom))) ** 3


def test_seeds_are_reproducible():
    def draws(seed: int) -> list[int]:
        sampler = Sampler(len(LOGITS), 1.0, 1.0, seed)
        return [sampler.sample(LOGITS) for _ in range(50)]

    assert draws(5) == draws(5)
    assert draws(5) != draws(6)


def test_bad_logits():
    sampler = Sampler(3, 1.0)
    assert sampler.sample(np.array([0, np.nan, 1], np.float32)) == -1
    with pytest.raises(ValueError, match="expected 3 adjacent float32 logits"):
        sampler.sample(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="expected 3 adjacent float32 logits"):
        sampler.sample(np.zeros(3))
