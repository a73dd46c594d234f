# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-samsung.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.samsung.verify import ReferenceProgram
from vendor_commands import check_export_command, run_script

ROOT = Path(__file__).resolve().parents[4]


def test_the_command_verifies_by_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """EXY-02: the command also reports that the interpreter does not use Samsung's arithmetic."""
    schemes = ([], ["--quantize", "int8"])
    check_export_command("samsung", "EnnBackend", "Samsung's compiler", tmp_path, capsys, *schemes)


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
    assert run_script(script, "-c", "E1", "-m", "linear") == 1
    assert "there is no chip 'E1' of Samsung; expected one of E9955, E9965" in capsys.readouterr().err
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
    assert run_script(script, "-c", "E9955", "-m", "linear") == 1
    assert "Samsung's compiler is not installed" in capsys.readouterr().err
