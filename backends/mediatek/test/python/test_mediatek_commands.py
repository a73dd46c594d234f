# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-mediatek.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.mediatek.verify import ReferenceProgram
from vendor_commands import check_export_command

ROOT = Path(__file__).resolve().parents[4]


def test_the_command_verifies_by_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MTK-05: the command also reports that the interpreter does not use MediaTek's arithmetic."""
    schemes = ([], ["--quantize", "int8"], ["--quantize", "a16w8"])
    check_export_command("mediatek", "NeuropilotBackend", "MediaTek's compiler", tmp_path, capsys, *schemes)


def test_the_script_exports_a_public_model(tmp_path: Path) -> None:
    """MTK-03: the program is written to a folder that is named after the model."""
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


def test_the_build_script_says_what_is_missing() -> None:
    """MTK-08"""
    script = ROOT / "backends" / "mediatek" / "scripts" / "mtk_build.sh"
    kept = {key: value for key, value in os.environ.items() if key not in ("ANDROID_NDK", "NEUROPILOT_SDK_ROOT")}

    def said(**variables: str) -> str:
        done = subprocess.run([script], capture_output=True, text=True, env={**kept, **variables})
        assert done.returncode != 0
        return done.stderr

    assert "ANDROID_NDK: set it to the root of an NDK" in said()
    assert "NEUROPILOT_SDK_ROOT: set it to the folder that backends/mediatek/setup.md describes" in said(
        ANDROID_NDK="x"
    )
