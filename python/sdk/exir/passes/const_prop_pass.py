# SPDX-License-Identifier: BSD-3-Clause
"""The original's other name for `sdk.exir.passes.constant_prop_pass`."""

from __future__ import annotations

from sdk.exir.passes.constant_prop_pass import ConstPropPass

__all__ = ["ConstPropPass"]
