# SPDX-License-Identifier: BSD-3-Clause
"""Calls in which tensors are empty: each operator that XNNPACK takes, with each dynamic size 0, 1 and at its bound,
compared with PyTorch eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

MOST = 6
Function = Callable[..., Any]


class Model(nn.Module):
    """A function and the layers and constants that it may use."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.linear = nn.Linear(4, 3)
        self.convolution = nn.Conv2d(4, 4, 3, padding=1)
        self.depthwise = nn.Conv2d(4, 4, 3, groups=4)
        self.transposed = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.norm = nn.LayerNorm(4)
        self.batch_norm = nn.BatchNorm2d(4)
        self.prelu = nn.PReLU()
        self.gru, self.lstm = nn.GRUCell(4, 4), nn.LSTMCell(4, 4)
        self.register_buffer("rows", torch.randn(2, 4))

    def forward(self, *x: torch.Tensor) -> Any:
        return self.function(self, *x)


def rows(*sizes: int) -> torch.Tensor:
    return torch.randn(MOST, *sizes)


def each(function: Function) -> Function:
    return lambda m, x: function(x)


TABLE: dict[str, Function] = {
    # Operators whose results from empty tensors are not empty.
    "sum": lambda m, x: (x * 2).sum(0),
    "sum keeps": lambda m, x: (x * 2).sum(0, keepdim=True) + 1,
    "sum of all": lambda m, x: (x * 2).sum((0, 1)),
    "mean": lambda m, x: (x * 2).mean(0),
    "mean keeps": lambda m, x: (x * 2).mean((0, 1), keepdim=True) + m.rows,
    "cat first": lambda m, x: torch.cat([x * 2, m.rows]) + 1,
    "cat last": lambda m, x: torch.cat([m.rows, x * 2]) + 1,
    "cat of five": lambda m, x: torch.cat([x, m.rows, x * 2, m.rows * 2, x]),
    "cat of columns": lambda m, x: torch.cat([x.t(), m.rows.t(), x.t() * 2], 1),
    "products of rows": lambda m, x: x.t() @ x,
    "products, with a bias": lambda m, x: torch.addmm(m.rows[0], x.t(), x),
    "batched products": lambda m, x: x.t().unsqueeze(0) @ x.unsqueeze(0),
    "pad": lambda m, x: F.pad(x, (1, 1, 1, 2), value=2.5) * 2,
    "attention of rows": lambda m, x: F.scaled_dot_product_attention(m.rows[None, None], x[None, None], x[None, None]),
    "attention by hand": lambda m, x: torch.softmax(m.rows @ x.t(), -1) @ x,
    "a layer of a sum": lambda m, x: m.linear((x * 2).sum(0, keepdim=True)),
    "two results": lambda m, x: (m.linear(x), (x * 2).sum(0), x.mean(0)),
    "a layer beside": lambda m, x: (m.linear(x), m.linear(m.rows * 2 + x.sum())),
    # Operators whose results are empty, too.
    **{
        name: each(getattr(torch, name))
        for name in ("abs", "ceil", "cos", "exp", "floor", "neg", "sigmoid", "sin", "tanh", "relu", "clone")
    },
    **{name: each(lambda x, name=name: getattr(x.abs() + 1, name)()) for name in ("log", "rsqrt", "sqrt")},
    **{name: each(getattr(F, name)) for name in ("hardswish", "gelu", "leaky_relu", "elu", "hardtanh", "silu")},
    "gelu of tanh": each(lambda x: F.gelu(x, approximate="tanh")),
    "power": each(lambda x: x**2),
    "clamp": each(lambda x: x.clamp(-0.5, 0.5)),
    "arithmetic": lambda m, x: (x + m.rows[0]) * (x - 1) / (x.abs() + 2),
    "maximum": lambda m, x: torch.maximum(x, m.rows[0]) + torch.minimum(x, m.rows[1]),
    "prelu": lambda m, x: m.prelu(x),
    "softmax": each(lambda x: torch.softmax(x, -1)),
    "softmax of columns": each(lambda x: torch.softmax(x.t(), -1)),
    "linear": lambda m, x: m.linear(x * 2),
    "layer norm": lambda m, x: m.norm(x * 2),
    "view": each(lambda x: (x * 2).unsqueeze(1).view(-1, 2, 2)),
    "squeeze": each(lambda x: (x * 2).unsqueeze(1).squeeze(1)),
    "permute": each(lambda x: (x * 2).t()),
    "slice": each(lambda x: (x * 2)[:, 1:3]),
    "chunk": each(lambda x: (x * 2).chunk(2, 1)[1] + 1),
    "expand": each(lambda x: (x[:, None] * 2).expand(-1, 3, -1) + 1),
    "where": lambda m, x: torch.where(x > 0, x, m.rows[0]),
    "truth": each(lambda x: ((x > 0) & ~(x > 1)).float()),
    "embedding": lambda m, x: F.embedding((x[:, 0] * 0).long(), m.rows) * 2,
    "gru": lambda m, x: m.gru(x, x * 2),
    "lstm": lambda m, x: m.lstm(x, (x * 2, x * 3)),
    "attention": lambda m, x: F.scaled_dot_product_attention(x[None], m.rows[None] * 1, m.rows[None] * 1),
}
IMAGES: dict[str, Function] = {
    "convolution": lambda m, x: m.convolution(x),
    "depthwise": lambda m, x: m.depthwise(x),
    "transposed": lambda m, x: m.transposed(x),
    "batch norm": lambda m, x: m.batch_norm(m.convolution(x)),
    "max pool": each(lambda x: F.max_pool2d(x, 2)),
    "average pool": each(lambda x: F.avg_pool2d(x, 2)),
    "global pool": each(lambda x: F.adaptive_avg_pool2d(x * 2, 1)),
    "bilinear": each(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
    "mean of all images": lambda m, x: m.convolution(x).mean((0, 2, 3)),
    "sum of images": lambda m, x: m.convolution(x).sum(0) + 1,
}


def load(program: ExportedProgram) -> Any:
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert "executorch_call_delegate" in str(edge.exported_program().graph), "XNNPACK takes it"
    return _load_for_executorch_from_buffer(edge.to_executorch().buffer)


def lower(model: nn.Module, x: torch.Tensor, size: Dim) -> Any:
    return load(export(model, (x,), dynamic_shapes=(({0: size},),) if isinstance(model, Model) else ({0: size},)))


def compare(model: nn.Module, method: Any, x: torch.Tensor) -> None:
    expected = model(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, wanted in zip(method.forward((x,)), expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*TABLE, *IMAGES])
def test_no_rows(name: str) -> None:
    """XNN-04: a call without rows, one with rows, and one without rows again."""
    torch.manual_seed(0)
    model = Model({**TABLE, **IMAGES}[name]).eval()
    x = rows(4, 8, 8) if name in IMAGES else rows(4)
    method = lower(model, x, Dim("rows", min=0, max=MOST))
    with torch.no_grad():
        for count in (0, MOST, 0, 1, 0, 3):
            compare(model, method, x[:count].clone())


class Images(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return F.adaptive_avg_pool2d(x * 2, 1), (x * 2).sum((2, 3))


def test_images_without_rows_of_pixels() -> None:
    x = torch.randn(MOST, 2, 3, 4).permute(1, 2, 0, 3).contiguous()
    program = export(Images(), (x,), dynamic_shapes=({2: Dim("height", min=0, max=MOST)},))
    method = load(program)
    for height in (0, MOST, 1, 0):
        compare(Images(), method, x[:, :, :height].clone())


CONVOLUTIONS: dict[str, Callable[[], nn.Module]] = {
    "convolution": lambda: nn.Conv2d(4, 5, 3),
    "convolution, relu": lambda: nn.Sequential(nn.Conv2d(4, 5, 3), nn.ReLU()),
    "without a bias": lambda: nn.Conv2d(4, 5, 3, bias=False),
    "1x1": lambda: nn.Conv2d(4, 5, 1),
    "strides, dilations": lambda: nn.Conv2d(4, 5, (3, 2), stride=(2, 1), dilation=(1, 2)),
    "its own padding, too": lambda: nn.Conv2d(4, 5, 3, padding=1),
    "groups": lambda: nn.Conv2d(4, 6, 3, groups=2),
    "depthwise": lambda: nn.Conv2d(4, 4, 3, groups=4),
    "depthwise, 5x3": lambda: nn.Conv2d(4, 4, (5, 3), groups=4),
    "many channels": lambda: nn.Conv2d(4, 64, 3),
    "transposed": lambda: nn.ConvTranspose2d(4, 5, 3),
    "two in sequence": lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.ZeroPad2d(1), nn.Conv2d(8, 5, 3)),
}


def padded(name: str, value: float = 0.0) -> tuple[nn.Module, torch.Tensor]:
    """A convolution of a padded image, and a large image in NCHW."""
    torch.manual_seed(0)
    padding = nn.ConstantPad2d((1, 2, 3, 2), value)
    return nn.Sequential(padding, CONVOLUTIONS[name]()).eval(), torch.randn(2, 4, MOST, 5)


def check_rows_of_pixels(model: nn.Module, x: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Checks a model with dynamic rows, then with dynamic columns: images without pixels have no rows or no columns."""
    for dimension in (2, 3):
        size = Dim("size", min=0, max=x.shape[dimension])
        program = export(model, (x,), dynamic_shapes=({dimension: size},))
        method = load(program)
        for count in (0, x.shape[dimension], 0, 1, 3, 0, 2):
            image = x.narrow(dimension, 0, count).contiguous()
            with torch.no_grad():
                expected = model(image)
            torch.testing.assert_close(method.forward((image,))[0], expected, rtol=1e-4, atol=tolerance)


@pytest.mark.sampled
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_padded_images_without_pixels(name: str) -> None:
    """XNN-04: XNNPACK fuses the pad into the convolution, which then reads the image without pixels."""
    check_rows_of_pixels(*padded(name))


def test_images_padded_with_a_number() -> None:
    check_rows_of_pixels(*padded("convolution", 1.5))


def test_half_precision_of_padded_images() -> None:
    model, x = padded("convolution")
    check_rows_of_pixels(model.half(), x.half(), 1e-2)


@pytest.mark.parametrize("name", ["convolution", "convolution, relu", "depthwise"])
def test_int8_of_padded_images(name: str) -> None:
    model, x = padded(name)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    sizes = ({2: Dim("rows", min=1, max=MOST), 3: Dim("columns", min=1, max=5)},)
    prepared = prepare_pt2e(export(model, (x,), dynamic_shapes=sizes).module(), quantizer)
    prepared(x)
    check_rows_of_pixels(convert_pt2e(prepared), x, 0.05)


def test_a_convolution_over_no_pixels() -> None:
    """PyTorch refuses a convolution of an image without pixels even if its padding has some; so does the delegate."""
    model = nn.Sequential(nn.Conv2d(4, 5, 3, padding=2), nn.ReLU())
    x = torch.randn(1, 4, MOST, 5)
    program = export(model, (x,), dynamic_shapes=({2: Dim("height", min=0, max=MOST)},))
    method = load(program)
    with pytest.raises(RuntimeError, match="Only zero batch"):
        model(x[:, :, :0])
    with pytest.raises(RuntimeError, match="InvalidArgument"):
        method.forward((x[:, :, :0].contiguous(),))
    with torch.no_grad():
        compare(model, method, x)


class Keys(nn.Module):
    """Attention whose keys are an input of any length."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, k * 2, attn_mask=mask) + 1


def test_attention_without_keys() -> None:
    q, k, mask = torch.randn(2, 3, 5, 8), torch.randn(2, 3, MOST, 8), torch.randn(5, MOST)
    keys = Dim("keys", min=0, max=MOST)
    program = export(Keys(), (q, k, mask), dynamic_shapes=(None, {2: keys}, {1: keys}))
    method = load(program)
    for count in (0, MOST, 0, 1):
        inputs = (q, k[:, :, :count].clone(), mask[:, :count].clone())
        torch.testing.assert_close(method.forward(inputs)[0], Keys()(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["sum", "mean", "cat first", "pad", "products of rows"])
def test_half_precision(name: str) -> None:
    torch.manual_seed(0)
    model = Model(TABLE[name]).eval().half()
    x = rows(4).half()
    method = lower(model, x, Dim("rows", min=0, max=MOST))
    with torch.no_grad():
        for count in (0, MOST, 0):
            expected = model(x[:count])
            torch.testing.assert_close(
                method.forward((x[:count].clone(),))[0], expected, rtol=1e-2, atol=1e-2, equal_nan=True
            )


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("rows", torch.randn(2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.linear(x), self.linear(self.rows)])


def test_int8() -> None:
    torch.manual_seed(0)
    x, size = rows(4), Dim("rows", min=0, max=MOST)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(export(Joined().eval(), (x,), dynamic_shapes=({0: size},)).module(), quantizer)
    prepared(x)
    model = convert_pt2e(prepared)
    method = lower(model, x, size)
    for count in (0, MOST, 0):
        expected = model(x[:count])
        torch.testing.assert_close(method.forward((x[:count].clone(),))[0], expected, rtol=0, atol=0.05)


def test_what_eager_refuses() -> None:
    """For a window over no pixels, the call is refused because the shapes do not fit; the next call works."""

    class Pool(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.max_pool2d(x * 2, 3, stride=1, padding=1)

    x = torch.randn(1, 2, MOST, 4)
    program = export(Pool(), (x,), dynamic_shapes=({2: Dim("height", min=0, max=MOST)},))
    method = load(program)
    with pytest.raises(RuntimeError):
        Pool()(x[:, :, :0])
    with pytest.raises(RuntimeError):
        method.forward((x[:, :, :0].clone(),))
    compare(Pool(), method, x)
