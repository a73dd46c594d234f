# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of operators for the partitioner."""

from __future__ import annotations

from sdk.backends.xnnpack.operators.operator import ConfigPrecisionType, XNNPartitionerConfig

__all__ = ["ConfigPrecisionType", "XNNPartitionerConfig"]
