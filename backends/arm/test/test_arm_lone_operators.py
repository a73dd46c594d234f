# SPDX-License-Identifier: BSD-3-Clause
"""A global configuration quantises operators that are alone in a model, and those that need others to be computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import FP, INT, Call, assert_close, lower
from lone_operators import ALONE, DEVIATIONS, INT16, ROWS, floats_of, summaries
from test_tosa_integers import quantized, steps, uses_floats
from torch import Tensor
from torch.nn import functional as F

from sdk.backends.arm.quantizer import (
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)

CONFIGURATIONS = {INT: get_symmetric_quantization_config, INT16: get_symmetric_a16w8_quantization_config}

POSITIONS: dict[str, Any] = {
    "largest": lambda x, y: torch.gather(y, 2, x.argmax(-1, keepdim=True)),
    "smallest": lambda x, y: torch.gather(y, 2, x.argmin(-1, keepdim=True)),
    "largest and where": lambda x, y: _at_extreme(y, *x.max(-1, keepdim=True)),
    "smallest and where": lambda x, y: _at_extreme(y, *x.min(-1, keepdim=True)),
}
"""Models that use the index of an extreme. PyTorch's indices are int64, which TOSA does not have."""


def _at_extreme(y: Tensor, values: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return values, torch.gather(y, 2, positions)


def _check(function: Any, shapes: tuple[Any, ...], most: int, spec: str) -> None:
    torch.manual_seed(0)
    inputs = tuple(torch.randn(shape) for shape in shapes)
    converted = quantized(Call(function), inputs, CONFIGURATIONS[spec](), spec)
    assert floats_of(converted) == []
    lowered = lower(converted, inputs, spec)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    assert steps(lowered, converted, inputs) <= most


@pytest.mark.sampled
@pytest.mark.parametrize("name", ALONE)
def test_operators_alone(name: str) -> None:
    """VGF-04, VGF-05: no operator stays in floats."""
    _check(*ALONE[name], 1, INT)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ALONE)
def test_operators_alone_of_sixteen_bits(name: str) -> None:
    """VGF-04: also with int16 activations; a step is 1/256 of int8's."""
    _check(*ALONE[name], 8, INT16)


@pytest.mark.sampled
@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations(name: str) -> None:
    """VGF-05: of several quantised results, each may be a step away."""
    _check(*DEVIATIONS[name], 3, INT)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", POSITIONS)
def test_positions(name: str, wide: bool) -> None:
    """VGF-05: indices equal those of the quantised model, also for two values that are one step apart."""
    torch.manual_seed(0)
    x, y = torch.randn(ROWS), torch.randn(ROWS)
    x.view(-1)[:2] = torch.tensor([-4.95, -5.0])
    spec = INT16 if wide else INT
    converted = quantized(Call(POSITIONS[name]), (x, y), CONFIGURATIONS[spec](), spec)
    lowered = lower(converted, (x, y), spec)
    assert len(lowered.payloads) == 1 and lowered.operators["ARGMAX"] == 1, lowered.left()
    assert_close(lowered.run(x, y), converted(x, y), 0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_positions_that_leave_the_delegate(dtype: torch.dtype) -> None:
    """VGF-05: a conversion of int64 positions is in the delegate, where they are int32."""
    model, inputs = Call(lambda x: x.argmax(-1).to(dtype)), (torch.randn(ROWS),)
    lowered = lower(model, inputs, FP)
    assert len(lowered.payloads) == 1 and lowered.left() == {}
    assert torch.equal(lowered.run(*inputs)[0], model(*inputs))
    if dtype == torch.int32:
        converted = quantized(model, inputs, get_symmetric_quantization_config(), INT)
        lowered = lower(converted, inputs, INT)
        assert len(lowered.payloads) == 1 and lowered.operators["ARGMAX"] == 1, lowered.left()
        assert torch.equal(lowered.run(*inputs)[0], converted(*inputs))


def test_floats_beyond_int32_become_int64_outside() -> None:
    """VGF-05: inside of a delegate the results would be limited to int32."""
    model, inputs = Call(lambda x: (x * 2).to(torch.int64).to(torch.float32)), (torch.tensor([3e9, -3e9, 1.5]),)
    lowered = lower(model, inputs, FP)
    assert any("it converts floats to int64" in reason for reason in lowered.left().values())
    assert torch.equal(lowered.run(*inputs)[0], model(*inputs))


@pytest.mark.slow
@pytest.mark.oracle
def test_inputs_are_quantised_as_the_original_does_it(tmp_path: Path, in_original: Callable[..., str]) -> None:
    """VGF-04: the same scales and zero points, and nothing in floats. Passes of the original fail for some models."""
    in_original(str(Path(__file__).with_name("lone_operators.py")), str(tmp_path / "original.json"))
    theirs = json.loads((tmp_path / "original.json").read_text())
    ours = summaries(lambda spec: TOSAQuantizer(spec).set_global(CONFIGURATIONS[spec]()))
    for spec, models in ours.items():
        for name, found in models.items():
            assert not found.get("error") and found["floats"] == [], (spec, name)
            if "error" not in theirs[spec][name]:
                assert found["inputs"] == theirs[spec][name]["inputs"], (spec, name)


def test_long_lists_are_concatenated_in_parts() -> None:
    """VGF-05: level 8K allows 64 operands."""
    inputs = tuple(torch.randn(1, 2) for _ in range(100))
    model = Call(lambda *tensors: torch.cat(tensors))
    lowered = lower(model, inputs, FP)
    assert lowered.left() == {} and lowered.operators["CONCAT"] == 3
    assert torch.equal(lowered.run(*inputs)[0], model(*inputs))


def test_windows_above_the_level_stay_outside() -> None:
    """VGF-05: level 8K allows kernels of 8192."""
    model, inputs = Call(lambda x: F.adaptive_avg_pool2d(x, (1, 2))), (torch.randn(1, 2, 1, 16386),)
    lowered = lower(quantized(model, inputs, get_symmetric_quantization_config(), INT), inputs, INT)
    assert "AVG_POOL2D" not in lowered.operators


def test_sums_of_int64_stay_outside() -> None:
    """VGF-05: 2e9 + 2e9 is beyond int32."""

    def add(x: Tensor, y: Tensor) -> Tensor:
        at = (torch.tensor([0]),)
        return torch.index_put(x.to(torch.int64), at, y.to(torch.int64), accumulate=True).to(torch.float32)

    inputs = (torch.full((2,), 2_000_000_000, dtype=torch.int32), torch.tensor([2_000_000_000], dtype=torch.int32))
    lowered = lower(Call(add), inputs, FP)
    assert torch.equal(lowered.run(*inputs)[0], torch.tensor([4e9, 2e9]))
