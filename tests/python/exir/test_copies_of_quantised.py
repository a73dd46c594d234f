# SPDX-License-Identifier: BSD-3-Clause
"""`RemoveNoopPass` between quantised operators: integers stay integers if their values do not change."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)
from sdk.exir import to_edge
from sdk.exir.passes import RemoveNoopPass

aten = torch.ops.aten
X = (torch.arange(12, dtype=torch.float32).reshape(3, 4),)


class Function(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.forward = function


def targets(gm: torch.fx.GraphModule) -> list[torch._ops.OpOverload]:
    return [node.target for node in gm.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    ("limits", "left"),
    [((-128, 127, torch.int8), 1), ((-127, 127, torch.int8), 2), ((-(2**31), 2**31 - 1, torch.int32), 2)],
)
@pytest.mark.parametrize("by_channel", [False, True])
def test_integers_around_a_slice_of_everything_stay_integers(by_channel: bool, limits: tuple, left: int) -> None:
    """`to_edge` removes the slice, so that no partitioner sees it. Integers are dequantised and quantised again only if
    that changes some of them: the narrow range clamps -128, and float32 cannot hold every integer of 32 bits."""
    kind = "channel" if by_channel else "tensor"
    quantize, dequantize = (
        getattr(torch.ops.quantized_decomposed, f"{verb}_per_{kind}").default for verb in ("quantize", "dequantize")
    )
    scales = (torch.tensor([0.1, 0.2, 0.3]), torch.tensor([3, 0, -3]), 0) if by_channel else (0.1, 3)

    def function(x):
        slices = aten.slice_copy.Tensor(dequantize(quantize(x, *scales, *limits), *scales, *limits), 0, 0)
        return dequantize(quantize(slices, *scales, *limits), *scales, *limits) * 2

    inputs = (X[0] * 2,)
    manager = to_edge(export(Function(function), inputs))
    names = [target.name() for target in targets(manager.exported_program().graph_module)]
    assert names == [f"quantized_decomposed::{verb}_per_{kind}" for verb in ("quantize", "dequantize") * left] + [
        "aten::mul.Tensor"
    ]
    torch.testing.assert_close(manager.exported_program().module()(*inputs), function(*inputs), rtol=0, atol=0)


def test_integers_that_are_returned_are_a_copy() -> None:
    parameters = (0.1, 3, -128, 127, torch.int8)

    def function(x):
        floats = torch.ops.quantized_decomposed.dequantize_per_tensor.default(x, *parameters)
        same = aten.slice_copy.Tensor(floats, 0, 0)
        return torch.ops.quantized_decomposed.quantize_per_tensor.default(same, *parameters)

    manager = to_edge(export(Function(function), (torch.arange(-128, 128).to(torch.int8),)))
    changed = RemoveNoopPass()(manager.exported_program().graph_module).graph_module
    assert [target.name().split("::")[1] for target in targets(changed)] == [
        "dequantize_per_tensor",
        "quantize_per_tensor",
    ]


def test_slices_of_everything_in_branches() -> None:
    def function(x):
        return torch.cond(x.sum() > 0, lambda y: aten.slice_copy.Tensor(y, 1, 0) + 1, lambda y: y[:, ::1] * 2, (x,))

    program = to_edge(export(Function(function), X)).exported_program()
    found = {target.name() for part in program.graph_module.children() for target in targets(part)}
    assert found == {"aten::add.Tensor", "aten::mul.Tensor"}
    for inputs in (X, (-X[0],)):
        torch.testing.assert_close(program.module()(*inputs), function(*inputs), rtol=0, atol=0)


def test_slices_that_are_returned_are_a_copy() -> None:
    program = to_edge(export(Function(lambda x: aten.slice_copy.Tensor(x, 0, 0)), X)).exported_program()
    assert [target.name() for target in targets(program.graph_module)] == ["aten::slice_copy.Tensor"]
