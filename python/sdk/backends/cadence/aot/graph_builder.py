# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends.test.graph_builder` under its earlier name."""

from sdk.backends.test.graph_builder import GraphBuilder, single_op_builder

__all__ = ["GraphBuilder", "single_op_builder"]
