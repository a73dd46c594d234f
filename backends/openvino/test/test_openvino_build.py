# SPDX-License-Identifier: BSD-3-Clause
"""The script that builds the backend and a runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from openvino_lowering import lower

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / "cmake-out"


@pytest.mark.slow
def test_the_build_script(tmp_path: Path) -> None:
    """OVN-03: the script builds the library, and a runner that links it runs a program of the backend."""
    subprocess.run([ROOT / "backends/openvino/scripts/openvino_build.sh"], check=True)
    assert (BUILT / "backends/openvino/libopenvino_backend.a").stat().st_size > 0
    program = tmp_path / "model.pte"
    program.write_bytes(lower(torch.nn.Linear(4, 2).eval(), (torch.ones(1, 4),)).buffer)
    runner = BUILT / "examples/portable/executor_runner/executor_runner"
    done = subprocess.run([runner, f"--model_path={program}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "OutputX 0" in done.stdout + done.stderr, done.stderr
