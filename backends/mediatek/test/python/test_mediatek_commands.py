# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-mediatek.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.mediatek.verify import ReferenceProgram
from sdk.export.cli import main

ROOT = Path(__file__).resolve().parents[4]

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def test_the_command_verifies_by_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MTK-05: and says that this is not MediaTek's arithmetic."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    Path("my_model.py").write_text(MODEL)
    command = ["my_model.py:model", "--backend", "mediatek", "-o", "model.pte"]
    for quantize in ([], ["--quantize", "int8"], ["--quantize", "a16w8"]):
        status = main([*command, *quantize])
        said = " ".join("".join(capsys.readouterr()).split())
        assert status == 0, said
        assert "the program agrees with PyTorch" in said and "1 call to NeuropilotBackend" in said
        assert "verified by an interpreter in PyTorch, which is not MediaTek's compiler and arithmetic" in said
    monkeypatch.delenv("EXECUTORCH_REFERENCE_PAYLOADS")
    assert main(command) != 0
    assert "MediaTek's compiler is not installed" in " ".join(capsys.readouterr().err.split())


def test_the_script_exports_a_public_model(tmp_path: Path) -> None:
    """MTK-03: into a folder that is named after the model."""
    script = ROOT / "examples" / "mediatek" / "shell_scripts" / "export_oss.sh"
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}

    def run(*arguments: str, reference: bool) -> subprocess.CompletedProcess[str]:
        environment["EXECUTORCH_REFERENCE_PAYLOADS"] = str(int(reference))
        return subprocess.run([script, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment)

    done = run("linear", "--precision", "A16W8", reference=True)
    assert done.returncode == 0 and done.stdout == "wrote linear/linear.pte\n", done.stderr
    ReferenceProgram(tmp_path / "linear" / "linear.pte")
    done = run("linear", reference=False)
    assert done.returncode == 1 and "MediaTek's compiler is not installed" in done.stderr
