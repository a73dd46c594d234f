# SPDX-License-Identifier: BSD-3-Clause
"""Another name of `sdk.exir.passes.constant_prop_pass`, which the original has too."""

from __future__ import annotations

from sdk.exir.passes.constant_prop_pass import ConstPropPass

__all__ = ["ConstPropPass"]
