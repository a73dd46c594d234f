# SPDX-License-Identifier: BSD-3-Clause
"""Reports on what was delegated to backends."""

from __future__ import annotations

from sdk.devtools.backend_debug.delegation_info import (
    DelegationBreakdown,
    DelegationInfo,
    get_delegation_info,
    print_delegation_info,
)

__all__ = ["DelegationBreakdown", "DelegationInfo", "get_delegation_info", "print_delegation_info"]
