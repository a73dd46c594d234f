# SPDX-License-Identifier: BSD-3-Clause
"""Each operator of the table, lowered and run by the reference model, against eager: with the calls of the conformance
suite, and with further models for operators that the suite does not call, or calls only together with others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import BOTH, Call, assert_close, lower

from backends.cases import OPERATORS, Calls, calls_of, overload_of
from interop.operator_calls import Several
from sdk.backends.arm.tosa.lowering import LOWERINGS
from sdk.backends.graph.names import name_of
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.exir.lowered_backend_module import get_lowered_submodules

TOLERANCE = 1e-6
TOLERANCES = {"cumsum.default": 3e-6, "convolution.default": 3e-6}  # eager adds many numbers in another order


def _name_in_table(case: str) -> str:
    """The name of the edge operator, `aten.view_copy.default` for `view.default`."""
    packet, _, overload = case.partition(".")
    for name in (f"aten.{case}", f"aten.{packet}_copy.{overload}"):
        if name in LOWERINGS:
            return name
    return ""


DECLARED = sorted(case for case in OPERATORS if _name_in_table(case))


def _delegated(lowered: Any) -> set[Any]:
    """The lowerings of delegated operators. An operator with several spellings in PyTorch has one lowering."""
    return {
        LOWERINGS[name_of(node)].function
        for _, module, _ in get_lowered_submodules(lowered.program.graph_module)
        for node in module.original_module.graph.nodes
        if name_of(node) in LOWERINGS
    }


@pytest.mark.sampled
@pytest.mark.parametrize("case", DECLARED)
def test_operator(case: str) -> None:
    """The calls that TOSA expresses give eager's results; every other call has a reason."""
    function = overload_of(case)
    model = Calls([(function, call) for call in calls_of(case)])
    inputs = tuple(model.inputs)
    lowered = lower(model, inputs, BOTH)
    assert all(reason.partition(": ")[2] for name, reason in lowered.left().items() if "getitem" not in name)
    found, expected = lowered.run(*inputs), model(*inputs)
    halves = [result.dtype in (torch.float16, torch.bfloat16) for result in expected]
    for half, tolerance in ((True, 1e-3), (False, TOLERANCES.get(case, TOLERANCE))):
        chosen = [number for number, is_half in enumerate(halves) if is_half is half]
        assert_close([found[number] for number in chosen], [expected[number] for number in chosen], tolerance)
    name = _name_in_table(case)
    assert name in MORE or LOWERINGS[name].function in _delegated(lowered), lowered.left()


IMAGE, ROWS = (2, 8, 9, 11), (3, 5, 16)
_aten = torch.ops.aten
WHOLE = torch.arange(-9.0, 9.0)
UNIT = torch.cat([torch.linspace(-0.9999, 0.9999, 101), torch.tensor([-1.0, 0.0, 1e-6])])
INDICES = torch.tensor([[4, 0, 2], [1, 1, 3]], dtype=torch.int32)
PLACES, OTHER_PLACES = torch.tensor([4, 0, 2]), torch.tensor([2, 1])
WRITTEN = torch.tensor([[[3, 1, 0], [0, 2, 4]], [[1, 1, 2], [4, 0, 3]]])
MORE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "aten._native_batch_norm_legit_no_training.default": (
        lambda x, w, b, m, v: F.batch_norm(x, m, v.abs() + 0.5, w, b),
        (IMAGE, (8,), (8,), (8,), (8,)),
    ),
    "aten.native_layer_norm.default": (lambda x, w, b: F.layer_norm(x, (16,), w, b), (ROWS, (16,), (16,))),
    "aten.native_group_norm.default": (lambda x, w, b: F.group_norm(x, 2, w, b), (IMAGE, (8,), (8,))),
    "aten.max_pool2d_with_indices.default": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (IMAGE,)),
    "aten.argmax.default": (lambda x: torch.gather(x, 1, x.argmax(1, keepdim=True)), (ROWS,)),
    "aten.argmin.default": (lambda x: torch.gather(x, 2, x.argmin(2, keepdim=True)), (ROWS,)),
    "aten.max.dim": (lambda x: x.max(1).values, (ROWS,)),
    "aten.min.dim": (lambda x: torch.gather(x, -1, x.min(-1, keepdim=True).indices), (ROWS,)),
    "aten.embedding.default": (lambda i, w: F.embedding(i, w), (INDICES, (5, 8))),
    "aten.index_select.default": (lambda x, i: x.index_select(1, i), (ROWS, INDICES[0])),
    "aten.index.Tensor": (lambda x, i: x[:, i], (ROWS, INDICES)),
    "aten.gather.default": (lambda x: torch.gather(x, 1, x.argmax(1, keepdim=True)), (ROWS,)),
    "aten.upsample_nearest2d.vec": (lambda x: F.interpolate(x, size=(18, 33)), (IMAGE,)),
    "aten.upsample_bilinear2d.vec": (lambda x: F.interpolate(x, size=(13, 25), mode="bilinear"), (IMAGE,)),
    "aten.copy.default": (lambda x, y: _aten.copy(x, y) * 2, (ROWS, (16,))),
    "dim_order_ops._clone_dim_order.default": (lambda x: torch.clone(x) * 2, (ROWS,)),
    "dim_order_ops._to_dim_order_copy.default": (lambda x: (x * 3).to(torch.int32).to(torch.float32) * x, (ROWS,)),
    "aten.bitwise_and.Scalar": (lambda x: x.int() & 6, (WHOLE,)),
    "aten.bitwise_or.Scalar": (lambda x: x.int() | 6, (WHOLE,)),
    "aten.bitwise_xor.Scalar": (lambda x: x.int() ^ 6, (WHOLE,)),
    "aten.bitwise_left_shift.Tensor": (lambda x: x.int() << 3, (WHOLE,)),
    "aten.bitwise_right_shift.Tensor": (lambda x: x.int() >> 2, (WHOLE,)),
    "aten.as_strided_copy.default": (lambda x: torch.as_strided(x * 1.5, (3, 8), (80, 2), 1), (ROWS,)),
    "aten.unfold_copy.default": (lambda x: (x * 2).unfold(-2, 3, 2), (ROWS,)),
    "aten.erfinv.default": (lambda x: torch.erfinv(torch.cat([x, torch.sign(x), x + 9])), (UNIT,)),
    "aten.index_put.default": (
        lambda x, v, w: _aten.index_put(_aten.index_put(x, [None, PLACES], v), [OTHER_PLACES], w, True),
        (ROWS, (3, 3, 16), (16,)),
    ),
    "aten.scatter.src": (lambda x, y: torch.scatter(x, 1, WRITTEN, y), (ROWS, ROWS)),
    "aten.scatter.value": (lambda x: torch.scatter(x, -1, torch.tensor([[[3, 3, 0]]]), 0.75), (ROWS,)),
    "aten.full.default": (lambda x: torch.full_like(x, 2.5) * x, (ROWS,)),
}
"""By names in the table: a function that PyTorch lowers to the operator, and its inputs or their shapes."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", MORE)
def test_more_operators(name: str) -> None:
    """The calls of MORE give eager's results, too."""
    torch.manual_seed(0)
    function, shapes = MORE[name]
    inputs = tuple(torch.randn(each) if isinstance(each, tuple) else each for each in shapes)
    lowered = lower(Call(function), inputs, BOTH)
    assert LOWERINGS[name].function in _delegated(lowered), lowered.left()
    assert_close(lowered.run(*inputs), function(*inputs), TOLERANCE)


DECOMPOSED = [
    (lambda x: (x * 10).int() << 3, (ROWS,)),
    (lambda x: (x * 10).int() >> 2, (ROWS,)),
    (lambda x: _aten.alias(x) * 2, (ROWS,)),
    (lambda x: x.detach() * 2, (ROWS,)),
    (lambda x: x + torch.arange(0.0, 16.0, 1.0), (ROWS,)),
    (lambda x: x @ torch.eye(16), (ROWS,)),
    (lambda x: x + torch.linspace(0, 1, 16), (ROWS,)),
    (lambda x: x + torch.scalar_tensor(2.0), (ROWS,)),
    (F.celu, (ROWS,)),
    (F.selu, (ROWS,)),
    (F.glu, (ROWS,)),
    (F.hardsigmoid, (ROWS,)),
    (F.hardswish, (ROWS,)),
    (lambda x: torch.logit(torch.sigmoid(x), 1e-6), (ROWS,)),
    (lambda x: x.masked_fill(x < 0, -1.0), (ROWS,)),
    (lambda x: F.pad(x, (1, 2)), (ROWS,)),
    (lambda x: torch.split(x, 4, -1)[1] * 2, (ROWS,)),
    (lambda x, w: F.conv_transpose2d(x, w, stride=2), (IMAGE, (8, 4, 3, 3))),
]
"""Operators of the original's list that PyTorch decomposes into operators of the table or into constants."""


@pytest.mark.parametrize(
    "arguments",
    [(3, 1, 1, 2), (3, (3, 1), 1, (1, 2)), (4, (2, 3), 2, (2, 3)), (2, 1, 1, 9), (3, 2, 1, 2, True), (1, 2, 0, 3)],
)
def test_dilated_max_pools(arguments: tuple[Any, ...]) -> None:
    """TOSA's MAX_POOL2D has no dilation: it reads parts of the image that lie apart."""
    torch.manual_seed(0)
    x = torch.randn(IMAGE)
    x[0, 0, 4, 5], x[1, 2] = torch.nan, -torch.inf
    function = lambda x: F.max_pool2d(x, *arguments)  # noqa: E731
    lowered = lower(Call(function), (x,))
    assert not lowered.left() and len(lowered.payloads) == 1
    assert_close(lowered.run(x), function(x), 0.0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32])
@pytest.mark.parametrize("function", [torch.bitwise_left_shift, torch.bitwise_right_shift])
def test_shifts_by_a_tensor(function: Any, dtype: torch.dtype) -> None:
    """Negative numbers, and those beyond the bits of the type, shift all bits out, as in PyTorch."""
    limits = torch.iinfo(dtype)
    x = torch.linspace(limits.min, limits.max, 61, dtype=torch.float64).round().to(dtype).unsqueeze(1)
    x[30] = -1
    counts = torch.arange(-40, 41, dtype=dtype)
    lowered = lower(Call(function), (x, counts), BOTH)
    assert not lowered.left() and len(lowered.payloads) == 1
    assert_close(lowered.run(x, counts), function(x, counts))


def test_what_pytorch_writes_with_other_operators() -> None:
    torch.manual_seed(0)
    model = Several(DECOMPOSED).eval()  # type: ignore[arg-type]
    lowered = lower(model, model.inputs, BOTH)
    assert not lowered.left() and len(lowered.payloads) == 1
    assert_close(lowered.run(*model.inputs), model(*model.inputs), TOLERANCE)


def test_a_condition_stays_outside() -> None:
    """The branches of `torch.cond` are lowered separately, and the condition has a reason."""
    model = Call(lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, [x]))
    inputs = (torch.randn(ROWS),)
    lowered = lower(model, inputs)
    reasons = [
        reason for node in get_non_lowered_nodes(lowered.program.graph) for reason in get_refusals(node).values()
    ]
    assert "TOSA has no such operator" in reasons
    assert_close(lowered.run(*inputs), model(*inputs))


def test_every_lowering_is_tested() -> None:
    tested = {LOWERINGS[name].function for name in (*map(_name_in_table, DECLARED), *MORE)}
    assert [name for name, lowering in LOWERINGS.items() if lowering.function not in tested] == []
