# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLPartitioner` chooses the parts of a model that Core ML gets."""

from __future__ import annotations

from sdk.backends.apple.coreml.partition.coreml_partitioner import CoreMLPartitioner

__all__ = ["CoreMLPartitioner"]
