# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-mediatek.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sdk.backends.mediatek.verify import ReferenceProgram

ROOT = Path(__file__).resolve().parents[4]

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def run(*command: object, folder: Path, reference: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    environment.pop("EXECUTORCH_REFERENCE_PAYLOADS", None)
    if reference:
        environment["EXECUTORCH_REFERENCE_PAYLOADS"] = "1"
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_command_verifies_by_the_interpreter(tmp_path: Path) -> None:
    """MTK-05: and says that this is not MediaTek's arithmetic."""
    (tmp_path / "my_model.py").write_text(MODEL)
    command = (sys.executable, "-m", "sdk.export", "my_model.py:model", "--backend", "mediatek", "-o", "model.pte")
    for quantize in ([], ["--quantize", "int8"], ["--quantize", "a16w8"]):
        done = run(*command, *quantize, folder=tmp_path, reference=True)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 0, said
        assert "the program agrees with PyTorch" in said and "1 call to NeuropilotBackend" in said
        assert "verified by an interpreter in PyTorch, which is not MediaTek's compiler and arithmetic" in said
    done = run(*command, folder=tmp_path, reference=False)
    assert done.returncode != 0 and "MediaTek's compiler is not installed" in " ".join(done.stderr.split())


def test_the_script_exports_a_public_model(tmp_path: Path) -> None:
    """MTK-03: into a folder that is named after the model."""
    script = ROOT / "examples" / "mediatek" / "shell_scripts" / "export_oss.sh"
    done = run(script, "linear", "--precision", "A16W8", folder=tmp_path, reference=True)
    assert done.returncode == 0 and done.stdout == "wrote linear/linear.pte\n", done.stderr
    ReferenceProgram(tmp_path / "linear" / "linear.pte")
    done = run(script, "linear", folder=tmp_path, reference=False)
    assert done.returncode == 1 and "MediaTek's compiler is not installed" in done.stderr
