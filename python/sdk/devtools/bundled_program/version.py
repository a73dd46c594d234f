# SPDX-License-Identifier: BSD-3-Clause
"""The version that is written to bundled programs."""

from __future__ import annotations

BUNDLED_PROGRAM_SCHEMA_VERSION = 2
