# SPDX-License-Identifier: BSD-3-Clause
"""Every operator on the device against PyTorch eager, in float32 and float16, and at several shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import device_program
import pytest
import torch
import torch.nn.functional as F
from eager import Inputs, check, check_together
from hand_built import numbers
from torch import nn

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower


def check_all(functions: dict[str, Callable[..., Any]], *inputs: torch.Tensor, half: bool = False) -> None:
    check_together({name: (function, inputs) for name, function in functions.items()}, half)


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": torch.abs,
    "clamp": lambda x: x.clamp(-0.3, 0.4),
    "cos": torch.cos,
    "eq": lambda x: x.round() == 1.0,
    "exp": torch.exp,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gt": lambda x: x > 0.2,
    "hardshrink": F.hardshrink,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "leaky_relu": F.leaky_relu,
    "neg": torch.neg,
    "pow": lambda x: x.abs().pow(1.7),
    "relu": F.relu,
    "round": torch.round,
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.1),
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "tanh": torch.tanh,
}


def test_unary():
    check_all(UNARY, numbers(2, 3, 7, 5) * 2)


def test_angles() -> None:
    """VK-05: sines and cosines of large angles, which Vulkan does not bound; the signs of zeros and infinities."""
    steps = torch.arange(-9000.0, 9001, 3)
    scales = [numbers(500, seed=k) * scale for k, scale in enumerate((1e-3, 1e4, 1e5, 1e8, 1e20, 1e37))]
    special = torch.tensor([0.0, -0.0, 8191.9995, 8192.0, -8192.0, math.inf, -math.inf, math.nan, 3.4e38])
    x = torch.cat([steps, *scales, special])
    check_all({"sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "rsqrt": torch.rsqrt}, x)


BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda a, b: torch.add(a, b, alpha=2),
    "div": torch.div,
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "eq": torch.eq,
    "ge": torch.ge,
    "le": torch.le,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "pow": lambda a, b: torch.pow(a.abs(), b),
    "sub": torch.sub,
}


def test_binary_broadcasts():
    check_all(BINARY, numbers(2, 3, 7, 5), numbers(3, 1, 5))


MOVES: dict[str, Callable[[torch.Tensor], Any]] = {
    "cat": lambda x: torch.cat([x, x * 2, x[:, :2]], 1),
    "expand": lambda x: x[:, :1].expand(2, 4, 6, 7) * 1,
    "flip": lambda x: x.flip(1, 3),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=2.0),
    "permute": lambda x: x.permute(0, 3, 1, 2) * 1,
    "repeat": lambda x: x.repeat(1, 2, 1, 3),
    "select": lambda x: x[:, 2] * 1,
    "slice": lambda x: x[:, 1:4, ::2] * 1,
    "split": lambda x: torch.split(x, [2, 3], 1),
    "to_half": lambda x: x.to(torch.float16).to(torch.float32),
    "to_int": lambda x: (x * 3).to(torch.int32),
    "view": lambda x: x.reshape(10, 42) * 1,
}


def test_moves():
    check_all(MOVES, numbers(2, 5, 6, 7).half().float())


REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(1, keepdim=True),
    "argmax": lambda x: x.argmax(-1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "mean": lambda x: x.mean((2, 3), keepdim=True),
    "softmax": lambda x: torch.softmax(x, 1),
    "sum": lambda x: x.sum(-1),
    "var": lambda x: x.var(-1),
}


def test_reductions():
    check_all(REDUCTIONS, numbers(2, 5, 6, 7))


LAYERS: dict[str, tuple[nn.Module, Inputs]] = {
    "avg_pool": (nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (numbers(1, 5, 8, 9),)),
    "batch_norm": (nn.BatchNorm2d(6), (numbers(1, 6, 4, 5),)),
    "conv1d": (nn.Conv1d(6, 9, 3, padding=1), (numbers(1, 6, 15),)),
    "conv2d": (nn.Conv2d(16, 33, 3, stride=2, padding=1), (numbers(1, 16, 17, 15),)),
    "depthwise": (nn.Conv2d(8, 8, 5, groups=8, padding=2, stride=2), (numbers(1, 8, 9, 10),)),
    "dilated": (nn.Conv2d(4, 8, 3, dilation=2, bias=False), (numbers(1, 4, 11, 12),)),
    "embedding": (nn.Embedding(11, 6), (torch.tensor([[1, 0, 10], [3, 3, 2]]),)),
    "group_norm": (nn.GroupNorm(2, 6), (numbers(1, 6, 4, 5),)),
    "grouped": (nn.Conv2d(8, 12, 3, groups=2, padding=1), (numbers(1, 8, 7, 7),)),
    "layer_norm": (nn.LayerNorm(37), (numbers(2, 5, 37),)),
    "linear": (nn.Linear(64, 33), (numbers(2, 9, 64),)),
    "linear_row": (nn.Linear(15, 64, bias=False), (numbers(1, 15),)),
    "max_pool": (nn.MaxPool2d(3, 2, 1), (numbers(1, 5, 9, 8),)),
    "pixel_shuffle": (nn.PixelShuffle(2), (numbers(1, 8, 3, 5),)),
    "pointwise": (nn.Conv2d(7, 10, 1), (numbers(1, 7, 6, 6),)),
    "pointwise_odd": (nn.Conv2d(7, 10, 1), (numbers(1, 7, 5, 5),)),
    "transposed": (nn.ConvTranspose2d(6, 9, 3, stride=2, padding=1, output_padding=1), (numbers(1, 6, 5, 6),)),
    "upsample": (nn.UpsamplingNearest2d(scale_factor=2), (numbers(1, 5, 4, 3),)),
    "upsample_bilinear": (nn.UpsamplingBilinear2d(scale_factor=2), (numbers(1, 5, 4, 3),)),
}


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_layers(half):
    """VK-05: convolutions, linear layers and others give eager's results in float32 and float16."""
    check_together(LAYERS, half=half)


def test_matrix_products():
    check(torch.mm, (numbers(9, 17), numbers(17, 11)))
    check(torch.bmm, (numbers(3, 9, 16), numbers(3, 16, 12)))


def test_indices():
    check(lambda x, i: torch.gather(x, 1, i), (numbers(3, 5), torch.tensor([[0, 4, 1, 2]] * 3)))
    check(lambda x, i: torch.index_select(x, 1, i), (numbers(2, 5, 3), torch.tensor([2, 0, 3])))
    check(lambda x, i: x[i], (numbers(9), torch.tensor([[8, 0, 3]])))


def test_where_and_logic():
    check(lambda c, a, b: torch.where(c > 0, a, b), (numbers(4, 1, 5), numbers(3, 5), numbers(4, 3, 1)))
    check(lambda a, b: torch.logical_not((a > 0) & (b > 0) | (a < b)), (numbers(4, 5), numbers(4, 5, seed=1)))


@torch.no_grad()
def test_nan_decides():
    """Comparisons, logic, extremes and choices with NaN, infinities and negative zero on either side."""
    edges = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -2.5])
    a, b = edges[:, None].expand(7, 7).contiguous(), edges.expand(7, 7).contiguous()
    bases, exponents = (
        torch.cat([edges, torch.tensor([-1.0])]),
        torch.tensor([2.0, 3.0, 0.5, -1.0, -3.0, 101.0, -101.0]),
    )
    powers = torch.cartesian_prod(bases, torch.cat([edges, exponents])).T.contiguous().unbind()
    of_two = {name: getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "minimum", "maximum")}
    of_two["where"] = lambda x, y: torch.where(x < y, x, y)
    of_two["itself"] = lambda x, y: (x != x) | (y == y)
    check_together({name: (function, (a, b)) for name, function in of_two.items()} | {"pow": (torch.pow, powers)})
    of_one: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        name: UNARY[name] for name in ("clamp", "relu", "hardtanh", "hardshrink", "hardswish", "leaky_relu", "eq", "gt")
    }
    of_one |= {
        "hardsigmoid": F.hardsigmoid,
        "sign": torch.sign,
        "bool": lambda x: x.to(torch.bool),
        "amax": lambda x: x.amax(0),
        "amin": lambda x: x.amin(0),
        "argmax": lambda x: x.argmax(0),
        "argmin": lambda x: x.argmin(0),
        "softmax": lambda x: x.softmax(0),
        "max_pool": lambda x: F.max_pool2d(x[None, None], (1, 3), 1),
        "zero": lambda x: x == 0,
        "not_zero": lambda x: x != 0,
    }
    check_all(of_one, torch.stack([edges, edges.flip(0), torch.zeros(7)]))


def test_floor_division():
    """Floor division with quotients that float32 rounds up to whole numbers, negative operands and infinite
    quotients."""
    tenths = torch.arange(-40, 41) / 10
    check_together(
        {
            "number": (lambda x: torch.div(x, 0.1, rounding_mode="floor"), (tenths,)),
            "tensor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (tenths[:, None], tenths[1::7] + 0.05)),
            "zero": (lambda x: torch.div(x, torch.zeros(1), rounding_mode="floor"), (tenths[41:],)),
        }
    )


def test_integers():
    whole = torch.randint(-9, 9, (3, 6), dtype=torch.int32, generator=torch.Generator().manual_seed(0))
    check(lambda a, b: a * b + a, (whole, whole.flip(0)))


def test_shapes_change():
    """VK-02: one program runs the smallest shape, the largest and others between them, in any order."""
    rows = torch.export.Dim("rows", min=1, max=9)
    model = nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.Linear(6, 4))
    check(model, (numbers(7, 8),), (numbers(1, 8),), (numbers(9, 8),), (numbers(4, 8),), dynamic=({0: rows},))
    half_height = torch.export.Dim("half_height", min=4, max=20)
    image = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Softmax(1))
    check(
        image, (numbers(1, 3, 12, 8),), (numbers(1, 3, 8, 8),), (numbers(1, 3, 40, 8),), dynamic=({2: 2 * half_height},)
    )


def test_a_shape_beyond_the_limit_is_refused():
    rows = torch.export.Dim("rows", min=1, max=9)
    exported = torch.export.export(nn.Linear(8, 6), (numbers(7, 8),), dynamic_shapes=({0: rows},))
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()])
    program = device_program.load(edge.to_executorch().buffer)
    with pytest.raises(RuntimeError):
        program.forward([numbers(10, 8)])


@pytest.mark.parametrize("at", [4, 10, 14, 40, 60, 90])
def test_damaged_payloads_are_refused_or_run(at):
    """A byte of the payload is changed: an error, or a result, and no crash."""
    exported = torch.export.export(nn.Linear(8, 6), (numbers(7, 8),))
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()])
    data = bytearray(edge.to_executorch().buffer)
    start = data.index(b"VH00") - 4
    data[start + at] ^= 0x7F
    try:
        program = device_program.load(bytes(data))
        program.forward([numbers(7, 8)])
    except RuntimeError:
        pass
    else:
        assert at > 30, "a damaged header was accepted"


RANKS: dict[str, Callable[[torch.Tensor], Any]] = {
    "add": lambda x: x + x[:1, :, :1],
    "cat": lambda x: torch.cat([x, x * 2], 2),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "gelu": F.gelu,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-2:]),
    "flip": lambda x: x.flip(1, -1),
    "index_select": lambda x: x.index_select(1, torch.tensor([2, 0])),
    "mean": lambda x: x.mean((1, -2)),
    "pad": lambda x: F.pad(x, (1, 0, 2, 1)),
    "permute": lambda x: x.permute(*reversed(range(x.dim()))),
    "repeat": lambda x: x.repeat(*([1] * (x.dim() - 2)), 2, 2),
    "sigmoid": torch.sigmoid,
    "slice": lambda x: x[:, 1:, :, ::2],
    "softmax": lambda x: torch.softmax(x, 2),
    "stack": lambda x: torch.stack([x, x], -1).flatten(-2),
    "sum": lambda x: x.sum(),
    "where": lambda x: torch.where(x > 0, x, x * 0.1),
}


@pytest.mark.parametrize("shape", [(2, 3, 2, 3, 4), (1, 3, 2, 2, 3, 2)], ids=["5", "6"])
def test_more_than_four_dimensions(shape):
    """VK-04"""
    check_all(RANKS, numbers(*shape))


INDICES: dict[str, Callable[..., Any]] = {
    "rows": lambda x, i, j: x[i],
    "columns": lambda x, i, j: x[:, j],
    "pairs": lambda x, i, j: x[i, j],
    "broadcast": lambda x, i, j: x[i[:, None, None], j[None, :, None]],
    "later": lambda x, i, j: x[:, j, j],
    "three": lambda x, i, j: x[i, j, j],
    "bool": lambda x, i, j: (x > 0)[i, j],
    "integers": lambda x, i, j: (x * 9).to(torch.int32)[i, j],
}


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_index(half):
    """Indexing with one and with several tensors of indices, including negative ones."""
    i, j = torch.tensor([1, 0, -1, 4]), torch.tensor([2, -3, 1, 0])
    check_all(INDICES, numbers(5, 3, 4).half().float(), i, j, half=half)


def test_arange_of_a_dynamic_size():
    size = torch.export.Dim("size", min=1, max=9)
    check(
        lambda x: x + torch.arange(2, x.shape[1] + 2),
        *((numbers(2, n),) for n in (4, 9, 1)),
        dynamic=(({1: size},),),
    )
