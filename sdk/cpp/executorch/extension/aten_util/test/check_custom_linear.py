# SPDX-License-Identifier: BSD-3-Clause
"""Loads the library whose kernel is wrapped by WRAP_TO_ATEN, calls it from Python, exports a model that uses it and
lowers that to a program. KR-15, KR-16, KR-19, KR-20. Usage: check_custom_linear.py LIBRARY"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[6] / "python"))


class CustomLinear(torch.nn.Module):
    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.weight = linear.weight
        self.bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.myop.custom_linear(self.weight, x, self.bias)


def replace_linear_with_custom_linear(module: torch.nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Linear):
            setattr(module, name, CustomLinear(child))
        else:
            replace_linear_with_custom_linear(child)


def check_calls() -> None:
    torch.manual_seed(0)
    weight, x, bias = torch.rand(3, 4), torch.rand(2, 4), torch.rand(3)
    expected = torch.nn.functional.linear(x, weight, bias)
    for op in (torch.ops.myop.custom_linear.out, torch.ops.myop.eager_linear.out):
        out = torch.empty(2, 3)
        assert op(weight, x, bias, out=out) is out
        torch.testing.assert_close(out, expected)
    torch.testing.assert_close(torch.ops.myop.custom_linear.default(weight, x, bias), expected)
    # Inputs with arbitrary strides, without a bias.
    transposed = torch.ops.myop.custom_linear(weight.t().contiguous().t(), x.t().contiguous().t(), None)
    torch.testing.assert_close(transposed, x @ weight.t())
    try:
        torch.ops.myop.eager_linear.out(weight.to("meta"), x, bias, out=torch.empty(2, 3))
    except RuntimeError as error:
        assert "on the CPU" in str(error), error
    else:
        raise AssertionError("a tensor without memory was accepted")


def check_export() -> None:
    torch.library.register_fake("myop::custom_linear", lambda weight, x, bias: x.new_empty(x.shape[0], weight.shape[0]))
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    x = torch.rand(3, 4)
    expected = model(x)
    replace_linear_with_custom_linear(model)
    with torch.no_grad():
        exported = torch.export.export(model, (x,))
    torch.testing.assert_close(exported.module()(x), expected)

    from sdk.exir import EdgeCompileConfig, to_edge

    program = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch()
    operators = program.executorch_program.execution_plan[0].operators
    assert ("myop::custom_linear", "out") in [(op.name, op.overload) for op in operators], operators


if __name__ == "__main__":
    torch.ops.load_library(sys.argv[1])
    check_calls()
    check_export()
