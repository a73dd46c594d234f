# SPDX-License-Identifier: BSD-3-Clause
"""The operators that the documentation lists for Core ML."""

from __future__ import annotations

from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY

from sdk.backends import registry
from sdk.backends.apple.coreml.compiler import torch_ops
from sdk.backends.apple.coreml.compiler.operators import _UNLISTED, OPERATORS


def test_the_table_has_the_operators_that_coremltools_converts() -> None:
    """Core ML's table has the operators of all backends' tables that coremltools converts, except those in
    `_UNLISTED`."""
    torch_ops.register()
    tables = [backend.find("operators") for backend in registry.backends().values() if backend.operators]
    names = {name for table in tables for name in table if name.startswith(("aten.", "quantized_decomposed."))}
    names -= {name for name in names if name.endswith("_.default")}  # writes to the state of another delegate
    converted = {
        name
        for name in names
        if _TORCH_OPS_REGISTRY.get_func(name.replace(".", "::", 1).removesuffix(".default")) is not None
    }
    assert {name for name in OPERATORS if name in names} == converted - (set(_UNLISTED) - set(OPERATORS))
