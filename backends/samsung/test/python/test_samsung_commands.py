# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-samsung.md."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.samsung.verify import ReferenceProgram
from sdk.export.cli import main

ROOT = Path(__file__).resolve().parents[4]

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def run(script: Path, *arguments: str) -> int:
    """The exit status of a script that this process runs, which has imported torch already."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", [str(script), *arguments])
        runpy.run_path(str(script), run_name="__main__")
    return ended.value.code or 0


def test_the_command_verifies_by_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """EXY-02: and says that this is not Samsung's arithmetic."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    Path("my_model.py").write_text(MODEL)
    command = ["my_model.py:model", "--backend", "samsung", "-o", "model.pte"]
    for quantize in ([], ["--quantize", "int8"]):
        status = main([*command, *quantize])
        said = " ".join("".join(capsys.readouterr()).split())
        assert status == 0, said
        assert "the program agrees with PyTorch" in said and "1 call to EnnBackend" in said
        assert "verified by an interpreter in PyTorch, which is not Samsung's compiler and arithmetic" in said
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
    assert main(command) != 0
    assert "Samsung's compiler is not installed" in " ".join(capsys.readouterr().err.split())


def test_the_script_exports_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """EXY-01, EXY-05"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    script = ROOT / "examples" / "samsung" / "aot_compiler.py"
    command = [sys.executable, str(script), "-c", "e9955", "-m", "linear", "-o", "folder", "-p", "A8W8"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    made = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert made.returncode == 0 and made.stdout == "wrote folder/linear_exynos_a8w8.pte\n", made.stderr
    ReferenceProgram(Path("folder", "linear_exynos_a8w8.pte"))
    assert run(script, "-c", "E1", "-m", "linear") == 1
    assert "there is no chip 'E1' of Samsung; expected one of E9955, E9965" in capsys.readouterr().err
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
    assert run(script, "-c", "E9955", "-m", "linear") == 1
    assert "Samsung's compiler is not installed" in capsys.readouterr().err
