# SPDX-License-Identifier: BSD-3-Clause
"""What the portable library does not do as eager does, each with the reason. A gap that is closed must leave the
table: the tests fail on an entry that passes."""

from __future__ import annotations

NOT_REACHED: dict[str, str] = {}
"""Operators of functions.yaml that neither an OpInfo nor extra_calls.py calls, with what tests them instead."""

GAPS: dict[tuple[str, str], str] = {}
"""(operator, dtype) that fails for some arguments."""

ACCEPTED: dict[str, str] = {}
"""Operators that take arguments which eager refuses."""
