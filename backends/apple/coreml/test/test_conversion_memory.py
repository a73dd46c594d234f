# SPDX-License-Identifier: BSD-3-Clause
"""The memory of a conversion stays small, and the savings do not change results."""

from __future__ import annotations

import gc
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from coremltools.converters.mil.mil import Operation
from coremltools.converters.mil.mil.passes.defs.quantization import FP16ComputePrecision
from lowering import FP16, difference, lower

from sdk.backends.apple.coreml.compiler import conversion
from sdk.backends.apple.coreml.compiler.memory import checked_in_parts, give_back, overflows


def _far(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Zeros except the last element, which float16 cannot represent."""
    found = np.zeros(shape, np.float32)
    found.reshape(-1)[-1] = -70000
    return found


CONSTANTS = {
    "largest": (np.float32([-65504.0, 65504.0]), False),
    "next": (np.nextafter(np.float32([1, 65504.0]), np.float32(np.inf)), True),
    "infinite": (np.float32([np.inf, -np.inf, np.nan, 2e38, 3]), False),
    "nearly infinite": (np.float32([np.nan, -9e37]), True),
    "scalar": (np.float32(1e5), True),
    "none": (np.zeros((0, 3), np.float32), False),
    "one part": (_far((1 << 16,)), True),
    "last part": (_far((3, 1 << 16, 2, 1)), True),
    "one more": (_far(((1 << 16) + 1,)), True),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_that_float16_does_not_have(name: str) -> None:
    """The result equals that of coremltools' search, also for constants in a list."""
    values, expected = CONSTANTS[name]
    assert overflows(values) is expected

    def operand(content: Any) -> Any:
        const = SimpleNamespace(op_type="const", val=SimpleNamespace(val=content))
        return SimpleNamespace(op=const, is_tensor_or_scalar_of=lambda dtype: dtype == "fp32")

    argument = SimpleNamespace(op=None)
    op = SimpleNamespace(inputs={"x": argument, "y": [operand(np.float32([1.0])), operand(values)]})
    theirs = FP16ComputePrecision.fp16_overflow
    with checked_in_parts():
        assert FP16ComputePrecision.fp16_overflow is not theirs
        assert FP16ComputePrecision.fp16_overflow(op) is expected  # type: ignore[arg-type]
    assert FP16ComputePrecision.fp16_overflow is theirs
    assert theirs(op) == expected  # type: ignore[arg-type]


def test_the_search_needs_little_memory() -> None:
    values = np.ones((64, 64, 16, 16), np.float32)  # 4 MiB
    tracemalloc.start()
    try:
        assert not overflows(values)
        assert tracemalloc.get_traced_memory()[1] < values.nbytes // 4
    finally:
        tracemalloc.stop()


class _Large(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return (x * 1e5).tanh() + x


def test_such_an_operation_stays_in_float32() -> None:
    x = torch.randn(4, 5) / 1e5
    lowered = lower(_Large(), (x,), FP16)
    assert not lowered.outside
    assert difference(lowered.run(x), _Large()(x)) <= 5e-3


def test_no_operation_of_coremltools_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No object of coremltools is left when the package is read. The garbage collector does not list objects from
    before the conversion, because they are frozen."""
    left: list[int] = []

    def counted() -> None:
        give_back()
        left.append(sum(issubclass(type(each), Operation) for each in gc.get_objects()))

    monkeypatch.setattr(conversion, "give_back", counted)
    frozen = gc.get_freeze_count()
    lower(torch.nn.Linear(4, 3), (torch.randn(2, 4),), FP16)
    assert left == [0]
    assert gc.get_freeze_count() == frozen
