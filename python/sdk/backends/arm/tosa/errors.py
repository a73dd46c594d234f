# SPDX-License-Identifier: BSD-3-Clause
"""The error for calls that TOSA cannot express."""

from __future__ import annotations


class UnsupportedError(Exception):
    """TOSA, or the chosen profiles of it, cannot express a call. The text is the reason that users read."""
