# SPDX-License-Identifier: BSD-3-Clause
"""Writing the packages of a program."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lowering import FP32, lower

from sdk.backends.apple.coreml.verify import CoreMLProgram
from sdk.exir import to_edge
from sdk.inspect.__main__ import main as inspect

SCRIPT = Path(__file__).resolve().parents[4] / "examples/apple/coreml/scripts/extract_coreml_models.py"


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the script in this process, which saves its imports: the exit status, and what it prints."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return run


def test_every_delegate_is_written(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    """CML-19: a graph with a break has several packages, and each computes its part."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    lowered = lower(model, (torch.randn(2, 4),), FP32, skip_ops_for_coreml_delegation=["aten.relu.default"])
    (tmp_path / "m.pte").write_bytes(lowered.manager.to_executorch().buffer)
    status, listed, errors = command("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert status == 0, errors
    assert listed.count("linear x1") == 2
    first, second = (CoreMLProgram.from_package(path) for path in sorted((tmp_path / "out").glob("*/model.mlpackage")))
    x = torch.randn(2, 4)
    (hidden,) = first.run("main", [x])
    (result,) = second.run("main", [hidden.relu()])
    assert torch.allclose(result, model(x), atol=1e-5)
    status, _, errors = command("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert status == 1 and "exists already" in errors


@pytest.mark.parametrize(("content", "words"), [(b"no program", "error:"), (None, "No such file")])
def test_files_that_are_no_programs(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "m.pte").write_bytes(content)
    done = _run("-m", tmp_path / "m.pte", "-o", tmp_path / "out")
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_inspect_lists_and_writes_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CML-19: `sdk inspect` names the packages; with --models it writes them and names their operations."""
    model = torch.nn.Linear(4, 3).eval()
    lowered = lower(model, (torch.randn(2, 4),), FP32)
    (tmp_path / "m.pte").write_bytes(lowered.manager.to_executorch().buffer)
    assert inspect([str(tmp_path / "m.pte")]) == 0
    listed = capsys.readouterr().out
    assert "coreml, in forward" in listed and "linear  1" not in listed
    models = [str(tmp_path / "m.pte"), "--models", str(tmp_path / "out")]
    assert inspect(models) == 0
    assert "linear  1" in capsys.readouterr().out
    (path,) = (tmp_path / "out").glob("*/model.mlpackage")
    x = torch.randn(2, 4)
    assert torch.allclose(CoreMLProgram.from_package(path).run("main", [x])[0], model(x), atol=1e-5)
    assert inspect(models) == 2
    assert "exists already" in capsys.readouterr().err
    (tmp_path / "m.pte").write_bytes(to_edge(torch.export.export(model, (x,))).to_executorch().buffer)
    assert inspect([str(tmp_path / "m.pte"), "--models", str(tmp_path / "none")]) == 2
    assert "expected a delegate of a backend with models (coreml)" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
