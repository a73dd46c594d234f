# SPDX-License-Identifier: BSD-3-Clause
"""Operators that ExecuTorch 1.5.1 added: its programs run here, and ours there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from interop.originals import NEWER, InOriginal
from sdk.exir import to_edge
from sdk.extension.llm.custom_ops import custom_ops  # noqa: F401  (registers the operators)
from sdk.runtime import Runtime

pytestmark = [pytest.mark.oracle, pytest.mark.network]

THERE = """
import sys, torch
from executorch.exir import to_edge
from executorch.extension.llm.custom_ops import custom_ops
from executorch.extension.pybindings.portable_lib import _load_for_executorch
folder = sys.argv[1]
given = torch.load(f"{folder}/given.pt")
class Call(torch.nn.Module):
    def forward(self, *given):
        return torch.ops.llama.gated_delta_rule(*given)
open(f"{folder}/theirs.pte", "wb").write(to_edge(torch.export.export(Call(), given)).to_executorch().buffer)
found = _load_for_executorch(f"{folder}/ours.pte").forward(given)
torch.save((torch.ops.llama.gated_delta_rule(*given), tuple(found)), f"{folder}/found.pt")
"""


class Call(nn.Module):
    def forward(self, *given: Tensor) -> Any:
        return torch.ops.llama.gated_delta_rule(*given)


@pytest.mark.parametrize("oracle_python", [NEWER], indirect=True)
@pytest.mark.parametrize("scalar_decay", [False, True])
def test_the_gated_delta_rule_of_heads_that_share_a_state(
    in_original: InOriginal, tmp_path: Path, scalar_decay: bool
) -> None:
    torch.manual_seed(0)
    rows = (2, 3, 35)  # three heads of keys, and six of queries
    query, key, value = torch.randn(2, 6, 35, 8), torch.randn(*rows, 8) / 8**0.5, torch.randn(*rows, 5)
    decay, beta = torch.rand(rows if scalar_decay else (*rows, 8)), torch.rand(rows)
    given = (query, key, value, decay, beta, torch.randn(2, 3, 8, 5))
    torch.save(given, tmp_path / "given.pt")
    ours = to_edge(torch.export.export(Call(), given)).to_executorch().buffer
    (tmp_path / "ours.pte").write_bytes(ours)
    in_original("-c", THERE, tmp_path)
    expected, there = torch.load(tmp_path / "found.pt")
    here = Runtime.get().load_program(tmp_path / "theirs.pte").load_method("forward").execute(given)
    for found in (Call()(*given), tuple(here), there):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
