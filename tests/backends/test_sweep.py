# SPDX-License-Identifier: BSD-3-Clause
"""Every operator of Core ATen, on the kernels and on every backend, on 1, 2, 3 and 8 threads.

The sizes are around those of the kernels' vectors, tiles and blocks, and around the grain sizes. Dynamic shapes run at
both ends of their range.

The gate runs a call and a dynamic shape of each operator, in one program for a family of operators; the slow tests run
all of them.
"""

from __future__ import annotations

import pytest

from backends.cases import OPERATORS
from backends.conformance import Cell, Outcome, examine_calls
from backends.sweep import FAMILIES, SWEEPS, Dynamic, Program, cases_of, programs_of, sample_of
from backends.targets import Target, targets

CALLS_IN_GATE = 1
"""The number of calls of each operator, in addition to one with a dynamic shape."""


def examine(program: Program, target: Target) -> Cell:
    return examine_calls(program.module, program.inputs, target, dynamic_shapes=program.dynamic_shapes)


def expect_right(programs: list[Program], target: Target) -> None:
    cells = [examine(program, target) for program in programs]
    failed = [f"{target.name}: {cell.reasons[0]}" for cell in cells if cell.outcome is Outcome.FAILED]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_sample(family: object) -> None:
    """One test for all targets, because creating the cases takes as long as running the sample."""
    names = [name for name, cases in SWEEPS.items() if cases.__module__ == family.__name__]  # type: ignore[attr-defined]
    cases = [(name, case) for name in names for case in sample_of(name, CALLS_IN_GATE)]
    programs = programs_of(cases)
    for target in targets():
        expect_right(programs, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
@pytest.mark.parametrize("name", SWEEPS)
def test_all(name: str, target: Target) -> None:
    expect_right(programs_of((name, case) for case in cases_of(name)), target)


def test_every_operator_has_a_sweep() -> None:
    assert set(SWEEPS) == set(OPERATORS)


FIXED = {
    "arange.start_step": "no input",
    "full.default": "no input",
    "scalar_tensor.default": "no input",
    "as_strided.default": "its sizes and strides are constants",
    **dict.fromkeys(
        (
            "_adaptive_avg_pool2d_backward.default",
            "avg_pool2d_backward.default",
            "convolution_backward.default",
            "embedding_dense_backward.default",
            "max_pool2d_with_indices_backward.default",
            "native_group_norm_backward.default",
            "native_layer_norm_backward.default",
        ),
        "programs of training have the sizes of a batch",
    ),
}
"""Operators without a dynamic shape, and why."""


@pytest.mark.slow
def test_other_operators_have_a_dynamic_shape() -> None:
    fixed = {name for name in SWEEPS if not any(isinstance(case, Dynamic) for case in cases_of(name))}
    assert fixed == set(FIXED)
