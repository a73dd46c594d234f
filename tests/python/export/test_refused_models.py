# SPDX-License-Identifier: BSD-3-Clause
"""The command with models that cannot become a runnable program: one error names everything that is wrong, and no file
is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Export = Callable[..., Any]

MODELS = """
import torch

class Spectrum(torch.nn.Module):
    def forward(self, x):
        values = torch.linalg.eigvals(x)
        return values, torch.linalg.ldl_factor(x)


class Custom(torch.nn.Module):
    def forward(self, x):
        y = torch.ops.refused_test.twice(x)
        return torch.ops.refused_test.thrice(y)
"""

_library = torch.library.Library("refused_test", "DEF")
for _name, _factor in (("twice", 2), ("thrice", 3)):
    _library.define(f"{_name}(Tensor x) -> Tensor")
    _library.define(f"{_name}.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    _library.impl(_name, lambda x, factor=_factor: x * factor, "CompositeExplicitAutograd")
    _library.impl(f"{_name}.out", lambda x, out, factor=_factor: out.copy_(x * factor), "CompositeExplicitAutograd")


def test_all_operators_that_edge_dialect_does_not_have(models: Path, export: Export) -> None:
    models.write_text(MODELS)
    for backend in ((), ("--backend", "portable")):
        answer = export(f"{models.name}:Spectrum", "--input", "3x3:float32", *backend)
        assert answer.status == 1
        for words in (
            "aten.linalg_eig.default is not Aten Canonical",
            "aten.linalg_ldl_factor_ex.default is not Aten Canonical",
            "in forward: values = torch.linalg.eigvals(x)",
            "in forward: return values, torch.linalg.ldl_factor(x)",
            "run_decompositions()",
        ):
            assert words in answer.err, answer.err
        assert not list(models.parent.glob("*.pte"))


def test_all_operators_without_a_kernel(models: Path, export: Export) -> None:
    models.write_text(MODELS)
    call = (f"{models.name}:Custom", "--input", "3:float32", "--backend", "portable")
    answer = export(*call)
    assert answer.status == 1
    for words in (
        "refused_test::twice.out",
        "refused_test::thrice.out",
        "in forward: y = torch.ops.refused_test.twice(x)",
        "in forward: return torch.ops.refused_test.thrice(y)",
        "Register a kernel for each (docs/kernel_registration.md)",
    ):
        assert words in answer.err, answer.err
    assert not list(models.parent.glob("*.pte"))
    # A runtime with the user's own kernels can have the program.
    assert export(*call, "--no-verify").status == 0 and list(models.parent.glob("*.pte"))
