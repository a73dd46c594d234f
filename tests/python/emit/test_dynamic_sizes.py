# SPDX-License-Identifier: BSD-3-Clause
"""The dynamic sizes that a program states for its inputs, for each way to declare them to torch.export."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim  # noqa: E402

from sdk.exir import to_edge  # noqa: E402
from sdk.exir._serialize._program import deserialize_pte_binary  # noqa: E402
from sdk.runtime import Runtime  # noqa: E402

N = Dim("n", min=1, max=32)
M = Dim("m", min=2, max=8)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()


def plan_of(dynamic_shapes: Any, x: tuple[int, ...] = (4, 8), y: tuple[int, ...] = (4, 8)) -> Any:
    exported = torch.export.export(Sum(), (torch.ones(x), torch.ones(y)), dynamic_shapes=dynamic_shapes)
    return deserialize_pte_binary(to_edge(exported).to_executorch().buffer).program.execution_plan[0]


# `expected` has for each dynamic dimension: input, dimension, least size, factor, offset, first entry.
@pytest.mark.parametrize(
    ("shapes", "y", "expected"),
    [
        pytest.param(None, (4, 8), None, id="static"),
        pytest.param(({0: N}, {0: N}), (4, 8), [0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0], id="shared"),
        pytest.param(({0: N}, None), (4, 8), [0, 0, 1, 1, 0, 0], id="one"),
        pytest.param((None, {1: N}), (4, 8), [1, 1, 1, 1, 0, 0], id="second"),
        pytest.param(({0: N}, {0: 2 * N + 1}), (9, 8), [0, 0, 1, 1, 0, 0, 1, 0, 3, 2, 1, 0], id="derived"),
        pytest.param(({0: Dim("n", max=9)}, None), (4, 8), [0, 0, 0, 1, 0, 0], id="no-minimum"),
        pytest.param(({0: Dim("n", min=3, max=9)}, None), (4, 8), [0, 0, 3, 1, 0, 0], id="minimum"),
        pytest.param(({0: Dim("n", min=2, max=9)}, None), (4, 8), [0, 0, 2, 1, 0, 0], id="minimum-of-2"),
        pytest.param(({0: M}, {0: 2 * M - 1}), (7, 8), [0, 0, 2, 1, 0, 0, 1, 0, 3, 2, -1, 0], id="derived-from-2"),
        # torch records a minimum of 2 for these, whatever `min` says.
        pytest.param(({0: Dim.DYNAMIC(min=2, max=9)}, None), (4, 8), [0, 0, 0, 1, 0, 0], id="dynamic-from-2"),
        pytest.param(({0: Dim.DYNAMIC(min=1, max=9)}, None), (4, 8), [0, 0, 0, 1, 0, 0], id="dynamic"),
        pytest.param(({0: Dim.AUTO(min=4, max=9)}, None), (4, 8), [0, 0, 4, 1, 0, 0], id="auto"),
    ],
)
def test_dynamic_sizes(shapes: Any, y: tuple[int, ...], expected: list[int] | None) -> None:
    assert plan_of(shapes, y=y).dynamic_sizes == expected


def test_the_largest_sizes_are_those_of_the_tensors() -> None:
    plan = plan_of(({0: N}, {0: N}))
    assert [plan.values[index].val.sizes for index in plan.inputs] == [[32, 8], [32, 8]]
    assert plan.shared_buffer == 0


def test_sizes_below_the_declared_ones_are_refused() -> None:
    """The runtime refuses sizes below the minimum of `Dim`. torch.export's own program would accept 0 and 1."""
    exported = torch.export.export(Sum(), (torch.ones(4, 8), torch.ones(7, 8)), dynamic_shapes=({0: M}, {0: 2 * M - 1}))
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    assert method is not None
    for size in (2, 8):
        assert method.execute((torch.ones(size, 8), torch.ones(2 * size - 1, 8)))[0].item() == 8 * (3 * size - 1)
    for size in (0, 1, 9):
        with pytest.raises(RuntimeError, match=rf"Input 0 must have sizes \(2..8, 8\), found \({size}, 8\)"):
            method.execute((torch.ones(size, 8), torch.ones(abs(2 * size - 1), 8)))
