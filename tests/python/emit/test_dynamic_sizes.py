# SPDX-License-Identifier: BSD-3-Clause
"""The dynamic sizes that a program states for its inputs, for each way in which torch.export can be asked for them."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim  # noqa: E402

from sdk.exir import to_edge  # noqa: E402
from sdk.exir._serialize._program import deserialize_pte_binary  # noqa: E402

N = Dim("n", min=1, max=32)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sum()


def plan_of(dynamic_shapes: Any, x: tuple[int, ...] = (4, 8), y: tuple[int, ...] = (4, 8)) -> Any:
    exported = torch.export.export(Sum(), (torch.ones(x), torch.ones(y)), dynamic_shapes=dynamic_shapes)
    return deserialize_pte_binary(to_edge(exported).to_executorch().buffer).program.execution_plan[0]


# Of each dynamic dimension: input, dimension, least size, factor, offset, first entry.
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
        # torch records 2 for these, and lets 0 and 1 pass.
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
