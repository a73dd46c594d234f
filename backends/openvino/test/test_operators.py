# SPDX-License-Identifier: BSD-3-Clause
"""Each operator of the table against eager, with the calls of the conformance suite, alone in its delegate."""

from __future__ import annotations

import operator
import re
from typing import Any

import pytest
import torch
from openvino_lowering import assert_close, lower
from torch import Tensor, nn

from backends import conformance
from backends.cases import OPERATORS as CASES
from backends.targets import Target
from sdk.backends import registry
from sdk.backends.openvino import support
from sdk.backends.openvino.operators import OPERATORS, OpenvinoOperator

NOT_A_NUMBER = {
    *("relu", "exp", "expm1", "hardtanh", "clamp", "amax", "amin", "logit"),
    *("_softmax", "_log_softmax"),
}
"""Operators in which OpenVINO loses NaN (docs/backends-openvino.md). Elsewhere it keeps it."""


@pytest.fixture(autouse=True)
def everything_is_worth_a_delegate(monkeypatch: Any) -> None:
    """Delegates operators that only move elements, too. By default, they would stay on kernels in these programs."""
    monkeypatch.setattr(support, "computes", lambda node: node.target is not operator.getitem)
    monkeypatch.setattr(conformance, "THREADS", (2,))  # OpenVINO does not use the thread pool, so one setting suffices


def _name_in_table(case: str) -> str:
    """The name of the edge operator, `aten.view_copy.default` for `view.default`."""
    packet, _, overload = case.partition(".")
    for name in (f"aten.{case}", f"aten.{packet}_copy.{overload}"):
        if name in OPERATORS:
            return name
    return ""


DECLARED = sorted(case for case in CASES if _name_in_table(case))


@pytest.mark.sampled
@pytest.mark.parametrize("case", DECLARED)
def test_operator(case: str, monkeypatch: Any) -> None:
    """BKO-05: results equal eager's, delegated or not, and each operator that stays outside has a reason."""
    if case.partition(".")[0] in NOT_A_NUMBER:
        compare = conformance.compare

        def without_nan(found: list[Tensor], expected: list[Tensor], *rest: Any) -> str | None:
            pairs = zip(found, expected, strict=True)
            same = [
                torch.where(eager.isnan(), eager, ours) if ours.shape == eager.shape else ours for ours, eager in pairs
            ]
            return compare(same, expected, *rest)

        monkeypatch.setattr(conformance, "compare", without_nan)
    cell = conformance.examine_operator(case, Target("openvino", registry.backend("openvino")))
    assert cell.outcome is not conformance.Outcome.FAILED, cell.reasons[0]
    assert conformance.NO_REASON not in cell.reasons
    if cell.outcome is conformance.Outcome.REFUSED:
        assert _name_in_table(case) in REFUSED_CALLS, cell.reasons


REFUSED_CALLS = {
    f"aten.{name}.default": "the suite reads all results; the calls in MORE read only the first"
    for name in (
        *("native_layer_norm", "native_group_norm", "_native_batch_norm_legit_no_training"),
        *("max_pool2d_with_indices", "max_pool3d_with_indices"),
    )
}

_aten = torch.ops.aten
IMAGE, ROWS = (2, 8, 9, 11), (3, 5, 16)
MORE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "aten.native_layer_norm.default": (
        lambda x, w, b: _aten.native_layer_norm(x, [16], w, b, 1e-5)[0],
        (ROWS, (16,), (16,)),
    ),
    "aten.native_group_norm.default": (
        lambda x, w, b: _aten.native_group_norm(x, w, b, 2, 8, 99, 4, 1e-5)[0],
        (IMAGE, (8,), (8,)),
    ),
    "aten._native_batch_norm_legit_no_training.default": (
        lambda x, w, b: torch.nn.functional.batch_norm(x, torch.zeros(8), torch.full((8,), 2.0), w, b),
        (IMAGE, (8,), (8,)),
    ),
    "aten.max_pool2d_with_indices.default": (lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1), (IMAGE,)),
    "aten.max_pool3d_with_indices.default": (lambda x: torch.nn.functional.max_pool3d(x, 2), ((1, 2, 4, 6, 8),)),
    "aten.rms_norm.default": (lambda x, w: torch.nn.functional.rms_norm(x, (16,), w, 1e-5), (ROWS, (16,))),
    "aten.scaled_dot_product_attention.default": (
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        ((2, 3, 7, 8), (2, 3, 9, 8), (2, 3, 9, 8)),
    ),
    "aten.silu.default": (torch.nn.functional.silu, (ROWS,)),
    "aten.mish.default": (torch.nn.functional.mish, (ROWS,)),
    "aten.hardswish.default": (torch.nn.functional.hardswish, (ROWS,)),
    "aten.hardsigmoid.default": (torch.nn.functional.hardsigmoid, (ROWS,)),
    "aten.softplus.default": (torch.nn.functional.softplus, (ROWS,)),
    "aten.pixel_shuffle.default": (lambda x: torch.nn.functional.pixel_shuffle(x, 2), (IMAGE,)),
    "aten.upsample_bilinear2d.vec": (
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
        (IMAGE,),
    ),
    "aten.upsample_nearest2d.vec": (lambda x: torch.nn.functional.interpolate(x, scale_factor=2), (IMAGE,)),
    "aten.upsample_bicubic2d.vec": (
        lambda x: torch.nn.functional.interpolate(x, size=(13, 17), mode="bicubic"),
        (IMAGE,),
    ),
    "aten.stack.default": (lambda a, b: torch.stack([a, b], 1), (ROWS, ROWS)),
    "aten.roll.default": (lambda x: torch.roll(x, (1, -2), (0, 1)), (ROWS,)),
    "aten.tril.default": (torch.tril, ((9, 9),)),
    "aten.triu.default": (lambda x: torch.triu(x, 1), ((9, 9),)),
    "dim_order_ops._clone_dim_order.default": (torch.clone, (ROWS,)),
    "dim_order_ops._to_dim_order_copy.default": (lambda x: (x * 3).to(torch.int64).to(torch.float32) * x, (ROWS,)),
    "aten.masked_fill.Scalar": (lambda x: x.masked_fill(x < 0, -1.0), (ROWS,)),
}
"""Calls of operators that the suite does not have, or whose results in the suite include one that OpenVINO lacks."""


class _Call(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


@pytest.mark.sampled
@pytest.mark.parametrize("name", MORE)
def test_more_operators(name: str) -> None:
    """BKO-05"""
    torch.manual_seed(0)
    function, shapes = MORE[name]
    inputs = tuple(torch.randn(shape) for shape in shapes)
    lowered = lower(_Call(function), inputs)
    assert len(lowered.delegates) == 1, lowered.left()
    assert all(re.search("getitem", target) for target in lowered.left()), lowered.left()
    assert_close(lowered.run(*inputs), function(*inputs), 2e-5)


def test_every_operator_of_the_table_is_tested() -> None:
    """Operators that quantise are tested with the quantizer, in test_quantizer.py."""
    tested = {_name_in_table(case) for case in DECLARED} | set(MORE)
    assert len(tested) >= 100
    assert {name for name in set(OPERATORS) - tested if "quantized_decomposed" not in name} == set()


def test_a_rounding_to_fewer_digits_is_kept() -> None:
    """OpenVINO removes conversions float32 -> float16 -> float32, so kernels compute them, which rounds."""
    x = torch.randn(ROWS)
    lowered = lower(_Call(lambda x: (x * 3).half().float() * 2), (x,))
    assert_close(lowered.run(x), (x * 3).half().float() * 2, 1e-6)
    assert any("rounds float32 to float16" in reason for reason in lowered.left().values())


@pytest.mark.parametrize("dynamic", [False, True])
def test_values_that_were_put_are_read_at_indices(dynamic: bool) -> None:
    """OpenVINO's frontend loses the rank of index_put's result, which it needs to convert an index of it."""

    def put_and_read(x: Tensor, row: Tensor) -> Tensor:
        filled = x.index_put((torch.tensor([1, 2]),), row) * 1.5
        return filled[:, torch.tensor([2, 0, 2])] + 1

    columns = torch.export.Dim("columns", min=3, max=9)
    shapes = (({1: columns}, {1: columns}),) if dynamic else None
    model = _Call(put_and_read)
    lowered = lower(model, (torch.randn(4, 7), torch.randn(2, 7)), shapes)
    assert lowered.left() == {}
    for width in (7, 9, 3) if dynamic else (7,):
        inputs = torch.randn(4, width), torch.randn(2, width)
        assert_close(lowered.run(*inputs), model(*inputs))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(1, 7), (7, 1), (1, 1), (2, 2)])
def test_resizing_to_one_pixel(mode: str, size: tuple[int, int]) -> None:
    """PyTorch samples the middle of a dimension, OpenVINO its first pixel: kernels compute such calls."""
    model = _Call(lambda x: torch.nn.functional.interpolate(x * 2, size, mode=mode))
    inputs = (torch.randn(2, 3, 8, 9),)
    lowered = lower(model, inputs)
    assert (lowered.left() == {}) == (1 not in size)
    assert_close(lowered.run(*inputs), model(*inputs))


@pytest.mark.parametrize(
    "function",
    [
        torch.amax,
        torch.amin,
        lambda x: torch.mean(x, dim=None),
        lambda x: torch.mean(x, dim=[]),
        lambda x: torch.mean(x, dim=[], keepdim=True),
        lambda x: torch.sum(x, dim=None),
        lambda x: torch.var(x, dim=None, correction=0),
        lambda x: torch.var(x, dim=[], keepdim=True),
    ],
)
def test_reductions_over_all_dimensions(function: Any) -> None:
    x = torch.randn(ROWS)
    lowered = lower(_Call(lambda x: function(x * 2) + 1), (x,))
    assert len(lowered.delegates) == 1 and lowered.left() == {}
    assert_close(lowered.run(x), function(x * 2) + 1)


def test_a_call_that_the_frontend_cannot_convert_runs_on_kernels(monkeypatch: Any) -> None:
    """OpenVINO still computes the operators around the call, and the reason is the frontend's error."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        return torch.lgamma(torch.exp(x)) * y

    monkeypatch.setitem(OPERATORS, "aten.lgamma.default", OpenvinoOperator(lambda node, program: None))
    inputs = torch.randn(ROWS), torch.rand(ROWS) + 1
    lowered = lower(_Call(function), inputs)
    ((target, reason),) = lowered.left().items()
    assert "aten.lgamma.default" in target and "OpenVINO cannot convert" in reason
    assert len(lowered.delegates) == 2
    assert_close(lowered.run(*inputs), function(*inputs))


@pytest.mark.parametrize(
    "operator_", [torch.ops.aten.add.Scalar, torch.ops.aten.sub.Scalar, torch.ops.aten.rsub.Scalar]
)
def test_sums_with_a_number_and_a_factor(operator_: Any) -> None:
    class Sum(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = operator_(x, 2.0, 3)
            return found

    x = torch.linspace(-1, 1, 8)
    program = lower(Sum(), (x,))
    assert program.left() == {}
    assert_close(program.run(x), Sum()(x))
