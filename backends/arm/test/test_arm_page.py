# SPDX-License-Identifier: BSD-3-Clause
"""The page for users, and the commands that it shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import forked
from documents.blocks import blocks
from sdk.backends.arm.vgf.extract import files_of

ROOT = Path(__file__).resolve().parents[3]


def test_the_python_blocks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VGF-01, VGF-02, VGF-03, VGF-04: the page's code, in order, and the extraction of what it wrote."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    code = [block for block in blocks(ROOT / "docs" / "backends-vgf.md") if block.language == "python"]
    assert len(code) >= 3
    for block in code:
        exec(compile(block.code, f"{block.page}:{block.line}", "exec"), names)
    forked.run("-m", "sdk.backends.arm.vgf.extract", "model.pte", "files", cwd=tmp_path, check=True)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["forward_0.vgf"]


MODEL = """
import torch
def model():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
"""


def test_the_command(tmp_path: Path) -> None:
    """VGF-01, VGF-04: `--backend vgf --quantize int8`; the summary says that nothing ran the program."""
    (tmp_path / "m.py").write_text(MODEL)
    command = ["-m", "sdk.export", "m.py:model", "--input", "1x3x9x9:float32", "--backend", "vgf"]
    done = forked.run(*command, "--quantize", "int8", cwd=tmp_path)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, text
    assert "1 call to VgfBackend" in text
    assert "neither the installed runtime nor a declared runner runs VgfBackend" in text
    assert list(files_of((tmp_path / "model.pte").read_bytes())) == ["forward_0.vgf"]


def run_the_notebook() -> None:
    """Runs its cells in order, which write simple_example.pte to the current folder."""
    cells = json.loads((ROOT / "examples/arm/vgf_minimal_example.ipynb").read_text())["cells"]
    names: dict[str, object] = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VGF-11, VGF-04, VGF-05"""
    monkeypatch.chdir(tmp_path)
    run_the_notebook()
    assert list(files_of((tmp_path / "simple_example.pte").read_bytes())) == ["forward_0.vgf"]


def test_the_compiler_of_the_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ETU-10, ETU-11: the compiler for `--target=vgf` and for an Ethos-U, and its errors."""
    sys.path.insert(0, str(ROOT))
    try:
        from examples.arm.aot_arm_compiler import main
    finally:
        sys.path.remove(str(ROOT))
    output = tmp_path / "simple_example.pte"
    arguments = ["--model_name=add", "--delegate", "--quantize", f"--output={output}", "--target=vgf"]
    assert main([*arguments, f"--intermediates={tmp_path}"]) == 0
    assert f"Wrote {output}" in capsys.readouterr().out
    assert list(files_of(output.read_bytes()).values()) == [(tmp_path / "partition_0.vgf").read_bytes()]
    npu = tmp_path / "ethos_u_minimal_example.pte"
    arguments = ["--model_name=add", "--delegate", "--quantize", f"--output={npu}", "--target=ethos-u55-128"]
    assert main([*arguments, f"--intermediates={tmp_path / 'npu'}"]) == 0
    assert b"EthosUBackend" in npu.read_bytes() and b"vela_bin_stream" in npu.read_bytes()
    assert {path.suffix for path in (tmp_path / "npu").iterdir()} == {".tosa", ".npz", ".txt"}
    assert main(["--model_name=add", "--delegate", "--target=ethos-u55-1"]) == 1
    assert "'ethos-u55-1' is not an Ethos-U; there are ethos-u55-32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "the packages have licences"),
        (("--i-agree-to-the-contained-eula", "--disable-ethos-u-deps"), "nothing to install"),
        (("--nonsense",), "unknown option --nonsense"),
    ],
)
def test_the_setup_refuses_wrong_options(options: tuple[str, ...], message: str) -> None:
    """The step `arm` tests the installation itself."""
    done = subprocess.run([ROOT / "examples/arm/setup.sh", *options], capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr
