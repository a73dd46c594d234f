# SPDX-License-Identifier: BSD-3-Clause
"""Dynamic sizes of views: if there is only one, it is inferred from the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

from sdk.exir import to_edge
from sdk.runtime import Runtime

SOME, OTHER = Dim("some", min=1, max=12), Dim("other", min=1, max=12)


class Function(torch.nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def lowered(function: Callable[[Tensor], Tensor], shape: tuple[int, ...], dynamic: dict[int, Any]) -> Any:
    exported = torch.export.export(Function(function), (torch.randn(shape),), dynamic_shapes=(dynamic,))
    return to_edge(exported)


def sizes_of_views(edge: Any) -> list[list[Any]]:
    nodes = edge.exported_program().graph.nodes
    shapes = [node.args[1] for node in nodes if "view_copy" in str(node.target)]
    return [[size if isinstance(size, int) else str(size) for size in shape] for shape in shapes]


@pytest.mark.parametrize(
    "function, shape, dynamic, expected",
    [
        (lambda x: x.unflatten(-1, (2, 3)), (2, 4, 6), {1: SOME}, [2, -1, 2, 3]),
        (lambda x: x.flatten(0, 1), (2, 4, 6), {1: SOME}, [-1, 6]),
        (lambda x: x.flatten(), (2, 4, 6), {1: SOME}, [-1]),
        (lambda x: x.view(x.shape[0] * x.shape[1], 6), (2, 4, 6), {0: SOME, 1: OTHER}, [-1, 6]),
        (lambda x: x.view(3, 4, 4), (2, 4, 6), None, [3, 4, 4]),
    ],
)
def test_the_only_computed_size_is_inferred(
    function: Callable[[Tensor], Tensor], shape: tuple[int, ...], dynamic: dict[int, Any], expected: list[int]
) -> None:
    """No node computes the size, and the program is correct at both ends of the range."""
    edge = lowered(function, shape, dynamic)
    assert sizes_of_views(edge) == [expected]
    assert "sym_size" not in str(edge.exported_program().graph)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for length in (1, 2, 12) if dynamic else (shape[1],):
        x = torch.randn([length if dynamic and i in dynamic else size for i, size in enumerate(shape)])
        assert torch.equal(method.execute([x])[0], function(x))


def test_two_computed_sizes_stay() -> None:
    edge = lowered(lambda x: x.unflatten(-1, (2, 3)), (2, 4, 6), {0: SOME, 1: OTHER})
    ((first, second, *rest),) = sizes_of_views(edge)
    assert isinstance(first, str) and isinstance(second, str) and rest == [2, 3]


def test_a_size_beside_zeros_stays() -> None:
    """A tensor without elements fits any size."""
    edge = lowered(lambda x: x.view(x.shape[1], 0, 2, 3), (0, 4, 6), {1: SOME})
    ((first, *rest),) = sizes_of_views(edge)
    assert isinstance(first, str) and rest == [0, 2, 3]
