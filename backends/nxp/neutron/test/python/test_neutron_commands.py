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

ROOT = Path(__file__).resolve().parents[5]

MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def run(*command: object, folder: Path, reference: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "EXECUTORCH_REFERENCE_PAYLOADS": str(int(reference))}
    environment["PYTHON"] = sys.executable
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_command_verifies_by_the_interpreter(tmp_path: Path) -> None:
    """NXP-04: and says that this is not NXP's arithmetic."""
    (tmp_path / "my_model.py").write_text(MODEL)
    command = (sys.executable, "-m", "sdk.export", "my_model.py:model", "--backend", "neutron", "-o", "model.pte")
    done = run(*command, "--quantize", "int8", folder=tmp_path, reference=True)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, said
    assert "the program agrees with PyTorch" in said and "1 call to NeutronBackend" in said
    assert "verified by an interpreter in PyTorch, which is not NXP's converter and arithmetic" in said
    done = run(*command, "--quantize", "int8", folder=tmp_path, reference=False)
    assert done.returncode != 0 and "NXP's converter is not installed" in " ".join(done.stderr.split())


def test_the_script_exports_the_example(tmp_path: Path) -> None:
    """NXP-01, NXP-03: CifarNet is one delegate."""
    script = ROOT / "examples" / "nxp" / "aot_neutron_compile.sh"
    made = run(script, "cifar10", "-o", "folder", folder=tmp_path, reference=True)
    assert made.returncode == 0 and made.stdout == "wrote folder/cifar10_nxp_delegate.pte\n", made.stderr
    ReferenceProgram(tmp_path / "folder" / "cifar10_nxp_delegate.pte")
    wrong = run(script, "cifar10", "-t", "imx95", folder=tmp_path, reference=True)
    assert wrong.returncode == 1 and "there is no target 'imx95' of Neutron; expected imxrt700" in wrong.stderr
    missing = run(script, "cifar10", folder=tmp_path, reference=False)
    assert missing.returncode == 1 and "NXP's converter is not installed" in missing.stderr


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


def test_the_script_draws_the_partitions(tmp_path: Path) -> None:
    """VIS-09"""
    pytest.importorskip("model_explorer", reason="pip install 'pte-sdk[visualization]'")
    script = ROOT / "examples" / "nxp" / "aot_neutron_compile.sh"
    made = run(script, "cifar10", "--visualize", "store", folder=tmp_path, reference=True)
    assert made.returncode == 0, made.stderr
    saved = json.loads((tmp_path / "cifar10_partitions.json").read_text())
    groups = {node["id"]: node["namespace"] for node in saved["graphs"][0]["nodes"]}
    assert groups["aten_convolution_default"] == "partition 0 (tag_0)"
