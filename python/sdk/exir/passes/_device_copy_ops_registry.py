# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's name of the module `sdk.exir.operator.device_copy_ops`."""

from __future__ import annotations

from sdk.exir.operator.device_copy_ops import lib

__all__ = ["lib"]
