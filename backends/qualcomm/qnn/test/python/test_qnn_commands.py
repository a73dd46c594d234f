# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-qnn.md."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sdk.backends.qualcomm.qnn.verify import ReferenceProgram
from vendor_commands import check_export_command, run_script

ROOT = Path(__file__).resolve().parents[5]
SCRIPTS = ROOT / "examples" / "qualcomm" / "scripts"


def test_the_command_verifies_by_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """QNN-06: the command also reports that the interpreter does not use Qualcomm's arithmetic."""
    schemes = ([], ["--quantize", "int8"], ["--quantize", "a16w8"], ["--quantize", "int8-weights"])
    check_export_command("qnn", "QnnBackend", "Qualcomm's compiler", tmp_path, capsys, *schemes)


def test_the_script_exports_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """QNN-05"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    script = SCRIPTS / "export_example.py"
    call = ["-b", "build-android", "-m", "SM8550", "-g", "linear", "-q", "8a8w", "-a", "folder"]
    assert run_script(script, *call, "--compile_only") == 0
    assert capsys.readouterr().out == "wrote folder/linear_qnn.pte\n"
    ReferenceProgram(Path("folder", "linear_qnn.pte"))
    assert run_script(script, *call) == 1
    assert "runs nothing on a device: docs/backends-qnn.md" in capsys.readouterr().err
    again = ["-m", "SM8550", "-g", "linear", "--compile_only", "--pre_gen_pte"]
    assert run_script(script, *again, "folder") == 0 and capsys.readouterr().out == ""
    assert run_script(script, *again, "elsewhere") == 1
    assert "there is no elsewhere/linear_qnn.pte" in capsys.readouterr().err
    assert run_script(script, "-m", "SM1", "-g", "linear", "--compile_only") == 1
    assert "there is no chip 'SM1' of Qualcomm; expected one of QCM6490" in capsys.readouterr().err
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
    assert run_script(script, "-m", "SM8550", "-g", "linear", "--compile_only") == 1
    assert "Qualcomm's compiler is not installed" in capsys.readouterr().err


def test_the_script_of_the_page_has_its_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """QNN-05: the exported model is used again; DeepLabV3 itself is too large for this test."""
    (tmp_path / "dlv3_qnn.pte").write_bytes(b"a program")
    call = ["-b", "build-oe-linux", "-m", "SXR1230P", "-t", "aarch64-oe-linux-gcc-9.3", "--compile_only"]
    assert run_script(SCRIPTS / "deeplab_v3.py", *call, "--pre_gen_pte", str(tmp_path)) == 0


def test_the_build_script_says_what_is_missing() -> None:
    """QNN-03, QNN-04"""
    script = ROOT / "backends" / "qualcomm" / "scripts" / "build.sh"
    kept = {key: value for key, value in os.environ.items() if key not in ("QNN_SDK_ROOT", "ANDROID_NDK_ROOT")}

    def said(*arguments: str, **variables: str) -> str:
        done = subprocess.run([script, *arguments], capture_output=True, text=True, env={**kept, **variables})
        assert done.returncode != 0
        return done.stderr

    assert "QNN_SDK_ROOT: set it to the folder" in said("--release", "--enable_linux_embedded")
    assert "ANDROID_NDK_ROOT: set it to the root of an NDK" in said(QNN_SDK_ROOT="sdk")
    assert "--other is not an option" in said("--other")
