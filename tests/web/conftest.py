# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

from collections.abc import Iterator

import pytest
from web_pages import Browser, browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found
