# SPDX-License-Identifier: BSD-3-Clause
"""Writes to views and to memory that several elements share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import export

from sdk.exir import to_edge
from sdk.exir.error import ExportError
from sdk.extension.pybindings import portable_lib


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.unbind(1)[1],
        lambda x: x.split(2, 1)[1],
        lambda x: x.chunk(2, -1)[0],
        lambda x: x.split_with_sizes([1, 2], dim=1)[1],
        lambda x: x.tensor_split(2, 1)[-1],
    ],
    ids=["unbind", "split", "chunk", "split_with_sizes", "tensor_split"],
)
def test_a_write_to_one_of_several_views_keeps_dynamic_sizes(view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Sizes stay dynamic, although PyTorch's tracer would fix them at those of the example."""

    class Writes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x = x * 1
            y = view(x)
            y.mul_(3)
            return y, x

    shapes = {"x": {0: torch.export.Dim("rows", min=2, max=9)}}
    program = export(Writes(), (torch.randn(5, 3, 8),), dynamic_shapes=shapes)
    loaded = portable_lib._load_for_executorch_from_buffer(to_edge(program).to_executorch().buffer)
    for rows in (9, 2, 5):
        x = torch.randn(rows, 3, 8)
        for found, expected in zip(loaded.forward((x,)), Writes()(x), strict=True):
            torch.testing.assert_close(found, expected)


class WritesToExpanded(torch.nn.Module):
    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (x * 2)[:, None].expand(-1, 3)
        y = y if self.shared else y.clone()
        y[1:2].fill_(1.25)
        return y


def test_a_write_to_memory_that_elements_share_is_an_error() -> None:
    """PyTorch's functionalisation would add up the changes of the three elements. A write to a copy of them is lowered
    correctly."""
    x = torch.tensor([1.0, 2.0, 3.0])
    with pytest.raises(ExportError, match=r"several elements are one in memory.*\.clone\(\)") as error:
        to_edge(export(WritesToExpanded(True), (x,)))
    assert "y[1:2].fill_(1.25)" in str(error.value)
    program = to_edge(export(WritesToExpanded(False), (x,))).to_executorch()
    (found,) = portable_lib._load_for_executorch_from_buffer(program.buffer).forward((x,))
    assert found.tolist() == [[2.0] * 3, [1.25] * 3, [6.0] * 3]


def test_an_expanded_value_of_its_own_can_be_filled() -> None:
    class Fills(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros(1).expand(3).fill_(2.0) + x

    program = to_edge(export(Fills(), (torch.ones(3),))).to_executorch()
    (found,) = portable_lib._load_for_executorch_from_buffer(program.buffer).forward((torch.ones(3),))
    assert found.tolist() == [3.0] * 3


def test_a_smaller_tensor_is_copied_into_one_of_dynamic_size() -> None:
    class Copies(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            wide = x.repeat(1, 3, 1)
            wide.copy_(x + 1)
            filled, part = x.relu(), x * 2
            filled.copy_(torch.tensor(3.0))
            part[:, :, 1:] = x[:1, :, :1]
            return wide, filled, part

    shapes = {"x": {0: torch.export.Dim("rows", min=2, max=9)}}
    program = to_edge(export(Copies(), (torch.randn(5, 1, 4),), dynamic_shapes=shapes)).to_executorch()
    loaded = portable_lib._load_for_executorch_from_buffer(program.buffer)
    for rows in (9, 2, 5):
        x = torch.randn(rows, 1, 4)
        for found, expected in zip(loaded.forward((x,)), Copies()(x), strict=True):
            torch.testing.assert_close(found, expected)
