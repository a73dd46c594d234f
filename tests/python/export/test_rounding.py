# SPDX-License-Identifier: BSD-3-Clause
"""Small outputs are verified relative to their own size; only measured rounding is excused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.devtools.report.export_result import Comparison
from sdk.export.cli.lowering import eager
from sdk.export.cli.references import CALLS
from sdk.export.cli.rounding import rounding
from sdk.export.cli.verify import compare
from sdk.export.example_inputs import ExampleInputs

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64)
SMALL = {torch.float16: 2e-5}  # numbers of float16 below 6e-5 have fewer bits


class Small(torch.nn.Module):
    """A model whose output has magnitude `size` and is not a rounding error."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.size


class Sum(torch.nn.Module):
    """A model whose results are only rounding errors: probabilities sum to 1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1).sum(-1) - 1


class Mean(torch.nn.Module):
    """A model whose results are only rounding errors of parameters: it has no float inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 1000, generator=torch.Generator().manual_seed(0)))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        row = self.weight[tokens]
        return (row - row.mean(-1, keepdim=True)).mean(-1)


class Answers:
    """A program that gives prepared outputs."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers = list(answers)

    def run(self, method: str, inputs: ExampleInputs) -> Sequence[Any]:
        return [self.answers.pop(0)]


def compared(
    module: torch.nn.Module,
    x: torch.Tensor,
    other: Callable[[torch.Tensor], torch.Tensor],
    tolerance: float | None = None,
) -> Comparison:
    """Verifies a program whose outputs are `other` of the right ones."""
    calls = [ExampleInputs((x,))] * CALLS
    answers = eager(module, calls)
    program: Any = Answers([other(answer) for answer in answers])
    return compare("", "forward", calls, answers, program, tolerance, lambda: rounding(module, calls, answers))


def is_right(comparison: Comparison) -> bool:
    return comparison.worst is not None and comparison.worst.within


def numbers(dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(4, 1000, generator=torch.Generator().manual_seed(1), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tolerance", [None, 0.05])
@pytest.mark.parametrize(
    "wrong", [torch.zeros_like, torch.neg, lambda answer: answer * 2, lambda answer: answer.flip(-1)]
)
def test_a_small_output_with_another_value_is_wrong(
    dtype: torch.dtype, tolerance: float | None, wrong: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Outputs of about 1e-8, whose difference from zeros is far below the tolerance of a number near 1."""
    model = Small(SMALL.get(dtype, 1e-8))
    assert not is_right(compared(model, numbers(dtype), wrong, tolerance))
    assert is_right(compared(model, numbers(dtype), torch.clone, tolerance))


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-8, 1e-12, 1e-20, 1e-30])
def test_the_tolerance_is_a_share_of_the_output_at_every_size(size: float) -> None:
    for share, right in ((1e-5, True), (1e-3, False)):
        found = compared(Small(size), numbers(torch.float32), lambda answer, s=share: answer * (1 + s))
        assert is_right(found) is right, share


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_alone_may_differ(dtype: torch.dtype) -> None:
    """If the outputs are only rounding errors, other rounding errors are accepted, and larger differences are not."""
    eps = torch.finfo(dtype).eps
    assert is_right(compared(Sum(), numbers(dtype), lambda answer: answer.roll(1) + eps / 2))
    assert not is_right(compared(Sum(), numbers(dtype), lambda answer: answer + 0.01))


def test_rounding_of_parameters_may_differ() -> None:
    tokens = torch.tensor([0, 3, 1])
    assert is_right(compared(Mean(), tokens, lambda answer: answer.roll(1)))
    assert not is_right(compared(Mean(), tokens, lambda answer: answer + 1e-4))


def test_zeros_are_not_numbers() -> None:
    """If the correct output is 0 in every run, a program that gives something else is wrong."""
    assert is_right(compared(Small(0.0), numbers(torch.float32), torch.clone))
    assert not is_right(compared(Small(0.0), numbers(torch.float32), lambda answer: answer + 1e-9))


def test_numbers_that_a_processor_may_flush_to_zero_are_not_compared() -> None:
    assert is_right(compared(Small(1e-41), numbers(torch.float32), torch.zeros_like))


def test_rounding_is_measured_only_where_it_matters() -> None:
    calls = [ExampleInputs((torch.ones(2),))]
    program: Any = Answers([torch.ones(2)])

    def never() -> list[list[float]]:
        raise AssertionError("measured")

    compare("", "forward", calls, [torch.ones(2)], program, None, never)
    program = Answers([torch.zeros(2)])
    assert not is_right(compare("", "forward", calls, [torch.ones(2)], program, None, never))


MODELS = """
import torch


class Number(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n = self.n + 1
        return x * 1e-3 * 1e-3 * self.n * 1e-3


class Small(torch.nn.Module):
    def forward(self, x):
        return x * 1e-3 * 1e-3 * 1e-3
"""


@pytest.mark.parametrize("options", [(), ("--dtype", "float16"), ("--backend", "portable")])
def test_the_command_refuses_small_outputs_that_are_wrong(
    models: Path, export: Callable[..., Any], options: Sequence[str]
) -> None:
    """The first call is right, and later calls are wrong by 1e-9. float16 has no numbers below 6e-8."""
    models.write_text(MODELS)
    answer = export(f"{models.name}:Number", "--input", "1x8:float32", *options)
    assert answer.status == 1 and "differs from PyTorch's" in " ".join(answer.err.split())
    answer = export(f"{models.name}:Small", "--input", "1x8:float32", *options)
    assert answer.status == ("float16" in options)
    assert not answer.status or "export it with --dtype float32" in " ".join(answer.err.split())


class Chain(torch.nn.Module):
    """A chain of three multiplications by parameters. In bfloat16, the rounding of each is large beside the output."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        for name in ("a", "b", "c"):
            setattr(self, name, torch.nn.Parameter(0.03 * torch.rand(8, generator=generator)))
        self.bfloat16()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.a * self.b * self.c


@pytest.mark.parametrize("wrong", [torch.zeros_like, lambda answer: answer * 2])
def test_several_roundings_of_bfloat16_excuse_no_wrong_output(wrong: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert not is_right(compared(Chain(), torch.rand(4, 8).bfloat16(), wrong))


class Counted(torch.nn.Module):
    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Counted.calls += 1
        return x * (1e-9 * Counted.calls)


class Drawn(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1e-9 * torch.rand_like(x)


@pytest.mark.parametrize("model", [Counted, Drawn])
def test_what_differs_in_every_run_is_not_rounding(model: type[torch.nn.Module]) -> None:
    assert not is_right(compared(model(), torch.rand(4, 8) + 1, lambda answer: answer * 0.5))


class There(torch.nn.Module):
    """A model whose results are only rounding errors of complex numbers."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return torch.fft.ifft(torch.fft.fft(z)) - z


def test_complex_inputs_have_other_last_bits_too() -> None:
    # Scaled: the rounding errors of some processors' transforms are 5e-7 of numbers near 1, and differences above
    # 1e-6 are never excused.
    z = torch.complex(torch.randn(4, 100), torch.randn(4, 100)) / 8
    assert is_right(compared(There(), z, lambda answer: answer * -1))


class Wide(torch.nn.Module):
    """A model whose results are only rounding errors, with a buffer that cannot be written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("wide", torch.tensor([[0.1]]).expand(4, 100))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.wide).sum(-1) - (x.flip(-1) * self.wide).sum(-1)


def test_a_buffer_that_is_expanded_is_changed() -> None:
    x = torch.randn(4, 100)
    assert is_right(compared(Wide(), x, lambda answer: answer + 1e-7))
