# SPDX-License-Identifier: BSD-3-Clause
"""Tests `sdk.export --backend` for a vendor's NPU, with reference payloads, which an interpreter verifies, and without
the vendor's compiler; and tests scripts of examples."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sdk.export.cli import main

_MODEL = """
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()


def example_inputs():
    return (torch.randn(1, 3, 16, 16),)
"""


def check_export_command(
    backend: str,
    delegate: str,
    compiler: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *schemes: Sequence[str],
) -> None:
    """Exports a model with the options of each scheme, in this process, which has imported torch already.

    Args:
        delegate: The name by which the program calls the backend.
        compiler: The name by which messages call the program that is missing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "1")
        Path("my_model.py").write_text(_MODEL)
        command = ["my_model.py:model", "--backend", backend, "-o", "model.pte"]
        for scheme in schemes:
            status = main([*command, *scheme])
            said = " ".join("".join(capsys.readouterr()).split())
            assert status == 0, said
            assert "the program agrees with PyTorch" in said and f"1 call to {delegate}" in said
            assert f"verified by an interpreter in PyTorch, which is not {compiler} and arithmetic" in said
        patch.setenv("EXECUTORCH_REFERENCE_PAYLOADS", "0")
        assert main([*command, *schemes[-1]]) != 0
        assert f"{compiler} is not installed" in " ".join(capsys.readouterr().err.split())


def run_script(script: Path, *arguments: str) -> int:
    """The exit status of a script that this process runs, which has imported torch already."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", [str(script), *arguments])
        runpy.run_path(str(script), run_name="__main__")
    return int(ended.value.code or 0)
