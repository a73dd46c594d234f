# SPDX-License-Identifier: BSD-3-Clause
"""Settings of all tests.

SDK_TEST_SHARE=N runs every N-th of the tests marked `sampled`: today's share, another one tomorrow. SDK_TEST_SHARE=K/N
is share K. scripts/test.sh sets it; without it, all of them run.
"""

from __future__ import annotations

import datetime
import os
import zlib

import pytest
from hypothesis import settings

# An example may take long on a machine that has much else to do: a fixed time would fail tests that are right.
settings.register_profile("sdk", deadline=None)
settings.load_profile("sdk")


def share() -> tuple[int, int]:
    """Which share of the sampled tests runs, and how many shares there are."""
    which, _, count = os.environ.get("SDK_TEST_SHARE", "1").rpartition("/")
    return (int(which) if which else datetime.date.today().toordinal()) % int(count), int(count)


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
