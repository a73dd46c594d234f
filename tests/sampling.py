# SPDX-License-Identifier: BSD-3-Clause
"""Samples of tests that are similar, and the number of random examples: see conftest.py."""

from __future__ import annotations

import os

import pytest


def share() -> tuple[int, int]:
    """Returns which share of the sampled tests runs, and the number of shares."""
    text = os.environ.get("SDK_TEST_SHARE") or "0/1"
    which, _, count = text.partition("/")
    if not (which.isdigit() and count.isdigit() and int(which) < int(count)):
        raise pytest.UsageError(f"SDK_TEST_SHARE is {text}; expected K/N, share K (from 0 to N - 1) of N, such as 2/10")
    return int(which), int(count)


def examples(count: int) -> int:
    """Returns how many random examples a test makes if each takes long: a quarter if only a share of the tests runs."""
    return count if share()[1] == 1 else -(-count // 4)


def values_in_tests(request: pytest.FixtureRequest, parameter: str) -> set[str]:
    """The values of a parameter in the tests of the fixture's file that run."""
    found = set()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            found.add(item.callspec.params[parameter])
    return found
