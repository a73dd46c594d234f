# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures that prepare only what the tests of this run need: see conftest.py."""

from __future__ import annotations

import pytest


def values_in_tests(request: pytest.FixtureRequest, parameter: str) -> set[str]:
    """The values of a parameter in the tests of the fixture's file that run."""
    found = set()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec"):
            found.add(item.callspec.params[parameter])
    return found
