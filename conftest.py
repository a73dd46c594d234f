# SPDX-License-Identifier: BSD-3-Clause
"""Settings of all tests.

SDK_TEST_SHARE=K/N runs share K, from 0 to N - 1, of the tests marked `sampled`. scripts/test.sh sets it, to another
share each day; without it, all of them run.
"""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import settings

# An example may take long on a machine that has much else to do: a fixed time would fail tests that are right.
settings.register_profile("sdk", deadline=None)
settings.load_profile("sdk")


def share() -> tuple[int, int]:
    """Which share of the sampled tests runs, and how many shares there are."""
    text = os.environ.get("SDK_TEST_SHARE") or "0/1"
    which, _, count = text.partition("/")
    if not (which.isdigit() and count.isdigit() and int(which) < int(count)):
        raise pytest.UsageError(f"SDK_TEST_SHARE is {text}; expected K/N, share K (from 0 to N - 1) of N, such as 2/10")
    return int(which), int(count)


def pytest_report_header() -> str | None:
    which, count = share()
    return f"SDK_TEST_SHARE={which}/{count}: this share of the tests marked `sampled`" if count > 1 else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which, count = share()
    # By the parameters alone: tests of the same model, for which a fixture prepares it, are in the same share.
    left = [
        item
        for item in items
        if item.get_closest_marker("sampled") and zlib.crc32(item.name.rpartition("[")[2].encode()) % count != which
    ]
    if left:
        config.hook.pytest_deselected(items=left)
        chosen = set(items) - set(left)
        items[:] = [item for item in items if item in chosen]
