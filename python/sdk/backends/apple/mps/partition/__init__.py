# SPDX-License-Identifier: BSD-3-Clause
"""`MPSPartitioner` chooses the parts of a model that MPS gets."""

from __future__ import annotations

from sdk.backends.apple.mps.partition.mps_partitioner import MPSPartitioner

__all__ = ["MPSPartitioner"]
