# SPDX-License-Identifier: BSD-3-Clause
"""Compiler configurations for XNNPACK."""

from __future__ import annotations

from typing import Any

from sdk.exir import EdgeCompileConfig, ExecutorchBackendConfig


def get_transform_passes(additional_passes: list[Any] | None = None) -> list[Any]:
    """Passes to run on an edge program before partitioning: only those given, because the partitioner needs none."""
    return list(additional_passes or [])


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """The configuration for graphs that may contain quantisation operators. `skip_dim_order` keeps `aten._to_copy`."""
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_xnnpack_executorch_backend_config(additional_passes: list[Any] | None = None) -> ExecutorchBackendConfig:
    """Returns a configuration that puts each delegate into a separate segment."""
    return ExecutorchBackendConfig(passes=list(additional_passes or []), extract_delegate_segments=True)
