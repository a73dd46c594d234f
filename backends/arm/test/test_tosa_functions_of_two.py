# SPDX-License-Identifier: BSD-3-Clause
"""Functions of two int16 operands, and comparisons with constants, with scales that represent the operands exactly."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from arm_lowering import INT, Call, lower
from test_tosa_integers import INT16, steps, uses_floats
from torch import Tensor

from sdk.backends.arm.tosa.integer import elementwise


def _stored(x: Tensor, scale: float) -> Tensor:
    operators, limits = torch.ops.quantized_decomposed, (scale, 0, -32767, 32767, torch.int16)
    return operators.dequantize_per_tensor.default(operators.quantize_per_tensor.default(x, *limits), *limits)


_NUMBERS = torch.tensor([0, 1, 2, 3, 0.5, 1.5, 3.75, 2.0**-13, 3.9998779296875])
OF_TWO: dict[str, tuple[Any, float, float, int]] = {
    "down": (lambda x, y: torch.div(x, y, rounding_mode="floor"), 2.0**-13, 2.0**-11, 0),
    "to zero": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), 2.0**-13, 2.0**-11, 0),
    "floor division by smaller numbers": (torch.floor_divide, 2.0**-15, 2.0**-9, 0),
    "floor division by larger numbers": (torch.floor_divide, 2.0**-10, 2.0**-9, 0),
    "remainder": (torch.remainder, 2.0**-13, 2.0**-13, 0),
    "remainder of a larger number": (torch.remainder, 2.0**-15, 2.0**-15, 0),
    "remainder of a smaller number": (torch.remainder, 2.0**-11, 2.0**-13, 0),
    "remainder with the sign of the dividend": (torch.fmod, 2.0**-13, 2.0**-13, 0),
    "power": (torch.pow, 2.0**-13, 2.0**-8, 1),
    "small power": (torch.pow, 2.0**-14, 2.0**-15, 1),
    "angle": (torch.atan2, 2.0**-13, 2.0**-13, 1),
    "angle of operands of other scales": (torch.atan2, 2.0**-6, 2.0**-13, 1),
}
"""A function, the scales of its second operand and of its result, and by how many steps of 65,536 it may differ."""


@pytest.mark.parametrize("name", elementwise.COMPARISONS)
def test_comparisons_with_numbers(name: str) -> None:
    """Comparisons equal PyTorch's. The constants are values that the operand can have, and values close to these,
    between them and beyond them."""
    x = torch.arange(-127.0, 128.0) * 3
    compare = getattr(torch, name)
    numbers = (0.0, 6.0, -1e-6, 1e-6, 6.000001, 7.5, 1e9, -1e9, torch.inf, -torch.inf)
    operators, limits = torch.ops.quantized_decomposed, (3.0, 0, -128, 127, torch.int8)

    def model(x: Tensor) -> tuple[Tensor, ...]:
        stored = operators.dequantize_per_tensor.default(operators.quantize_per_tensor.default(x, *limits), *limits)
        return tuple(compare(stored, number) for number in numbers)

    lowered = lower(Call(model), (x,), INT)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    for found, number in zip(lowered.run(x), numbers, strict=True):
        assert torch.equal(found, compare(x, number)), number


@pytest.mark.sampled
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_of_sixteen_bits(name: str) -> None:
    """VGF-04: results of all pairs, with signs, zeros and integer quotients, which int16 has exactly. NaN becomes 0."""
    function, scale, of_result, most = OF_TWO[name]
    numbers = torch.cat([_NUMBERS, -_NUMBERS])
    inputs = tuple(each.contiguous() for each in torch.meshgrid(numbers, numbers, indexing="ij"))
    model = Call(lambda x, y: _stored(function(_stored(x, 2.0**-13), _stored(y, scale)), of_result))
    lowered = lower(model, inputs, INT16)
    assert len(lowered.payloads) == 1 and not uses_floats(lowered), lowered.left()
    expected = function(_stored(inputs[0], 2.0**-13), _stored(inputs[1], scale)).nan_to_num(0.0, torch.inf, -torch.inf)
    steps(lowered, model, inputs)
    (found,) = lowered.run(*inputs)
    assert (found - _stored(expected, of_result)).abs().max() <= most * of_result
