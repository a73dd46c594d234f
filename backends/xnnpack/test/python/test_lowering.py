# SPDX-License-Identifier: BSD-3-Clause
"""Models lowered to XNNPACK: what is delegated, and that the outputs are those of PyTorch eager."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from xnnpack_payloads import graphs, kinds

from sdk.backends.xnnpack.operators.elementwise import SumConfig
from sdk.backends.xnnpack.partition.config import ConfigPrecisionType
from sdk.backends.xnnpack.partition.config.xnnpack_config import XNNPartitionerConfig
from sdk.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
)
from sdk.backends.xnnpack.payload_nodes import inputs_of, outputs_of
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.runtime import Runtime

IMAGE = (torch.linspace(-3, 3, 2 * 4 * 8 * 8).reshape(2, 4, 8, 8).sin(),)
ROWS = (torch.linspace(-4, 4, 48).reshape(6, 8),)
POSITIVE = (torch.linspace(0.1, 4, 48).reshape(6, 8),)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


class Product(nn.Module):
    """addmm, whose matrix is not transposed, unlike a linear layer's weight."""

    def __init__(self, *rows: int, added: Callable[[torch.Tensor], torch.Tensor] | None = None) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(8, 3)), nn.Parameter(torch.randn(*rows, 3))
        self.added = added

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias if self.added is None else self.added(x), x, self.weight)


class Normalized(nn.Module):
    """A convolution whose batch norm has seen data."""

    def __init__(self, convolution: nn.Module, channels: int) -> None:
        super().__init__()
        self.convolution, self.norm = convolution, nn.BatchNorm2d(channels)
        nn.init.uniform_(self.norm.running_mean)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)
        nn.init.uniform_(self.norm.weight)
        nn.init.uniform_(self.norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.convolution(x)).relu()


def lower(
    model: nn.Module, inputs: tuple[torch.Tensor, ...], partitioner: XnnpackPartitioner | None = None, **kwargs: object
) -> EdgeProgramManager:
    return to_edge_transform_and_lower(
        export(model.eval(), inputs, **kwargs),  # type: ignore[arg-type]
        partitioner=[partitioner or XnnpackPartitioner()],
    )


def check(model: nn.Module, *calls: tuple[torch.Tensor, ...], lowered: EdgeProgramManager) -> None:
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for inputs in calls:
        expected = model(*inputs)
        outputs = expected if isinstance(expected, tuple) else (expected,)
        for found, wanted in zip(method.execute(inputs), outputs, strict=True):
            # Functions are approximated to a few units in the last place; sums have another order.
            torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-5, atol=1e-5)


WHOLE: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "conv2d": (nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2), IMAGE),
    "grouped conv2d": (nn.Conv2d(4, 6, 3, groups=2, bias=False), IMAGE),
    "depthwise conv2d": (nn.Conv2d(4, 8, (3, 2), padding=(1, 0), groups=4), IMAGE),
    "transposed conv2d": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), IMAGE),
    "conv2d, batch norm": (Normalized(nn.Conv2d(4, 6, 3), 6), IMAGE),
    "transposed conv2d, batch norm": (Normalized(nn.ConvTranspose2d(4, 6, 3), 6), IMAGE),
    "batch norm alone": (Normalized(nn.ReLU(), 4), IMAGE),
    "linear": (nn.Linear(8, 5), ROWS),
    "linear without bias, three dimensions": (nn.Linear(8, 5, bias=False), (ROWS[0].reshape(2, 3, 8),)),
    "addmm": (Product(), ROWS),
    "addmm to a constant of each row": (Product(6), ROWS),
    "addmm to what is computed": (Product(added=lambda x: x.sigmoid()[:, :3]), ROWS),
    "addmm to a column": (Product(added=lambda x: x[:, :1].tanh()), ROWS),
    "mm": (Call(lambda x: x @ x.t()), ROWS),
    "bmm": (Call(lambda x: torch.bmm(x, x.transpose(1, 2))), (ROWS[0].reshape(2, 3, 8),)),
    "add, sub, mul, div": (Call(lambda x, y: (x + y) * (x - 2.0) / (y + 9)), (ROWS[0], ROWS[0][:1])),
    "maximum, minimum": (Call(lambda x, y: torch.maximum(x, -y).minimum(y)), (ROWS[0], ROWS[0].flip(0))),
    "relu, relu6, hardtanh, clamp": (
        Call(lambda x: nn.ReLU6()(x) + nn.Hardtanh()(x) + x.relu() + x.clamp(min=1)),
        ROWS,
    ),
    "sigmoid, tanh, silu": (Call(lambda x: x.sigmoid() + x.tanh() + nn.SiLU()(x)), ROWS),
    "gelu": (nn.GELU(), ROWS),
    "elu, leaky relu": (Call(lambda x: nn.ELU(0.7)(x) + nn.LeakyReLU(0.2)(x)), ROWS),
    "hardswish, hardsigmoid": (Call(lambda x: nn.Hardswish()(x) + nn.Hardsigmoid()(x)), ROWS),
    "abs, neg, ceil, floor": (Call(lambda x: x.abs() - x.ceil() + (-x).floor()), ROWS),
    "exp, log, sqrt, rsqrt, square": (Call(lambda x: x.exp() + x.log() + x.sqrt() + x.rsqrt() + x**2), POSITIVE),
    "prelu": (nn.PReLU(4), IMAGE),
    "max pool": (nn.MaxPool2d(3, stride=2, padding=1), IMAGE),
    "average pool": (nn.AvgPool2d(2), IMAGE),
    "average pool that counts its padding": (nn.AvgPool2d(3, 1, 1), IMAGE),
    "average pool that counts the padding of its rows": (nn.AvgPool2d((5, 2), (2, 1), (2, 0)), IMAGE),
    "global average pool": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive average pool": (nn.AdaptiveAvgPool2d((2, 4)), IMAGE),
    "adaptive average pool of single rows": (nn.AdaptiveAvgPool2d((8, 2)), IMAGE),
    "adaptive average pool that changes nothing": (
        nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Conv2d(4, 2, 3)),
        IMAGE,
    ),
    "mean without its dimensions": (Call(lambda x: x.mean([-1, -2])), IMAGE),
    "softmax": (nn.Softmax(-1), ROWS),
    "cat": (Call(lambda x: torch.cat([x, x * 2, x + 1], 1)), IMAGE),
    "cat of more than five": (Call(lambda x: torch.cat([x * i for i in range(7)], 1)), IMAGE),
    "cat of more than five times five": (Call(lambda x: torch.cat([x + i for i in range(26)], -1)), ROWS),
    "cat after convolutions": (nn.Sequential(nn.Conv2d(4, 4, 1), Call(lambda x: torch.cat([x, x.relu()], 1))), IMAGE),
    "permute, view, unsqueeze": (Call(lambda x: x.permute(0, 2, 3, 1).reshape(2, 64, 4).unsqueeze(0)), IMAGE),
    "slice": (Call(lambda x: x[:, 1:3, -4:]), IMAGE),
    "pad": (nn.Sequential(nn.ConstantPad2d((1, 2, 0, 3), 0.5), nn.Conv2d(4, 4, 3)), IMAGE),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "bilinear with corners": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), IMAGE),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", WHOLE)
def test_each_operator_is_delegated_and_right(name: str) -> None:
    """XNN-03, XNN-04, XNN-16."""
    torch.manual_seed(0)
    model, inputs = WHOLE[name]
    lowered = lower(model, inputs)
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    assert len(graphs(lowered)) == 1
    check(model, inputs, lowered=lowered)


def test_images_stay_in_nhwc_and_batch_norm_becomes_weights() -> None:
    """PAS-17, XNN-14: two transposes at the ends, none between, and no node for the norms."""
    model = nn.Sequential(Normalized(nn.Conv2d(4, 8, 3), 8), nn.MaxPool2d(2), Normalized(nn.Conv2d(8, 4, 1), 4))
    lowered = lower(model, IMAGE)
    (graph,) = graphs(lowered)
    assert kinds(graph) == ["StaticTranspose", "Conv2d", "MaxPooling2d", "Conv2d", "StaticTranspose"]
    check(model, IMAGE, lowered=lowered)


@pytest.mark.parametrize("counts", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize(
    ("window", "stride", "padding"), [(3, 1, 1), (3, 2, 1), (2, 2, 1), ((5, 3), (1, 2), (2, 1)), (7, 3, 3)]
)
def test_padding_of_average_pools(window: Any, stride: Any, padding: Any, counts: bool) -> None:
    """XNN-16: heights that are known only when the model runs, at both ends of their range, with rows left over."""
    torch.manual_seed(0)
    model = nn.AvgPool2d(window, stride, padding, count_include_pad=counts)
    example = torch.randn(2, 19, 8, 9)
    exported = export(
        model, (example,), dynamic_shapes={"input": {0: Dim("n", min=1, max=4), 2: Dim("h", min=4, max=33)}}
    )
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for count, height in ((2, 8), (1, 4), (4, 33), (3, 10)):
        x = torch.randn(count, 19, height, 9)
        torch.testing.assert_close(method.execute((x,))[0], model(x), rtol=1e-5, atol=1e-6)


def test_adaptive_pools_with_windows_of_several_sizes_are_refused() -> None:
    """The windows differ in size, as 3 does not divide a height of 8, or the height is known only at run time."""
    model = nn.AdaptiveAvgPool2d((3, 2))
    lowered = lower(model, IMAGE)
    assert len(get_non_lowered_nodes(lowered.exported_program().graph)) == 1
    check(model, IMAGE, lowered=lowered)
    dynamic = export(nn.AdaptiveAvgPool2d(2), IMAGE, dynamic_shapes={"input": {2: Dim("h", min=4, max=9)}})
    assert graphs(to_edge_transform_and_lower(dynamic, partitioner=[XnnpackPartitioner()])) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.max_pool2d(x, 3, 1, 1),
        lambda x: x.amax(2, keepdim=True),
        lambda x: torch.nn.functional.avg_pool2d(x, 3, 1, 1),
        lambda x: torch.nn.functional.interpolate(x, (5, 6), mode="bilinear"),
        lambda x: x.mean((2, 3)),
    ],
    ids=["max_pool", "amax", "avg_pool", "resize", "mean"],
)
@pytest.mark.parametrize("both", [False, True], ids=["channels", "batch and channels"])
def test_images_with_a_dynamic_number_of_channels(function: Callable[..., torch.Tensor], both: bool) -> None:
    """XNNPACK's max pooling and resizing read the previous call's pixels if height and width stay the same."""
    channels, batch = Dim("c", min=2, max=40), Dim("n", min=1, max=9)
    calls = [(torch.randn(batch if both else 2, c, 6, 7),) for batch, c in ((2, 15), (9, 27), (1, 3), (2, 40), (5, 2))]
    shapes = {0: batch, 1: channels} if both else {1: channels}
    check(Call(function), *calls, lowered=lower(Call(function), calls[0], dynamic_shapes=((shapes,),)))


def test_clamps_become_limits_of_the_layer_before_them() -> None:
    """PAS-17: clamps become limits of convolutions and linear layers, unless a node reads the unclamped result."""
    joined = nn.Sequential(
        *(nn.Conv2d(4, 4, 3), nn.ReLU6(), nn.Conv2d(4, 4, 3, groups=4), nn.Hardtanh(-0.5, 0.25)),
        *(nn.ConvTranspose2d(4, 4, 2), nn.ReLU(), nn.Linear(5, 3), nn.ReLU()),
    )
    lowered = lower(joined, IMAGE)
    (graph,) = graphs(lowered)
    assert "Clamp" not in kinds(graph)
    used = {index for node in graph.xnodes for index in (*inputs_of(node.xnode_union), *outputs_of(node.xnode_union))}
    assert {value.xvalue_union.id_out for value in graph.xvalues} <= used  # and none for a clamp alone
    check(joined, IMAGE, lowered=lowered)

    linear = nn.Linear(8, 8)
    for function in (
        lambda x: (y := linear(x)).relu() + y,
        lambda x: (y := linear(x), y.relu()),
        lambda x: linear(x).relu().clamp(0.1, 0.2),  # the second clamp stays
    ):
        lowered = lower(Call(function), ROWS)
        assert kinds(graphs(lowered)[0]).count("Clamp") == 1
        check(Call(function), ROWS, lowered=lowered)


def test_channels_last_inputs_need_no_transpose() -> None:
    inputs = (IMAGE[0].to(memory_format=torch.channels_last),)
    model = nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last)
    lowered = lower(model, inputs)
    assert "Conv2d" in kinds(graphs(lowered)[0])
    check(model, inputs, lowered=lowered)


def test_dynamic_shapes() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
    lowered = lower(model, ROWS, dynamic_shapes=({0: Dim("rows", min=1, max=12)},))
    assert len(graphs(lowered)) == 1
    check(model, ROWS, (torch.ones(1, 8),), (torch.ones(12, 8),), ROWS, lowered=lowered)


def test_sizes_that_shrink_where_others_grow() -> None:
    """The model pads its input to 16 rows, so the padding shrinks when the input grows."""

    def fill(x: torch.Tensor) -> torch.Tensor:
        filling = torch.ones(16 - x.shape[0], 8)
        return torch.cat([x + 1, filling * filling]) * 2

    calls = [(torch.randn(rows, 8),) for rows in (2, 1, 12, 5)]
    lowered = lower(Call(fill), calls[0], dynamic_shapes=(({0: Dim("rows", min=1, max=12)},),))
    check(Call(fill), *calls, lowered=lowered)


def test_sizes_that_depend_on_data() -> None:
    """An assertion makes two sizes that depend on data equal, although their upper bounds differ."""

    def masked(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        m, n = first.item(), second.item()
        torch._check(m >= 0)
        torch._check(m <= 4)
        torch._check(n >= 0)
        torch._check(n <= 5)
        torch._check(m + n == 5)
        rows = torch.cat([x[:m] * 2, x[:n] * 3])
        return rows * x + rows.t().reshape(8, 5).t()

    x = torch.randn(5, 8)
    calls = [(x, torch.tensor(m), torch.tensor(5 - m)) for m in (2, 0, 4)]
    check(Call(masked), *calls, lowered=lower(Call(masked), calls[0]))


def test_what_is_not_taken_stays_with_a_reason() -> None:
    """XNN-20, BKO-05: operators that are not delegated run on the kernels."""
    model = Call(lambda x: torch.cumsum(x, 0).softmax(0).double().float() + x)
    lowered = lower(model, ROWS)
    reasons = {
        node.target.__name__: get_refusals(node).get("XnnpackBackend")
        for node in get_non_lowered_nodes(lowered.exported_program().graph)
    }
    assert reasons["aten.cumsum.default"] == "XNNPACK has no such operator"
    assert reasons["aten._softmax.default"] == "dim is 0, and XNNPACK takes the last one"
    check(model, ROWS, lowered=lowered)


def test_options_of_the_partitioner() -> None:
    """XNN-02."""
    model = nn.Sequential(nn.Linear(8, 8), Call(lambda x: x + 1), nn.Sigmoid())
    assert [kinds(graph) for graph in graphs(lower(model, ROWS, XnnpackPartitioner(configs=[SumConfig])))] == [["Add"]]
    per_op = graphs(lower(model, ROWS, XnnpackPartitioner(per_op_mode=True)))
    assert sorted(map(kinds, per_op)) == [["Add"], ["FullyConnected"], ["Sigmoid"]]
    assert len(graphs(lower(model, ROWS, XnnpackFloatingPointPartitioner()))) == 1
    for none in (XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner([], ConfigPrecisionType.FP32)):
        assert graphs(lower(model, ROWS, none)) == []
    with pytest.raises(TypeError, match="no option speed"):
        XnnpackPartitioner(speed=math.inf)
    assert issubclass(SumConfig, XNNPartitionerConfig)


def test_a_module_that_is_taken_apart_is_delegated_in_its_parts() -> None:
    """XNN-13: XNNPACK has no node for hardsigmoid, so it becomes an addition, a clamp and a division in one
    delegate."""
    inputs = (torch.linspace(-5, 5, 60).reshape(2, 30),)
    lowered = lower(nn.Hardsigmoid(), inputs)
    (graph,) = graphs(lowered)
    assert "Add" in kinds(graph) and "Clamp" in kinds(graph) and len(kinds(graph)) <= 4
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    check(nn.Hardsigmoid(), inputs, lowered=lowered)
