# SPDX-License-Identifier: BSD-3-Clause
"""The page for users, and the commands that it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from documents.blocks import blocks

ROOT = Path(__file__).resolve().parents[3]


def test_the_python_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VGF-01, VGF-02, VGF-03: the page's code, in order, and the extraction of what it wrote."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    code = [block for block in blocks(ROOT / "docs" / "backends-vgf.md") if block.language == "python"]
    assert len(code) >= 2
    for block in code:
        exec(compile(block.code, f"{block.page}:{block.line}", "exec"), names)
    command = [sys.executable, "-m", "sdk.backends.arm.vgf.extract", "model.pte", "files"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["forward_0.vgf"]


MODEL = """
import torch
def model():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
"""


def test_the_command(tmp_path: Path) -> None:
    """VGF-01: `--backend vgf`; the summary says that nothing ran the program."""
    (tmp_path / "m.py").write_text(MODEL)
    command = [sys.executable, "-m", "sdk.export", "m.py:model", "--input", "1x3x9x9:float32", "--backend", "vgf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, text
    assert "everything: 1 call to VgfBackend" in text
    assert "neither the installed runtime nor a declared runner runs VgfBackend" in text
