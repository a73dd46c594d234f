# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-samsung.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sdk.backends.samsung.verify import ReferenceProgram

ROOT = Path(__file__).resolve().parents[4]

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def run(*command: object, folder: Path, reference: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "EXECUTORCH_REFERENCE_PAYLOADS": str(int(reference))}
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, cwd=folder, env=environment
    )


def test_the_command_verifies_by_the_interpreter(tmp_path: Path) -> None:
    """EXY-02: and says that this is not Samsung's arithmetic."""
    (tmp_path / "my_model.py").write_text(MODEL)
    command = ("-m", "sdk.export", "my_model.py:model", "--backend", "samsung", "-o", "model.pte")
    for quantize in ([], ["--quantize", "int8"]):
        done = run(*command, *quantize, folder=tmp_path, reference=True)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 0, said
        assert "the program agrees with PyTorch" in said and "1 call to EnnBackend" in said
        assert "verified by an interpreter in PyTorch, which is not Samsung's compiler and arithmetic" in said
    done = run(*command, folder=tmp_path, reference=False)
    assert done.returncode != 0 and "Samsung's compiler is not installed" in " ".join(done.stderr.split())


def test_the_script_exports_a_model(tmp_path: Path) -> None:
    """EXY-01, EXY-05"""
    script = ROOT / "examples" / "samsung" / "aot_compiler.py"
    made = run(script, "-c", "e9955", "-m", "linear", "-o", "folder", "-p", "A8W8", folder=tmp_path, reference=True)
    assert made.returncode == 0 and made.stdout == "wrote folder/linear_exynos_a8w8.pte\n", made.stderr
    ReferenceProgram(tmp_path / "folder" / "linear_exynos_a8w8.pte")
    wrong = run(script, "-c", "E1", "-m", "linear", folder=tmp_path, reference=True)
    assert wrong.returncode == 1 and "there is no chip 'E1' of Samsung; expected one of E9955, E9965" in wrong.stderr
    missing = run(script, "-c", "E9955", "-m", "linear", folder=tmp_path, reference=False)
    assert missing.returncode == 1 and "Samsung's compiler is not installed" in missing.stderr
