# SPDX-License-Identifier: BSD-3-Clause
"""`EdgeCompileConfig.preserve_ops`: which operators edge dialect keeps whole."""

from __future__ import annotations

import pytest
import torch
from edge_cases import Function, targets
from torch.export import export

from sdk.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

aten = torch.ops.aten
X = torch.arange(6.0).reshape(2, 3)


def test_preserve_ops():
    """EDGE-06, OPS-03"""
    program = export(Function(torch.nn.functional.hardsigmoid), (X,))
    op = aten.hardsigmoid.default
    assert op not in targets(to_edge(program).exported_program())
    kept = to_edge(program, compile_config=EdgeCompileConfig(preserve_ops=[op])).exported_program()
    assert targets(kept) == [op]


VIEWS = {
    "expand": (lambda x: x.expand(4, 2, 3) + 1, aten.expand.default),
    "decomposed": (lambda x: x.reshape(-1) + 1, aten.view.default),
    "branch": (
        lambda x: torch.cond(x.sum() > 0, lambda x: x.view(6) + 1, lambda x: x.view(6) - 1, [x]),
        aten.view.default,
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_preserved_views_are_refused(name):
    """EDGE-06: to_edge refuses to preserve a view, because it becomes a copy. It accepts a view that the program does
    not call, and one in `_core_aten_ops_exception_list`."""
    function, op = VIEWS[name]
    program, config = export(Function(function), (X.clone(),)), EdgeCompileConfig(preserve_ops=[op])
    with pytest.raises(RuntimeError, match=f"Cannot preserve operator {op} because it is a view") as caught:
        to_edge({"read": program}, compile_config=config)
    assert "method 'read' calls" in str(caught.value) and " comes from: File " in str(caught.value)
    assert to_edge(export(Function(torch.sin), (X.clone(),)), compile_config=config).methods == {"forward"}
    excepted = EdgeCompileConfig(preserve_ops=[op], _core_aten_ops_exception_list=[op])
    for lowered in (
        to_edge(program, compile_config=excepted),
        to_edge_transform_and_lower(program, compile_config=config),
    ):
        assert lowered.methods == {"forward"}


COMPOSITES = {
    "reshape": (lambda x: x.reshape(-1) + 1, aten.reshape.default),
    "contiguous": (lambda x: x.t().contiguous() + 1, aten.contiguous.default),
    "flatten": (lambda x: x.flatten() + 1, aten.flatten.using_ints),
    "chunk": (lambda x: x.chunk(3, 1)[0] + 1, aten.chunk.default),
    "narrow": (lambda x: x.narrow(0, 0, 1) + 1, aten.narrow.default),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_preserved_composites_are_accepted(name):
    """EDGE-06: composite operators are accepted, because they are decomposed before the check for views."""
    function, op = COMPOSITES[name]
    program, config = export(Function(function), (X.clone(),)), EdgeCompileConfig(preserve_ops=[op])
    for lower in (to_edge, to_edge_transform_and_lower):
        assert op not in targets(lower(program, compile_config=config).exported_program())
