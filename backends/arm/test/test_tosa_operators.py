# SPDX-License-Identifier: BSD-3-Clause
"""Each operator of the table, lowered and run by the reference model, against eager: with the calls of the conformance
suite, and with more for what that suite does not have or does not read alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import BOTH, Call, assert_close, lower

from backends.cases import OPERATORS, Calls, calls_of, overload_of
from sdk.backends.arm.tosa.lowering import LOWERINGS
from sdk.backends.transforms.dynamic_quantization import name_of
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
    """The lowerings of what is delegated. Operators that PyTorch writes in several ways have one."""
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
INDICES = torch.tensor([[4, 0, 2], [1, 1, 3]], dtype=torch.int32)
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
    "aten.full.default": (lambda x: torch.full_like(x, 2.5) * x, (ROWS,)),
}
"""By names of the table: a function that PyTorch lowers to the operator, and its inputs or their shapes."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", MORE)
def test_more_operators(name: str) -> None:
    """These too."""
    torch.manual_seed(0)
    function, shapes = MORE[name]
    inputs = tuple(torch.randn(each) if isinstance(each, tuple) else each for each in shapes)
    lowered = lower(Call(function), inputs, BOTH)
    assert LOWERINGS[name].function in _delegated(lowered), lowered.left()
    assert_close(lowered.run(*inputs), function(*inputs), TOLERANCE)


def test_every_lowering_is_tested() -> None:
    tested = {LOWERINGS[name].function for name in (*map(_name_in_table, DECLARED), *MORE)}
    assert [name for name, lowering in LOWERINGS.items() if lowering.function not in tested] == []
