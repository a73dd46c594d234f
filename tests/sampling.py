# SPDX-License-Identifier: BSD-3-Clause
"""Samples of tests that are similar, and the number of random examples: see conftest.py."""

from __future__ import annotations

import os
import zlib

import pytest

SALT = 53
"""Chosen so that the shares of the expensive tests take equally long: the longest of ten takes 4 % more than the mean.
When the number was computed from the parameters alone, it took 38 % more."""


def share() -> tuple[int, int]:
    """Returns which share of the sampled tests runs, and the number of shares."""
    text = os.environ.get("SDK_TEST_SHARE") or "0/1"
    which, _, count = text.partition("/")
    if not (which.isdigit() and count.isdigit() and int(which) < int(count)):
        raise pytest.UsageError(f"SDK_TEST_SHARE is {text}; expected K/N, share K (from 0 to N - 1) of N, such as 2/10")
    return int(which), int(count)


def number_of(test: str) -> int:
    """Returns a number from a test's id. Its remainder decides in which share the test is. Tests of a file with the
    same parameters have the same number, because a fixture often prepares their model."""
    file, _, name = test.partition("::")
    return zlib.crc32(f"{SALT} {file} {name.rpartition('[')[2]}".encode())


def examples(count: int) -> int:
    """Returns how many random examples a test makes if each takes long: a quarter if only a share of the tests runs."""
    return count if share()[1] == 1 else -(-count // 4)


def values_in_tests(request: pytest.FixtureRequest, parameter: str) -> set[str]:
    """The values of a parameter in the tests of the fixture's file that run and have it."""
    found = set()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            found |= {item.callspec.params[parameter]} if parameter in item.callspec.params else set()
    return found
