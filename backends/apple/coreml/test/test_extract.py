# SPDX-License-Identifier: BSD-3-Clause
"""Writing the packages of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lowering import FP32, lower

from sdk.backends.apple.coreml.verify import CoreMLProgram
from sdk.exir import to_edge

SCRIPT = Path(__file__).resolve().parents[4] / "examples/apple/coreml/scripts/extract_coreml_models.py"


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)


def test_every_delegate_is_written(tmp_path: Path) -> None:
    """CML-19: a graph with a break has several packages, and each computes its part."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    lowered = lower(model, (torch.randn(2, 4),), FP32, skip_ops_for_coreml_delegation=["aten.relu.default"])
    (tmp_path / "m.pte").write_bytes(lowered.manager.to_executorch().buffer)
    done = _run("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("linear x1") == 2
    first, second = (CoreMLProgram.from_package(path) for path in sorted((tmp_path / "out").glob("*/model.mlpackage")))
    x = torch.randn(2, 4)
    (hidden,) = first.run("main", [x])
    (result,) = second.run("main", [hidden.relu()])
    assert torch.allclose(result, model(x), atol=1e-5)
    again = _run("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert again.returncode == 1 and "exists already" in again.stderr


@pytest.mark.parametrize(("content", "words"), [(b"no program", "error:"), (None, "No such file")])
def test_files_that_are_no_programs(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "m.pte").write_bytes(content)
    done = _run("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_inspect_lists_and_writes_the_models(tmp_path: Path) -> None:
    """CML-19: `sdk inspect` names them; with --models it writes them and names their operations."""
    model = torch.nn.Linear(4, 3).eval()
    lowered = lower(model, (torch.randn(2, 4),), FP32)
    (tmp_path / "m.pte").write_bytes(lowered.manager.to_executorch().buffer)

    def inspect(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sdk.inspect", str(tmp_path / "m.pte"), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    listed = inspect()
    assert listed.returncode == 0, listed.stderr
    assert "coreml, in forward" in listed.stdout and "linear  1" not in listed.stdout
    written = inspect("--models", str(tmp_path / "out"))
    assert written.returncode == 0, written.stderr
    assert "linear  1" in written.stdout
    (path,) = (tmp_path / "out").glob("*/model.mlpackage")
    x = torch.randn(2, 4)
    assert torch.allclose(CoreMLProgram.from_package(path).run("main", [x])[0], model(x), atol=1e-5)
    again = inspect("--models", str(tmp_path / "out"))
    assert again.returncode == 2 and "exists already" in again.stderr
    (tmp_path / "m.pte").write_bytes(to_edge(torch.export.export(model, (x,))).to_executorch().buffer)
    none = inspect("--models", str(tmp_path / "none"))
    assert none.returncode == 2 and "expected a delegate of a backend with models (coreml)" in none.stderr
    assert not (tmp_path / "none").exists()
