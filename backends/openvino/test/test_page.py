# SPDX-License-Identifier: BSD-3-Clause
"""docs/backends-openvino.md: its code runs. The command exports, runs and compares."""

from __future__ import annotations

from pathlib import Path

import forked
from documents.blocks import blocks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "backends-openvino.md"

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def test_the_page_runs(tmp_path: Path) -> None:
    """OVN-01: all blocks of Python on the page run, in order."""
    code = "\n".join(block.code for block in blocks(PAGE) if block.language == "python")
    assert code.count("OpenvinoPartitioner") >= 2
    forked.run("-W", "ignore", "-c", code, cwd=tmp_path, check=True)
    assert (tmp_path / "model.pte").is_file()


def test_the_command_runs_what_it_exports(tmp_path: Path) -> None:
    """OVN-04: `sdk.export` verifies the program with OpenVINO here."""
    (tmp_path / "my_model.py").write_text(MODEL)
    command = ["-m", "sdk.export", "my_model.py:model", "--backend", "openvino", "-o", "model.pte"]
    for quantize in ([], ["--quantize", "int8-weights"]):
        done = forked.run(*command, *quantize, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr
        assert "the program agrees with PyTorch" in said and "1 call to OpenvinoBackend" in said
