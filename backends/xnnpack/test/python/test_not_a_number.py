# SPDX-License-Identifier: BSD-3-Clause
"""NaN and infinity at every position of a row, for all numbers of keys up to more than two vectors of 16 floats:
attention, norms, layers, pools and functions give NaN if eager does (XNN-14)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegated_payload
from sdk.runtime import Runtime

MOST_KEYS = 35
SPECIAL = (math.nan, math.inf, -math.inf)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def special_rows(count: int) -> torch.Tensor:
    """Rows of `count` values: one special value among ordinary ones, one among masked ones, and only special ones."""
    usual, masked = torch.linspace(-1, 1, count).sin(), torch.full((count,), -math.inf)
    rows = [usual]
    for number in SPECIAL:
        for place in range(count):
            for row in (usual.clone(), masked.clone()):
                row[place] = number
                rows.append(row)
        rows.append(torch.full((count,), number))
    return torch.stack(rows)


def check(found: object, expected: torch.Tensor, what: str) -> None:
    rtol, atol = (1e-4, 1e-5) if expected.dtype == torch.float32 else (4e-3, 2e-3)
    torch.testing.assert_close(
        torch.as_tensor(found), expected, rtol=rtol, atol=atol, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


@pytest.mark.parametrize("rows", [1, 5], ids=["few rows", "many rows"])
@pytest.mark.parametrize("kind", ["float mask", "bool mask"])
def test_attention(kind: str, rows: int) -> None:
    """A row of scores with a NaN is NaN; one that is masked as a whole is 0, as in eager."""

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask if kind == "float mask" else mask > 0)

    def inputs(keys: int) -> tuple[torch.Tensor, ...]:
        mask = special_rows(keys)
        batch = mask.shape[0]
        q = torch.linspace(-1, 1, rows * 8).sin().reshape(1, 1, rows, 8).repeat(batch, 1, 1, 1)
        k = torch.linspace(-1, 1, keys * 8).cos().reshape(1, 1, keys, 8).repeat(batch, 1, 1, 1)
        return q, k, k.sin(), mask.reshape(batch, 1, 1, keys).repeat(1, 1, rows, 1)

    batch, keys = Dim("batch", min=1, max=300), Dim("keys", min=1, max=40)
    of_keys = {0: batch, 2: keys}
    program = export(Call(attend), inputs(17), dynamic_shapes=(({0: batch}, of_keys, of_keys, {0: batch, 3: keys}),))
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert len(get_delegated_payload(lowered.exported_program().graph_module)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for count in range(1, MOST_KEYS + 1):
        arguments = inputs(count)
        check(method.execute(arguments)[0], attend(*arguments), f"{count} keys")


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


REDUCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": softmax,
    "log_softmax": lambda x: x.log_softmax(-1),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "var": lambda x: x.var(-1, correction=0),
    "logsumexp": lambda x: x.logsumexp(-1),
    "max": lambda x: x.max(-1)[0],
}


@pytest.mark.sampled
@pytest.mark.parametrize("delegates", [True, False], ids=["xnnpack", "kernels"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name: str, delegates: bool) -> None:
    """Runs the reductions in XNNPACK, if it has the operator, and in the runtime's kernels."""
    shapes = (({0: Dim("rows", min=1, max=300), 1: Dim("count", min=1, max=40)},),)
    program = export(Call(REDUCTIONS[name]), (special_rows(17),), dynamic_shapes=shapes)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()] if delegates else [])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for count in range(1, MOST_KEYS + 1):
        x = special_rows(count)
        check(method.execute((x,))[0], REDUCTIONS[name](x), f"{count} numbers")


def with_zeros(module: nn.Module) -> nn.Module:
    """Sets every other weight to 0, because infinity times 0 is NaN."""
    for parameter in module.parameters():
        parameter.data.view(-1)[::2] = 0.0
    return module.eval()


LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    **{f"linear {n}": (nn.Linear(k, n), (k,)) for k, n in ((4, 1), (5, 3), (6, 31), (7, 32), (5, 33))},
    "convolution": (nn.Conv2d(5, 3, 3, padding=1), (5, 2, 3)),
    "transposed convolution": (nn.ConvTranspose2d(6, 3, 2), (6, 2, 2)),
    "scale of channels": (nn.Conv2d(5, 5, 1, groups=5), (5, 2, 2)),
    "depthwise convolution": (nn.Conv2d(5, 5, 3, padding=1, groups=5), (5, 3, 3)),
    "wide depthwise convolution": (nn.Conv2d(5, 5, 7, padding=3, groups=5), (5, 3, 3)),
    "average pool": (nn.AvgPool2d(2, stride=1), (5, 3, 3)),
    "padded average pool": (nn.AvgPool2d(3, padding=1, count_include_pad=False), (5, 3, 4)),
    "average pool that counts its padding": (nn.AvgPool2d(3, padding=1), (5, 3, 4)),
    "ReLU6": (nn.ReLU6(), (37,)),
}


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float32", "float16"])


def check_delegated(module: nn.Module, inputs: tuple[torch.Tensor, ...], what: str) -> None:
    lowered = to_edge_transform_and_lower(export(module, inputs), partitioner=[XnnpackPartitioner()])
    assert len(get_delegated_payload(lowered.exported_program().graph_module)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    check(method.execute(inputs)[0], module(*inputs), what)


@pytest.mark.sampled
@DTYPES
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, dtype: torch.dtype) -> None:
    module, shape = LAYERS[name]
    module = with_zeros(copy.deepcopy(module)).to(dtype)
    x = special_rows(math.prod(shape)).nan_to_num(neginf=1.0, nan=math.nan, posinf=math.inf).reshape(-1, *shape)
    check_delegated(module, (x.to(dtype),), name)


def special_images(channels: int, height: int, width: int) -> torch.Tensor:
    """Images with a special value in a channel of each pixel."""
    size = channels * height * width
    images = torch.linspace(-9, 9, size).sin().repeat(len(SPECIAL) * height * width, 1)
    for i, image in enumerate(images):
        place = i // len(SPECIAL)
        image[place + height * width * (place % channels)] = SPECIAL[i % len(SPECIAL)]
    return images.reshape(-1, channels, height, width)


WINDOWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "max pool": lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    "max pool of an even window": lambda x: F.max_pool2d(x, (2, 3), stride=1),
    "max pool of a large window": lambda x: F.max_pool2d(x, 4, stride=1),
    "dilated max pool": lambda x: F.max_pool2d(x, 2, stride=1, dilation=2),
    "clamped max pool": lambda x: F.relu6(F.max_pool2d(x, 2)),
    "resized": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    # Leaves out the last row and column, where eager multiplies infinity by 0.
    "resized with aligned corners": lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True)[
        ..., :-1, :-1
    ],
    "largest row": lambda x: x.max(2, keepdim=True)[0],
}


@pytest.mark.sampled
@DTYPES
@pytest.mark.parametrize("name", WINDOWS)
def test_window(name: str, dtype: torch.dtype) -> None:
    for channels in (1, 5, 16, 35):
        check_delegated(Call(WINDOWS[name]), (special_images(channels, 4, 5).to(dtype),), f"{channels} channels")


OF_TORCH = (
    "abs", "ceil", "cos", "exp", "floor", "log", "neg", "relu", "rsqrt", "sigmoid", "sin", "sqrt", "square", "tanh",
)  # fmt: skip
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{name: getattr(torch, name) for name in OF_TORCH},
    **{name: getattr(F, name) for name in ("elu", "hardswish", "leaky_relu", "relu6", "silu")},
    "clamp": lambda x: x.clamp(-1, 1),
}

PERIODIC = ("sin", "cos")
"""Functions whose results for large numbers are nothing but rounding errors."""


@pytest.mark.sampled
@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str, dtype: torch.dtype) -> None:
    """NaN, infinity, zeros, and numbers of all magnitudes for which results are finite."""
    magnitudes = torch.logspace(-6, 4 if dtype == torch.float16 or name in PERIODIC else 37, 87)
    x = torch.cat([torch.tensor([*SPECIAL, 0.0, -0.0]), magnitudes, -magnitudes]).to(dtype)
    check_delegated(Call(FUNCTIONS[name]), (x,), name)


@pytest.mark.sampled
@DTYPES
@pytest.mark.parametrize("function", [torch.maximum, torch.minimum, torch.add, torch.mul, torch.div])
def test_function_of_two(function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    numbers = torch.tensor([*SPECIAL, 0.0, -0.0, 1.0, -2.0], dtype=dtype)
    x, y = (pair.flatten() for pair in torch.meshgrid(numbers, numbers, indexing="ij"))
    check_delegated(Call(function), (x, y), "two tensors")
    for number in numbers:
        check_delegated(Call(function), (x, number.reshape(1)), f"by {number}")


@pytest.mark.parametrize("delegates", [True, False], ids=["xnnpack", "kernels"])
@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
def test_norm(norm: Callable[..., torch.Tensor], delegates: bool) -> None:
    for count in (1, 2, 7, 8, 9, 15, 16, 17, 31, 33):
        x, weight = special_rows(count), torch.linspace(0.5, 2, count)

        def normalise(x: torch.Tensor, weight: torch.Tensor = weight) -> torch.Tensor:
            found: torch.Tensor = norm(x, weight.shape, weight)
            return found

        program = export(Call(normalise), (x,))
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()] if delegates else [])
        method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
        check(method.execute((x,))[0], normalise(x), f"{count} numbers")
