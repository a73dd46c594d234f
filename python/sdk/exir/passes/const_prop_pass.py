# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's other name of the module `sdk.exir.passes.constant_prop_pass`."""

from __future__ import annotations

from sdk.exir.passes.constant_prop_pass import ConstPropPass

__all__ = ["ConstPropPass"]
