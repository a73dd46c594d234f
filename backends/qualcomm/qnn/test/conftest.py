# SPDX-License-Identifier: BSD-3-Clause
"""The tests run with an extension that has the backend: SDK_PORTABLE_LIB names it."""

from __future__ import annotations

import runtime_under_test

runtime_under_test.load()
