# SPDX-License-Identifier: BSD-3-Clause
"""Multiplications and additions of constants after a convolution, such as a frozen batch norm, become part of its
weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export
from xnnpack_payloads import graphs, kinds

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime


class Frozen(nn.Module):
    """torchvision's FrozenBatchNorm2d, for any rank."""

    def __init__(self, channels: int, rank: int) -> None:
        super().__init__()
        for name in ("weight", "bias", "mean", "var"):
            self.register_buffer(name, torch.rand(channels) + 0.1)
        self.shape = [1, channels, *[1] * (rank - 2)]

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, mean, var = (b.reshape(self.shape) for b in (self.weight, self.bias, self.mean, self.var))
        scale = weight * (var + 1e-5).rsqrt()
        return x * scale + (bias - mean * scale)


class After(nn.Module):
    def __init__(self, layer: nn.Module, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: Tensor) -> Any:
        return self.function(self.layer(x))


def frozen(layer: nn.Module, channels: int, rank: int = 4) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(layer, Frozen(channels, rank), nn.ReLU())


IMAGE, LINE, VOLUME = torch.randn(2, 4, 7, 6), torch.randn(2, 4, 9), torch.randn(2, 4, 5, 6, 4)
C = torch.tensor([0.5, -2.0, 3.0, 0.25, 1.5, -1.0]).reshape(6, 1, 1)
FOLDED: dict[str, tuple[nn.Module, Tensor]] = {
    "frozen": (frozen(nn.Conv2d(4, 6, 3, padding=1), 6), IMAGE),
    "without a bias": (frozen(nn.Conv2d(4, 6, 3, bias=False), 6), IMAGE),
    "depthwise": (frozen(nn.Conv2d(4, 8, 3, groups=4), 8), IMAGE),
    "in groups": (frozen(nn.Conv2d(4, 6, 3, groups=2), 6), IMAGE),
    "transposed": (frozen(nn.ConvTranspose2d(4, 6, 3, stride=2), 6), IMAGE),
    "transposed, in groups": (frozen(nn.ConvTranspose2d(4, 6, 3, groups=2), 6), IMAGE),
    "line": (frozen(nn.Conv1d(4, 6, 3), 6, 3), LINE),
    "volume": (frozen(nn.Conv3d(4, 6, 3), 6, 5), VOLUME),
    "halves": (frozen(nn.Conv2d(4, 6, 3), 6).half(), IMAGE.half()),
    "numbers": (After(nn.Conv2d(4, 6, 3), lambda x: (x * 2 - 1) / 4), IMAGE),
    "from a number": (After(nn.Conv2d(4, 6, 3), lambda x: C - x), IMAGE),
    "number for each channel": (After(nn.Conv2d(4, 6, 3), lambda x: (C + x * C) / C), IMAGE),
    "then a batch norm": (nn.Sequential(frozen(nn.Conv2d(4, 6, 3), 6)[:2], nn.BatchNorm2d(6)), IMAGE),  # type: ignore[index]
    "in channels last": (frozen(nn.Conv2d(4, 6, 3), 6).to(memory_format=torch.channels_last),
                         IMAGE.to(memory_format=torch.channels_last)),  # type: ignore[call-overload]
}  # fmt: skip


def lower(model: nn.Module, x: Tensor, **options: Any) -> Any:
    return to_edge_transform_and_lower(export(model.eval(), (x,), **options), partitioner=[XnnpackPartitioner()])


def nodes_of(edge: Any) -> list[str]:
    return [kind for graph in graphs(edge) for kind in kinds(graph)]


def check(edge: Any, model: nn.Module, x: Tensor) -> None:
    tolerance = 2e-2 if x.dtype == torch.float16 else 1e-5
    (found,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute([x])
    with torch.no_grad():
        torch.testing.assert_close(found, model(x), rtol=tolerance, atol=tolerance)


@pytest.mark.sampled
@pytest.mark.parametrize("name", FOLDED)
def test_folded(name: str) -> None:
    model, x = FOLDED[name]
    edge = lower(model, x)
    if name != "volume":  # it becomes a step, whose payload format graphs() does not read
        assert not {"Multiply", "Add", "Subtract", "Divide"} & set(nodes_of(edge)), nodes_of(edge)
    check(edge, model, x)


KEPT: dict[str, Callable[[Tensor], Any]] = {
    "by row": lambda x: x * torch.arange(1.0, 6.0).reshape(5, 1),
    "of two readers": lambda x: x * 2 + x.relu(),
    "squared": lambda x: x * x,
    "not finite": lambda x: x * 1e38 * 1e38,
    "larger": lambda x: x[:, :1] * torch.ones(1, 6, 1, 1) * 2,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    torch.manual_seed(0)
    model = After(nn.Conv2d(4, 6, 3), KEPT[name])
    edge = lower(model, IMAGE)
    assert "Multiply" in nodes_of(edge) or "Square" in nodes_of(edge), nodes_of(edge)
    check(edge, model, IMAGE)


def test_dynamic_batches() -> None:
    model, x = FOLDED["frozen"]
    edge = lower(model, x, dynamic_shapes=({0: Dim("n", max=4)},))
    assert "Multiply" not in nodes_of(edge)
    for n in (1, 4):
        check(edge, model, torch.randn(n, *x.shape[1:]))
