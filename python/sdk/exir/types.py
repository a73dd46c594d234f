# SPDX-License-Identifier: BSD-3-Clause
"""Types of the specs that describe the values of a graph."""

from __future__ import annotations

from sdk.exir.tensor import TensorSpec

ScalarSpec = int | float
LeafValueSpec = TensorSpec | ScalarSpec
ValueSpec = LeafValueSpec | list["ValueSpec"] | tuple["ValueSpec", ...]
"""What `make_spec` of sdk.exir.passes.spec_prop_pass returns."""
