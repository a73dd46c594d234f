# SPDX-License-Identifier: BSD-3-Clause
"""The page for users, and the command that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import forked
from documents.blocks import blocks

ROOT = Path(__file__).resolve().parents[4]


def test_the_python_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CML-01, CML-03, CML-06, CML-12, TPL-01, TPL-04: the page's code, in order."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    code = [block for block in blocks(ROOT / "docs" / "backends-coreml.md") if block.language == "python"]
    assert len(code) >= 3
    for block in code:
        exec(compile(block.code, f"{block.page}:{block.line}", "exec"), names)
    assert (tmp_path / "model.pte").stat().st_size > 1000


MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
    def forward(self, x):
        return torch.special.bessel_j0(self.linear(x)).relu() + x.mean()
def model():
    return Model().eval()
"""


def test_the_command_verifies_by_the_interpreter(tmp_path: Path) -> None:
    """CML-01: the command also reports that the interpreter does not use Apple's arithmetic. The operator that stays
    outside is computed, too."""
    (tmp_path / "m.py").write_text(MODEL)
    command = ["-m", "sdk.export", "m.py:model", "--input", "2x16:float32", "--backend", "coreml"]
    done = forked.run(*command, cwd=tmp_path)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, text
    assert "not Apple's arithmetic" in text
    assert "aten::special_bessel_j0.out" in text
    assert "(0.005 allowed)" in text
