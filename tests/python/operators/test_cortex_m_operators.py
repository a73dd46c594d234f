# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of cortex_m, compared bit for bit with the operators that exports see: random calls of many sizes, among
them remainders of 4, 8 and 16, with the extremes of inputs and of parameters. What the operators compute is compared
with PyTorch's floating-point operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from recorder import FUNCTIONS_YAML
from single_operator import OutputSpec, run

import sdk.backends.cortex_m.ops.operators  # noqa: F401  (registers the operators)
from sdk.backends.cortex_m.ops.fixed_point import quantize_multiplier, requantize
from sdk.backends.cortex_m.ops.softmax import softmax_parameters

ops = torch.ops.cortex_m
_FUNCTIONS = FUNCTIONS_YAML.parents[1] / "cortex_m" / "functions.yaml"
_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)
_SCRATCH = torch.zeros(0, dtype=torch.uint8)

Calls = Iterator[tuple[Any, ...]]


class _Random(random.Random):
    """Random arguments. The extremes of a dtype are as frequent as all other numbers together."""

    def int8(self, *shape: int, image: bool = False) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.getrandbits(32))
        values = torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)
        extremes = torch.randint(0, 2, shape, dtype=torch.int8, generator=generator) * 255 - 128
        chosen = torch.rand(shape, generator=generator) < self.choice((0.0, 0.0, 0.5, 1.0))
        values = torch.where(chosen, extremes.to(torch.int8), values)
        return values.contiguous(memory_format=torch.channels_last) if image else values

    def int32(self, count: int, limit: int) -> torch.Tensor:
        return torch.tensor([self.randint(-limit, limit) for _ in range(count)], dtype=torch.int32)

    def zero_point(self) -> int:
        return self.choice((-128, 0, 127, self.randint(-128, 127)))

    def scale(self) -> tuple[int, int]:
        """Returns a multiplier and a shift: values as in real networks, or arbitrary ones."""
        usual = quantize_multiplier(2.0 ** self.uniform(-14, 0))
        any_bits = self.choice((-(2**31), 2**31 - 1, self.getrandbits(32) - 2**31)), self.randint(-31, 31)
        return self.choice((usual, usual, any_bits))

    def scales(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        pairs = [self.scale() for _ in range(count)]
        return tuple(torch.tensor(list(each), dtype=torch.int32) for each in zip(*pairs, strict=True))

    def limits(self) -> tuple[int, int]:
        low, high = sorted((self.randint(-128, 127), self.randint(-128, 127)))
        return self.choice(((-128, 127), (low, high)))

    def pair(self, low: int, high: int) -> list[int]:
        return [self.randint(low, high) for _ in range(2)]

    def places(self, kernel: list[int]) -> list[list[int]]:
        """Strides, paddings and dilations."""
        return [self.pair(1, 3), [self.randint(0, size) for size in kernel], self.choice(([1, 1], self.pair(1, 2)))]

    def image(self, channels: int) -> torch.Tensor:
        return self.int8(self.randint(1, 2), channels, self.randint(5, 9), self.randint(5, 9), image=True)


def _convolutions(r: _Random) -> Calls:
    for depth in _CHANNELS:
        kernel, groups, outputs = r.pair(1, 3), r.choice((1, 1, 2)), r.randint(1, 6)
        weight, x = r.int8(outputs * groups, *kernel, depth), r.image(depth * groups)
        bias = r.choice((None, r.int32(len(weight), 2 ** r.randint(1, 31) - 1)))
        tail = (-r.zero_point(), r.zero_point(), *r.scales(len(weight)), *r.limits(), _SCRATCH)
        yield (x, weight, bias, *r.places(kernel), *tail)


def _depthwise_convolutions(r: _Random) -> Calls:
    for channels in _CHANNELS:
        kernel, times = r.pair(1, 3), r.randint(1, 3)
        bias = r.choice((None, r.int32(channels * times, 2**20)))
        tail = (-r.zero_point(), r.zero_point(), *r.scales(channels * times), *r.limits(), _SCRATCH)
        weight = r.int8(1, *kernel, channels * times)
        yield (r.image(channels), weight, bias, *r.places(kernel), times, *tail)


def _transposed_convolutions(r: _Random) -> Calls:
    for depth in _CHANNELS:
        kernel, outputs = r.pair(1, 3), r.randint(1, 5)
        stride, padding, dilation = r.pair(1, 3), r.pair(0, 1), r.choice(([1, 1], r.pair(1, 2)))
        more = [r.randint(0, max(pair) - 1) for pair in zip(stride, dilation, strict=True)]
        tail = (-r.zero_point(), r.zero_point(), *r.scales(outputs), *r.limits(), _SCRATCH, _SCRATCH)
        bias = r.choice((None, r.int32(outputs, 2**20)))
        yield (r.image(depth), r.int8(outputs, *kernel, depth), bias, stride, padding, more, dilation, *tail)


def _means(r: _Random) -> Calls:
    for channels in _CHANNELS:
        kernel = r.pair(1, 5)
        padding = [r.randint(0, size // 2) for size in kernel]
        yield (r.image(channels), kernel, r.choice(([], r.pair(1, 3))), padding, r.zero_point(), *r.scale(), _SCRATCH)


def _maxima(r: _Random) -> Calls:
    for channels in _CHANNELS:
        kernel, zero_point = r.pair(1, 3), r.zero_point()
        padding = [r.randint(0, size // 2) for size in kernel]
        dilation, rounded_up = r.choice(([1, 1], r.pair(1, 2))), r.choice((False, True))
        places = (kernel, r.choice(([], r.pair(1, 3))), padding, dilation, rounded_up)
        yield (r.image(channels), *places, zero_point, zero_point, *r.limits())


def _linears(r: _Random) -> Calls:
    for inputs in (*_CHANNELS, 31, 64, 700):
        outputs, offset = r.randint(1, 9), r.choice((0, 0, r.zero_point()))
        count = r.choice((1, outputs))
        multipliers, shifts = zip(*(r.scale() for _ in range(count)), strict=True)
        tail = (-r.zero_point(), offset, r.zero_point(), list(multipliers), list(shifts), *reversed(r.limits()))
        given = r.int32(outputs, 2 ** r.randint(1, 31) - 1)
        added = r.choice(((None, None), (given, None), (None, given.reshape(1, -1))))
        yield (r.int8(*r.choice(((3,), (2, 2), ())), inputs), r.int8(outputs, inputs), *added, *tail)


def _products_of_matrices(r: _Random) -> Calls:
    for k in _CHANNELS:
        batch, m, n = r.randint(1, 3), r.randint(1, 5), r.randint(1, 5)
        tail = (-r.zero_point(), r.zero_point(), *r.scale(), _SCRATCH)
        yield (r.int8(batch, m, k), -r.zero_point(), r.int8(batch, n, k), *tail)


def _operands(r: _Random) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for size in _CHANNELS:
        yield r.int8(2, size), r.int8(2, size)
        yield r.image(size), r.int8(1, size, 1, 1)
        yield r.int8(size), r.int8(3, 1, size)
    image = r.image(5)
    yield image, r.int8(*image.shape)
    yield image, r.int8()


def _sums(r: _Random) -> Calls:
    for a, b in _operands(r):
        yield a, r.zero_point(), *r.scale(), b, r.zero_point(), *r.scale(), r.zero_point(), *r.scale(), *r.limits()


def _products(r: _Random) -> Calls:
    for a, b in _operands(r):
        far = r.choice((r.zero_point(), r.randint(-32768, 32767)))  # which hardswish has
        yield a, r.zero_point(), b, far, r.zero_point(), *r.scale()


def _choices(r: _Random) -> Calls:
    yield from _operands(r)
    yield r.int32(17, 2**31 - 1), r.int32(1, 2**31 - 1)


def _tables(r: _Random) -> Calls:
    yield torch.arange(-128, 128).to(torch.int8), r.int8(256)
    for size in _CHANNELS:
        yield r.image(size), r.int8(256)


def _softmaxes(r: _Random) -> Calls:
    for size in (*_CHANNELS, 100, 600, 5000):
        x = r.int8(2, size)
        yield (x, -1, r.zero_point(), -128, *softmax_parameters(2.0 ** r.uniform(-12, 4)))
        yield (x, 0, r.zero_point(), -128, r.getrandbits(31), r.randint(0, 31), -r.getrandbits(r.randint(1, 31)))
    yield (torch.full((1, 9000), 5, dtype=torch.int8), 1, 0, -128, *softmax_parameters(0.1))
    yield (r.image(7), 1, r.zero_point(), -128, *softmax_parameters(0.07))


def _transposes(r: _Random) -> Calls:
    for size in _CHANNELS:
        yield r.int8(size, 3), [1, 0]
        yield r.int8(2, size, 3, 5), r.sample(range(4), 4)
    yield r.image(3), [0, -1, 1, 2]


def _pads(r: _Random) -> Calls:
    for size in _CHANNELS:
        yield r.image(size), *([r.randint(0, 2) for _ in range(4)] for _ in range(2)), r.zero_point()
        yield r.int8(2, size), [0, 0, *r.pair(0, 3)], [0, 0, *r.pair(0, 3)], r.zero_point()
        yield r.int8(1, size, 3, 4), r.pair(0, 1) * 2, r.pair(0, 1) * 2, r.zero_point()
    yield r.image(3)[:, :1].contiguous(), [0, 1, 0, 2], [0, 0, 3, 0], 7  # one channel: in both formats


_RANGES = ((-128, 127, torch.int8), (-5, 100, torch.int8), (-32768, 32767, torch.int16))


def _quantized(r: _Random) -> Calls:
    for low, high, dtype in _RANGES:
        ends = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.5, 1e9, -1e9, 3e38, float("inf"), -float("inf")])
        scale = 2.0 ** r.uniform(-8, 1)
        values = torch.cat((ends, ends * scale, torch.linspace(-200, 200, 801) * scale))
        for x in (values, values[:80].reshape(1, 2, 5, 8).contiguous(memory_format=torch.channels_last)):
            yield x, scale, r.randint(low, high), low, high, dtype


def _dequantized(r: _Random) -> Calls:
    for low, high, dtype in _RANGES:
        values = torch.arange(torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1, 1 + 7 * (dtype == torch.int16))
        yield values.to(dtype), 2.0 ** r.uniform(-8, 1), r.randint(low, high), low, high, dtype


_CALLS: dict[str, Callable[[_Random], Calls]] = {
    "quantize_per_tensor": _quantized,
    "dequantize_per_tensor": _dequantized,
    "quantized_add": _sums,
    "quantized_mul": _products,
    "quantized_activation": _tables,
    "minimum": _choices,
    "maximum": _choices,
    "quantized_linear": _linears,
    "softmax": _softmaxes,
    "transpose": _transposes,
    "pad": _pads,
    "quantized_conv2d": _convolutions,
    "quantized_depthwise_conv2d": _depthwise_convolutions,
    "quantized_transpose_conv2d": _transposed_convolutions,
    "quantized_avg_pool2d": _means,
    "quantized_max_pool2d": _maxima,
    "quantized_batch_matmul": _products_of_matrices,
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", _CALLS)
def test_kernels_give_each_bit_of_the_operators(name: str, seed: int) -> None:
    operator = getattr(ops, name)
    names = [argument.name for argument in operator.default._schema.arguments]
    for args in _CALLS[name](_Random(seed)):
        expected = operator(*args)
        (found,) = run(operator.out, dict(zip(names, args, strict=True)), [OutputSpec.like(expected)])
        assert torch.equal(found, expected), args


def test_the_operators_are_those_of_the_kernels() -> None:
    """The operators have the schemas of functions.yaml, and this file has a call of each."""
    lines = [
        line.removeprefix("- func: ") for line in _FUNCTIONS.read_text().splitlines() if line.startswith("- func:")
    ]
    schemas = [torch._C.parse_schema(line) for line in lines]
    assert {schema.name.removeprefix("cortex_m::") for schema in schemas} == set(_CALLS)
    for schema in schemas:
        registered = getattr(ops, schema.name.removeprefix("cortex_m::")).out._schema
        assert str(registered) == str(schema)


@pytest.mark.parametrize("name", _CALLS)
def test_fake_tensors_have_the_layout_of_the_results(name: str) -> None:
    operator = getattr(ops, name)
    for args in _CALLS[name](_Random(0)):
        expected = operator(*args)
        fake = operator(*(arg.to("meta") if isinstance(arg, torch.Tensor) else arg for arg in args))
        assert (fake.dtype, fake.shape, fake.stride()) == (expected.dtype, expected.shape, expected.stride())


def test_requantising_rounds_the_real_product() -> None:
    """The result of a shift to the right is rounded a second time. The test allows the corresponding smaller error."""
    r = _Random(3)
    for _ in range(200):
        scale = 2.0 ** r.uniform(-20, 3)
        multiplier, shift = quantize_multiplier(scale)
        twice = 0.5 * 2.0**shift if shift < 0 else 0.0
        values = torch.randint(-(2**20), 2**20, (50,))
        found = requantize(values, multiplier, shift)
        assert ((found - values.double() * scale).abs() <= 0.5 + twice + 2.0**-9).all()


def _real(q: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    return (q.double() - zero_point) * scale


def _close(found: torch.Tensor, real: torch.Tensor, scale: float, zero_point: int) -> None:
    """Asserts that results are within one step of the real result."""
    wanted = (real / scale).round() + zero_point
    assert (found - wanted.clamp(-128, 127)).abs().max() <= 1


@pytest.mark.parametrize("seed", range(3))
def test_the_operators_compute_what_pytorch_computes(seed: int) -> None:
    r = _Random(seed)
    torch.manual_seed(seed)
    x, weight, bias = (
        r.image(6),
        torch.randint(-127, 128, (4, 3, 3, 6), dtype=torch.int8),
        torch.randint(-999, 999, (4,)),
    )
    scale, weight_scales, out_scale = 0.02, torch.tensor([0.01, 0.002, 0.03, 0.005]).double(), 0.11
    multipliers, shifts = zip(
        *(quantize_multiplier(scale * w / out_scale) for w in weight_scales.tolist()), strict=True
    )
    pairs = [torch.tensor(each, dtype=torch.int32) for each in (multipliers, shifts)]
    found = ops.quantized_conv2d(x, weight, bias.int(), [2, 1], [1, 1], [1, 1], 5, -7, *pairs, -128, 127, _SCRATCH)
    real_weight = weight.double().permute(0, 3, 1, 2) * weight_scales.reshape(-1, 1, 1, 1)
    real_bias = bias * scale * weight_scales
    _close(found, torch.conv2d(_real(x, scale, -5), real_weight, real_bias, (2, 1), 1), out_scale, -7)

    a, b = r.int8(9, 8), r.int8(9, 8)
    twice = 2 * max(0.04, 0.1)
    operands = (a, 3, *quantize_multiplier(0.04 / twice), b, -9, *quantize_multiplier(0.1 / twice))
    found = ops.quantized_add(*operands, 4, *quantize_multiplier(twice / (0.12 * 2**20)), -128, 127)
    _close(found, _real(a, 0.04, 3) + _real(b, 0.1, -9), 0.12, 4)
    found = ops.quantized_mul(a, 3, b, -9, 4, *quantize_multiplier(0.04 * 0.1 / 0.3))
    _close(found, _real(a, 0.04, 3) * _real(b, 0.1, -9), 0.3, 4)
    found = ops.softmax(a, 1, 3, -128, *softmax_parameters(0.04))
    _close(found, torch.softmax(_real(a, 0.04, 3), 1), 1 / 256, -128)
    mean = ops.quantized_avg_pool2d(x, [3, 2], [2, 2], [1, 1], 3, 1, 0, _SCRATCH)
    real = torch.nn.functional.avg_pool2d(_real(x, 1.0, 3), (3, 2), 2, 1, count_include_pad=False)
    _close(mean, real, 1.0, 3)
