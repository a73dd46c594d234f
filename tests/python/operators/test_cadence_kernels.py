# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of cadence, compared with the reference implementations over random calls: integers exactly, floats to
1e-5."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cadence_calls import CALLS, overload
from cadence_random import Random
from recorder import FUNCTIONS_YAML
from single_operator import OutputSpec, run

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.operators.registry import OPERATORS
from sdk.backends.cadence.aot.ref_implementations import get_registered_ref_implementations

ops = torch.ops.cadence
_FUNCTIONS = FUNCTIONS_YAML.parents[1] / "cadence" / "functions.yaml"
_TIES = {"quantized_softmax", "quantized_layer_norm"}
"""Operators that round exponentials or roots: the last bit of a float may decide a tie."""
_SHAPES_ONLY = {"linalg_svd"}
"""Operators with several right results."""


def _same(found: torch.Tensor, expected: torch.Tensor, name: str, args: Any) -> None:
    if expected.dtype.is_floating_point:
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    elif name.partition(".")[0] in _TIES:
        difference = (found.int() - expected.int()).abs()
        assert difference.max() <= 1 and (difference > 0).sum() * 100 <= max(100, difference.numel()), args
    else:
        assert torch.equal(found, expected), args


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(CALLS.keys() - _SHAPES_ONLY))
def test_kernels_give_what_the_references_give(name: str, seed: int) -> None:
    """CAD-02: every operator of the library for CPUs."""
    operator = overload(name, True)
    schema = overload(name, False)._schema.arguments
    names = [argument.name for argument in schema]
    defaults = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    for args in CALLS[name](Random(seed)):
        expected = overload(name, False)(*args)
        (found,) = run(operator, defaults | dict(zip(names, args, strict=False)), [OutputSpec.like(expected)])
        _same(found, expected, name, args)


def test_singular_values() -> None:
    for (a,) in CALLS["linalg_svd"](Random(0)):
        outputs = [OutputSpec.like(each) for each in ops.linalg_svd(a)]
        u, s, vh = run(
            ops.linalg_svd.out, {"A": a, "full_matrices": False, "compute_uv": True, "driver": None}, outputs
        )
        torch.testing.assert_close(u @ torch.diag(s) @ vh, a, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(s, torch.linalg.svdvals(a), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bounds", [(None, None, 1), (1, 4, 1), (-3, -1, 1), (0, 9, 2), (4, 2, 1)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_slices_are_written_in_place(dim: int, bounds: tuple[int | None, int | None, int]) -> None:
    base = torch.arange(30.0).reshape(5, 6)
    start, end, step = bounds
    source = -torch.ones_like(base)[(slice(start, end, step),) if dim == 0 else (slice(None), slice(start, end, step))]
    expected = torch.slice_scatter(base, source, dim, start, end, step)
    arguments = {"self": base.clone(), "src": source, "dim": dim, "start": start, "end": end, "step": step}
    assert torch.equal(ops.slice_scatter_(*[value.clone() if isinstance(value, torch.Tensor) else value
                                            for value in arguments.values()]), expected)  # fmt: skip
    (found,) = run(ops.slice_scatter_.default, arguments, [])
    assert torch.equal(found, expected)


def test_the_operators_are_those_of_the_kernels() -> None:
    """CAD-05. The schemas of functions.yaml, and a call of each in the tests."""
    lines = [
        line.removeprefix("- func: ") for line in _FUNCTIONS.read_text().splitlines() if line.startswith("- func:")
    ]
    schemas = {str(torch._C.parse_schema(line)) for line in lines}
    declared = {each for each in OPERATORS.values() if each.name != "roi_align_box_processor"}
    registered = set()
    for each in declared:
        base, _, overload = (each.out_name if each.outs else each.name).partition(".")
        registered.add(str(torch._C._get_schema(f"cadence::{base}", overload)))
    assert schemas == registered
    assert {each.name for each in declared} == set(CALLS) | {"slice_scatter_"}
    assert len(get_registered_ref_implementations()) >= 88
