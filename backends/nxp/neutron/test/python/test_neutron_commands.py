# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/backends-neutron.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdk.backends.nxp.neutron.verify import ReferenceProgram
from vendor_commands import check_export_command, run_script

ROOT = Path(__file__).resolve().parents[5]
SCRIPT = ROOT / "examples" / "nxp" / "aot_neutron_compile.py"
CIFAR = ("--quantize", "--delegate", "-m", "cifar10")


def test_the_command_verifies_by_the_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NXP-04: the command also reports that the interpreter does not use NXP's arithmetic."""
    schemes = (["--quantize", "int8"],)
    check_export_command("neutron", "NeutronBackend", "NXP's converter", tmp_path, capsys, *schemes)


def test_the_script_exports_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """NXP-01, NXP-03: CifarNet is one delegate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHON": sys.executable}
    command = [SCRIPT.with_suffix(".sh"), "cifar10", "-o", "folder"]
    made = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert made.returncode == 0 and made.stdout == "wrote folder/cifar10_nxp_delegate.pte\n", made.stderr
    ReferenceProgram(Path("folder", "cifar10_nxp_delegate.pte"))
    assert run_script(SCRIPT, *CIFAR, "-t", "imx95") == 1
    assert "there is no target 'imx95' of Neutron; expected imxrt700" in capsys.readouterr().err
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
    assert run_script(SCRIPT, *CIFAR) == 1
    assert "NXP's converter is not installed" in capsys.readouterr().err


def test_the_script_of_the_converter_needs_an_address(tmp_path: Path) -> None:
    """NXP-02: pip gets the address of NXP's package index, from the argument or the environment."""
    script, pip = ROOT / "examples" / "nxp" / "setup.sh", tmp_path / "python"
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)
    environment = {name: each for name, each in os.environ.items() if not name.startswith("EIQ_")}
    environment["PYTHON"] = str(pip)
    missing = subprocess.run([script], capture_output=True, text=True, env=environment)
    assert missing.returncode == 2 and "error: the address of NXP's package index is missing" in missing.stderr
    expected = "-m pip install --index-url file:///index eiq_neutron_sdk\n"
    for arguments, given in ((["file:///index"], {}), ([], {"EIQ_INDEX_URL": "file:///index"})):
        made = subprocess.run([script, *arguments], capture_output=True, text=True, env={**environment, **given})
        assert made.stdout == expected, made.stderr


def test_the_script_draws_the_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VIS-09"""
    pytest.importorskip("model_explorer", reason="pip install 'pte-sdk[visualization]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
    assert run_script(SCRIPT, *CIFAR, "--visualize", "store") == 0
    saved = json.loads(Path("cifar10_partitions.json").read_text())
    groups = {node["id"]: node["namespace"] for node in saved["graphs"][0]["nodes"]}
    assert groups["aten_convolution_default"] == "partition 0 (tag_0)"
