# SPDX-License-Identifier: BSD-3-Clause
"""`CustomDelegationOptions`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CustomDelegationOptions:
    """Options that delegate more than the default.

    Attributes:
        allow_no_op_partitions: Partitions that only reshape (`view_copy`, `squeeze_copy`, `unsqueeze_copy`) and those
            that read only constants are delegated, too. NXP's converter refuses them where nothing is left to compute.
    """

    allow_no_op_partitions: bool = False
