# SPDX-License-Identifier: BSD-3-Clause
"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# An example may take long on a machine that has much else to do: a fixed time would fail tests that are right.
settings.register_profile("sdk", deadline=None)
settings.load_profile("sdk")
