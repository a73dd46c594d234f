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
from torchao_bytes import torchao_bytes

pytestmark = [pytest.mark.oracle, pytest.mark.network]

THERE = """
import sys, torch
from operator import attrgetter
from executorch.exir import to_edge
from executorch.extension.llm.custom_ops import custom_ops
from executorch.extension.pybindings.portable_lib import _load_for_executorch
folder, name = sys.argv[1:]
given, settings = torch.load(f"{folder}/given.pt")
op = attrgetter(name)(torch.ops.llama)
class Call(torch.nn.Module):
    def forward(self, *given):
        return op(*given, *settings)
open(f"{folder}/theirs.pte", "wb").write(to_edge(torch.export.export(Call(), given)).to_executorch().buffer)
found = _load_for_executorch(f"{folder}/ours.pte").forward(given)
torch.save((op(*given, *settings), tuple(found)), f"{folder}/found.pt")
"""


class Call(nn.Module):
    """Calls an operator with tensors, and with settings that are constants of the program."""

    def __init__(self, name: str, *settings: Any) -> None:
        super().__init__()
        self.name, self.settings = name, settings

    def forward(self, *given: Tensor) -> Any:
        return getattr(torch.ops.llama, self.name)(*given, *self.settings)


def _exchange(in_original: InOriginal, folder: Path, call: Call, given: tuple[Tensor, ...]) -> None:
    """Each side's program gives on the other side what the original computes eagerly."""
    torch.save((given, call.settings), folder / "given.pt")
    (folder / "ours.pte").write_bytes(to_edge(torch.export.export(call, given)).to_executorch().buffer)
    in_original("-c", THERE, folder, call.name)
    expected, there = torch.load(folder / "found.pt")
    here = Runtime.get().load_program(folder / "theirs.pte").load_method("forward").execute(given)
    for found in (call(*given), here, there):
        tensors = [found] if isinstance(found, Tensor) else list(found)
        wanted = [expected] if isinstance(expected, Tensor) else list(expected)
        torch.testing.assert_close(tensors, wanted, rtol=1e-4, atol=1e-4 * float(wanted[0].abs().max().clamp(min=1)))


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
    _exchange(in_original, tmp_path, Call("gated_delta_rule"), given)


@pytest.mark.parametrize("oracle_python", [NEWER], indirect=True)
@pytest.mark.parametrize("score", ["sigmoid", "softmax"])
@pytest.mark.parametrize("bits", [4, 8])
def test_experts_in_the_bytes_of_torchao(in_original: InOriginal, tmp_path: Path, bits: int, score: str) -> None:
    torch.manual_seed(0)
    dim, hidden, experts, group, least = 64, 32, 4, 32, -(1 << (bits - 1))
    packed = [
        torch.stack(
            [
                torchao_bytes(
                    torch.randint(least, -least, (rows, columns), dtype=torch.int8),
                    torch.rand(rows, columns // group) / -least,
                    bits,
                )
                for _ in range(experts)
            ]
        )
        for rows, columns in ((2 * hidden, dim), (dim, hidden))
    ]
    given = (torch.randn(7, dim), torch.randn(experts, dim), torch.randn(experts if score == "sigmoid" else 0), *packed)
    call = Call("quantized_moe_ffn", 2, experts, hidden, dim, group, bits, score, 2.5)
    _exchange(in_original, tmp_path, call, given)
