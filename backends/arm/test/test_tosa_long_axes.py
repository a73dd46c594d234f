# SPDX-License-Identifier: BSD-3-Clause
"""Results that read many elements equal eager's, also on lavapipe, which ends the loops of a shader after 65,535
iterations. No operator of the TOSA file reads more than `MOST_READ` elements for one element of its result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from arm_lowering import BOTH, FP, INT, Call, Lowered, assert_close, lower
from test_tosa_integers import INT16, quantized, steps, uses_floats
from torch import Tensor, nn

from sdk.backends.arm.quantizer import (
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.arm.tosa.parts import MOST_READ, spans
from sdk.backends.arm.tosa.schema import Op
from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

LONG = 70001


def _reads(lowered: Lowered) -> int:
    """Returns the most elements that an element of a result reads."""
    found = [0]
    for file in lowered.files:
        block = file.regions[0].blocks[0]
        shapes = {tensor.name: list(tensor.shape) for tensor in block.tensors}
        for each in block.operators:
            name, sizes = Op(each.op).name, [shapes.get(operand, []) for operand in each.inputs]
            if name.startswith("REDUCE") or name == "ARGMAX":
                found.append(sizes[0][each.attribute.axis])
            elif name == "MATMUL":
                found.append(sizes[0][2])
            elif name == "DEPTHWISE_CONV2D":
                found.append(math.prod(sizes[1][:2]))
            elif "CONV" in name:
                found.append(math.prod(sizes[1][1:]))
            elif "POOL" in name:
                found.append(math.prod(each.attribute.kernel))
            elif name == "SCATTER":
                found.append(sizes[1][1])
    return max(found)


def _ties() -> Tensor:
    return torch.randint(0, 9, (2, LONG), generator=torch.Generator().manual_seed(0)).float()


def _ones_and(number: float, *places: int) -> Tensor:
    values = torch.ones(LONG)
    values[list(places)] = number
    return values


def _at_extremes(x: Tensor) -> Tensor:
    return torch.gather(x, 1, torch.cat([x.argmax(1, keepdim=True), x.argmin(1, keepdim=True)], 1))


_flipped = torch.arange(LONG + 5).flip(0)[:LONG]
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "sum": (lambda x: x.sum(0), ((LONG,),)),
    "sum of a middle axis": (lambda x: x.sum(1), ((2, LONG, 3),)),
    "sum of an axis between five": (lambda x: x.sum(3), ((1, 2, 1, 40000, 1, 2),)),
    "mean of float16": (lambda x: x.half().mean(1), ((2, LONG),)),
    "product": (lambda x: x.prod(0), (_ones_and(1.5, 10, 40000, LONG - 1),)),
    "largest": (lambda x: x.amax(0), ((LONG, 2),)),
    "largest is the last": (lambda x: x.amax(0), (torch.arange(float(LONG)),)),
    "smallest is the last": (lambda x: x.amin(0), (-torch.arange(float(LONG)),)),
    "largest with NaN": (lambda x: x.amax(0).isnan().float(), (_ones_and(math.nan, 69000),)),
    "any": (lambda x: (x > LONG - 1.5).any(0).float(), (torch.arange(float(LONG)),)),
    "positions of ties": (_at_extremes, (_ties(),)),
    "position of the last": (lambda x: torch.gather(x, 0, x.argmax(0, keepdim=True)), (torch.arange(float(LONG)),)),
    "position of NaN": (
        lambda x: torch.gather(torch.arange(float(LONG)) * 1, 0, x.argmax(0, keepdim=True)) + x[0],
        (_ones_and(math.nan, 41000, 69000),),
    ),
    "value and position": (lambda x: torch.gather(x, 1, x.max(1, keepdim=True).indices), ((2, LONG),)),
    "softmax": (lambda x: torch.softmax(x, -1) * LONG, ((2, LONG),)),
    "logarithm of softmax": (lambda x: torch.log_softmax(x, 0), ((LONG, 2),)),
    "variance": (lambda x: x.var(0), ((LONG,),)),
    "layer norm": (lambda x: F.layer_norm(x, (LONG,)), ((2, LONG),)),
    "group norm": (lambda x: F.group_norm(x, 1), ((1, 7, LONG // 7),)),
    "vector norm": (lambda x: torch.linalg.vector_norm(x, dim=1), ((2, LONG),)),
    "product of matrices": (lambda x, y: x @ y, ((2, LONG), (LONG, 3))),
    "linear": (nn.Linear(LONG, 2), ((3, LONG),)),
    "convolution": (nn.Conv2d(8192, 2, 3), ((1, 8192, 3, 3),)),
    "convolution of one channel": (nn.Conv2d(1, 2, (86, 87)), ((1, 1, 87, 88),)),
    "convolution of three dimensions": (nn.Conv3d(4097, 2, 2), ((1, 4097, 2, 2, 2),)),
    "transposed convolution": (nn.ConvTranspose2d(8192, 2, 3), ((1, 8192, 1, 1),)),
    "average pool": (lambda x: F.avg_pool2d(x, 190, 3), ((1, 2, 193, 190),)),
    "average pool without its padding": (
        lambda x: F.avg_pool2d(x, 190, 50, 70, count_include_pad=False),
        ((1, 1, 190, 150),),
    ),
    "average pool of float16": (lambda x: F.avg_pool2d(x.half(), 190), ((1, 2, 190, 190),)),
    "average of an image": (lambda x: F.adaptive_avg_pool2d(x, 1), ((1, 2, 300, 300),)),
    "max pool": (lambda x: F.max_pool2d(x, 190, 3, 7), ((1, 2, 193, 190),)),
    "scatter": (lambda x, y: x.index_put((_flipped,), y), ((LONG + 5,), (LONG,))),
}
SLOW_IN_THE_LAYER = {"scatter", "sum of an axis between five", "linear", "group norm"}


def _case(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    torch.manual_seed(0)
    function, given = CASES[name]
    model = function if isinstance(function, nn.Module) else Call(function)
    return model.eval(), tuple(each if isinstance(each, Tensor) else torch.randn(each) for each in given)


def _expected(model: nn.Module, inputs: tuple[Any, ...]) -> Tensor:
    """Eager's result. float32 models are computed in float64, because eager's float32 sums of long axes are rounded."""
    with torch.no_grad():
        eager = model(*inputs)
        if eager.dtype == torch.float16:
            return eager
        exact = model.double()(*(each.double() if each.is_floating_point() else each for each in inputs))
        model.float()
    return exact.to(eager.dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_the_file_computes_them_in_parts(name: str) -> None:
    model, inputs = _case(name)
    expected = _expected(model, inputs)
    lowered = lower(model, inputs, BOTH)
    assert lowered.payloads and not lowered.left()
    assert_close(lowered.run(*inputs), expected, 1e-3 if expected.dtype == torch.float16 else 1e-5)
    assert _reads(lowered) <= MOST_READ


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(CASES.keys() - SLOW_IN_THE_LAYER))
def test_the_numbers_on_lavapipe(name: str) -> None:
    """VGF-08"""
    model, inputs = _case(name)
    expected = _expected(model, inputs)
    lowered = lower(model, inputs, partitioner=VgfPartitioner(VgfCompileSpec(BOTH)))
    assert lowered.payloads and not lowered.left()
    assert_close(lowered.run_by_the_runtime(*inputs), expected, 1e-3 if expected.dtype == torch.float16 else 1e-5)


@pytest.mark.parametrize("spec", [FP, INT], ids=str)
def test_positions_with_one_of_the_profiles(spec: str) -> None:
    """Without integers, positions are computed in float32."""
    x = _ties()
    if spec == FP:
        lowered = lower(Call(_at_extremes), (x,), spec)
        assert not lowered.left() and torch.equal(lowered.run(x)[0], _at_extremes(x))
        return
    converted = quantized(Call(lambda x: torch.gather(x + x, 1, x.argmax(1, keepdim=True))), (x,), _INT8, INT)
    lowered = lower(converted, (x,), INT)
    assert _reads(lowered) <= MOST_READ
    assert torch.equal(lowered.run(x)[0], converted(x))


_INT8 = get_symmetric_quantization_config()
INTEGERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "linear": (nn.Linear(40000, 3), ((2, 40000),)),
    "convolution": (nn.Conv2d(4096, 3, 3), ((1, 4096, 3, 3),)),
    "product of matrices": (torch.mm, ((2, 40000), (40000, 3))),
    "largest": (lambda x: (x * x).amax(1), ((2, 40000),)),
    "max pool": (lambda x: F.max_pool2d(x * x, 190, 3), ((1, 2, 193, 190),)),
    "average of an image": (lambda x: F.avg_pool2d(x, 190), ((1, 2, 190, 190),)),
    "adaptive average of an image": (lambda x: F.adaptive_avg_pool2d(x, 1), ((1, 2, 190, 190),)),
    "mean": (lambda x: x.mean(1), ((2, 40000),)),
    "sum": (lambda x: x.sum(1), ((2, 40000),)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    """VGF-05: the sums of the parts are exact and add up to the whole sum."""
    torch.manual_seed(0)
    function, shapes = INTEGERS[name]
    inputs = tuple(torch.randn(shape) for shape in shapes)
    model = function if isinstance(function, nn.Module) else Call(function)
    converted = quantized(model, inputs, _INT8, INT)
    lowered = lower(converted, inputs, INT)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    assert _reads(lowered) <= MOST_READ
    assert steps(lowered, converted, inputs) <= 1


def test_what_integers_do_not_express_is_refused_with_the_reason() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 40000), torch.randn(40000, 3))
    converted = quantized(Call(torch.mm), inputs, get_symmetric_a16w8_quantization_config(), INT16)
    left = lower(converted, inputs, INT16).left().values()
    assert any("reads more than 32768 elements, and TOSA 1.0 does not add int48" in text for text in left), left
    image = (torch.randn(1, 1, 200, 200),)
    converted = quantized(Call(lambda x: F.avg_pool2d(x, 190, 5)), image, _INT8, INT)
    assert any("its windows have 36100 integers" in text for text in lower(converted, image, INT).left().values())
    large = (torch.randn(1, 2, 200, 200),)
    left = lower(nn.Conv2d(2, 2, 190, groups=2), large, BOTH).left()
    assert any("its kernel has 36100 elements; up to 32768 are lowered" in text for text in left.values())


def test_spans_cover_a_size_evenly() -> None:
    for size, most in ((1, 5), (5, 5), (6, 5), (70001, 32768), (11, 4)):
        found = spans(size, most)
        assert len(found) == -(-size // most)
        assert [number for start, count in found for number in range(start, start + count)] == list(range(size))
        assert np.ptp([count for _, count in found]) <= 1
