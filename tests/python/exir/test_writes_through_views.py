# SPDX-License-Identifier: BSD-3-Clause
"""Writes through views are lowered by inverting the views in the graph: results are eager's, and nothing is traced
again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.runtime import Runtime

View = Callable[[Tensor], Tensor]

VIEWS: dict[str, View] = {
    "permute": lambda x: x.permute(2, 0, 1),
    "permute backwards": lambda x: x.permute(-1, 0, -2),
    "two permutes": lambda x: x.permute(2, 0, 1).permute(1, 0, 2),
    "t": lambda x: x[1].t(),
    "squeeze": lambda x: x[:, 1:2].squeeze(),
    "squeeze of a dimension": lambda x: x[:, 1:2].squeeze(1),
    "squeeze of dimensions": lambda x: x[:, 1:2].unsqueeze(0).squeeze((0, 2)),
    "squeeze of nothing": lambda x: x.squeeze(1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal of other dimensions": lambda x: x.diagonal(1, -2, -1),
    "view": lambda x: x.view(-1, 15)[:, 3:],
    "slice of a permute": lambda x: x.permute(1, 2, 0)[1:, ::2],
    "permute of a slice": lambda x: x[:, 1:].permute(2, 1, 0),
}
COPIES: dict[str, View] = {
    "contiguous of a permute": lambda x: x.permute(2, 0, 1).contiguous(),
    "contiguous of a transpose": lambda x: x.transpose(0, 1).contiguous(),
    "contiguous of a slice": lambda x: x[:, 1:].contiguous(),
    "contiguous of a row": lambda x: x[:, 1].contiguous(),
    "contiguous of an expansion": lambda x: x[:1].expand(4, 3, 5).contiguous(),
    "reshape of an expansion": lambda x: x[:, :1].expand(4, 3, 5).reshape(-1),
    "reshape of a permute": lambda x: x.permute(2, 0, 1).reshape(-1),
    "reshape of a slice": lambda x: x[:, 1:].reshape(-1),
    "flatten of a transpose": lambda x: x.transpose(0, 1).flatten(1),
    "reshape as another": lambda x: x[:, 1:].reshape_as(x[:, 1:].flatten()),
}
ALIASES: dict[str, View] = {
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(1),
    "the same type": lambda x: x.to(torch.float32),
    "contiguous of a part": lambda x: x[1:].contiguous(),
    "dropout": lambda x: nn.functional.dropout(x, training=False),
    "dropout of nothing": lambda x: nn.functional.dropout(x, 0.0),
}


class Written(nn.Module):
    """Writes to a view of a tensor, and returns both."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x * 2
        part = self.view(x)
        part.mul_(torch.arange(part.shape[-1]) + 1)
        part.sub_(0.5)
        return x + 1, part.exp()


def _check(view: View, rows: Dim | None = None) -> list[str]:
    """Compares with eager, and returns the notes of lowering."""
    model = Written(view)
    x = torch.linspace(-1, 1, 60).reshape(4, 3, 5)
    edge = to_edge(export(model, (x,), dynamic_shapes=None if rows is None else ({0: rows},)))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for example in (x,) if rows is None else (x, torch.linspace(0, 3, 105).reshape(7, 3, 5), x[: rows.min] + 2):
        for found, expected in zip(method.execute((example,)), model(example), strict=True):
            torch.testing.assert_close(found, expected)
    return list(edge._report)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*VIEWS, *COPIES, *ALIASES])
def test_a_write_through_a_view(name: str) -> None:
    view = {**VIEWS, **COPIES, **ALIASES}[name]
    notes = _check(view)
    assert name in ALIASES or not any("re-traced" in note for note in notes)


@pytest.mark.parametrize(
    "name", ["permute", "squeeze of a dimension", "slice of a permute", "contiguous of a permute", "reshape"]
)
def test_with_dynamic_sizes(name: str) -> None:
    _check({**VIEWS, **COPIES, **ALIASES}[name], Dim("rows", min=1, max=8))


@pytest.mark.parametrize("name", ["contiguous of a slice", "reshape of a slice", "contiguous of a part"])
def test_with_several_rows(name: str) -> None:
    """Runs with at least two rows. In eager mode, a part with one row would be contiguous and share memory, which
    torch.export does not capture, because it assumes that dynamic sizes are larger than one."""
    _check({**COPIES, **ALIASES}[name], Dim("rows", min=3, max=8))


@pytest.mark.parametrize("wrap", [False, True])
def test_writes_to_a_diagonal(wrap: bool) -> None:
    _check(lambda x: x[1].fill_diagonal_(3, wrap))
    _check(lambda x: x.view(20, 3).fill_diagonal_(0.5, wrap))
    _check(lambda x: x.view(20, 3).t().fill_diagonal_(7, wrap))
    _check(lambda x: x[:3, :, :3].fill_diagonal_(-1, wrap))


class WithoutGradients(nn.Module):
    """A model with a region without gradients, which torch.export puts into a separate graph."""

    def __init__(self, inside: bool, shared: bool) -> None:
        super().__init__()
        self.inside, self.shared = inside, shared

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = x * 2
        if self.shared:  # another view sees the write, for which the program is traced again
            row, column = x[0], x[:, 0]
            row.mul_(3)
            x = x + column.add_(1)
        dropped = x if self.inside else nn.functional.dropout(x, training=False)
        with torch.no_grad():
            dropped = nn.functional.dropout(dropped, training=False)
            dropped.mul_(2)
        return dropped, x + 1


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_dropouts_without_gradients(inside: bool, shared: bool) -> None:
    model, x = WithoutGradients(inside, shared), torch.linspace(-1, 1, 9).reshape(3, 3)
    edge = to_edge(export(model, (x,)))
    assert shared == any("re-traced" in note for note in edge._report)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for found, expected in zip(method.execute((x,)), model(x), strict=True):
        torch.testing.assert_close(found, expected)


class TwoViews(nn.Module):
    """A second view sees the written elements. The program is traced again for this."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = x * 2
        row, column = x[0], x[:, 0]
        row.mul_(3)
        column.add_(1)
        dropped = nn.functional.dropout(x, training=False)
        dropped.sub_(0.5)
        numbers, copied = torch.tensor([1.0, 2.0, 3.0]), torch.detach_copy(x)
        numbers[0], copied[1] = x.sum(), -1
        return row, x + 1, numbers, copied, dropped


def test_other_aliases_in_a_program_that_is_traced_again() -> None:
    model, x = TwoViews(), torch.linspace(-1, 1, 9).reshape(3, 3)
    edge = to_edge(export(model, (x,)))
    assert any("re-traced" in note for note in edge._report)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for found, expected in zip(method.execute((x,)), model(x), strict=True):
        torch.testing.assert_close(found, expected)


class WrittenConstant(nn.Module):
    """`torch.tensor` makes a new tensor in each call, which torch.export captures as a copy of a constant."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        whole, part, shifted = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1, 2, 0])
        before = whole.clone()
        whole += x
        part.view(3, 1)[1] = x.sum()
        shifted[torch.tensor([0, 2])] -= 1
        return whole, part, shifted, before, torch.alias_copy(x).mul_(2), x + 1


def test_a_write_to_a_tensor_of_numbers() -> None:
    model, x = WrittenConstant(), torch.linspace(-1, 1, 3)
    method = Runtime.get().load_program(to_edge(export(model, (x,))).to_executorch().buffer).load_method("forward")
    for example in (x, x + 1, x):
        for found, expected in zip(method.execute((example,)), model(example), strict=True):
            torch.testing.assert_close(found, expected)
