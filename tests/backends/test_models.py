# SPDX-License-Identifier: BSD-3-Clause
"""Models on the kernels and on every backend: each method of the model zoo, with dynamic dimensions at each size that
its calls have, on 1, 2, 3 and 8 threads."""

from __future__ import annotations

import copy

import pytest

from backends.conformance import Outcome, examine_calls
from backends.targets import Target, targets
from zoo import CASES, build

STATEFUL = frozenset({"branched_state", "cache", "counter", "decoder_kv_cache", "in_place"})
"""Models whose state persists between calls, so that the calls on the next number of threads would not begin anew."""


@pytest.mark.sampled
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("name", sorted(set(CASES) - STATEFUL))
def test_model(name: str, target: Target) -> None:
    for method in build(name).methods.values():
        cell = examine_calls(copy.deepcopy(method.module), method.calls, target, dynamic_shapes=method.dynamic_shapes)
        assert cell.outcome is not Outcome.FAILED, cell.reasons[0]
