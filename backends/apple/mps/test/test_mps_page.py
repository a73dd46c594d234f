# SPDX-License-Identifier: BSD-3-Clause
"""The command of the page, and the example script. The step `documents` runs the page's code."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mps_cases import floats

import forked
from sdk.backends.apple.mps.verify.program import ReferenceProgram
from sdk.devtools import parse_etrecord
from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program

ROOT = Path(__file__).resolve().parents[4]
MODEL = """
import torch

class Gram(torch.nn.Module):
    def forward(self, x):
        return torch.special.bessel_j0(x @ x.mT).relu() + x.mean()

gram = Gram()
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", *arguments, cwd=folder)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the example script in this process, which saves its imports, and returns what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["mps_example", *arguments])
        importlib.import_module("examples.apple.mps.scripts.mps_example").main()
        return capsys.readouterr().out

    return call


def test_the_command_verifies_by_the_interpreter(tmp_path: Path) -> None:
    """The command also reports that the interpreter does not use Apple's arithmetic. The operator that stays outside is
    computed, too."""
    (tmp_path / "m.py").write_text(MODEL)
    done = run(tmp_path, "sdk.export", "m.py:gram", "--input", "2x16:float32", "--backend", "mps")
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, text
    assert "not Apple's arithmetic" in text
    assert "aten::special_bessel_j0.out" in text
    assert "(0.005 allowed)" in text


def test_the_example_writes_bundled_programs(tmp_path: Path) -> None:
    """MPS-02: mv3_mps_float16_bundled.pte, whose test case the interpreter verifies."""
    for name in ("examples", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    module = "examples.apple.mps.scripts.mps_example"
    done = run(tmp_path, module, "--model_name=mv3", "--bundled", "--use_fp16")
    assert done.returncode == 0, done.stdout + done.stderr
    file = tmp_path / "mv3_mps_float16_bundled.pte"
    bundle = deserialize_from_flatbuffer_to_bundled_program(file.read_bytes())
    (suite,) = bundle.method_test_suites
    (case,) = suite.test_cases
    (tmp_path / "mv3.pte").write_bytes(bundle.program)
    assert b"MPSBackend" in bundle.program

    def tensor(value: object) -> torch.Tensor:
        stored = value.val  # type: ignore[attr-defined]
        return torch.frombuffer(bytearray(stored.data), dtype=torch.float32).reshape(stored.sizes)

    (result,) = ReferenceProgram(tmp_path / "mv3.pte").run_method("forward", [tensor(v) for v in case.inputs])
    (expected,) = (tensor(v) for v in case.expected_outputs)
    assert torch.allclose(result, expected, atol=5e-3 * max(1.0, float(expected.abs().max())))


def test_the_example_compares_with_pytorch(example: Callable[..., str], tmp_path: Path) -> None:
    """The example reports that the interpreter, which does not use Apple's arithmetic, computed the results. ETR-08:
    `--generate_etrecord` writes an ETRecord of the program."""
    text = example("--model_name=add_mul", "--no-use_fp16", "--check_correctness", "--generate_etrecord")
    assert "not Apple's arithmetic" in text
    assert "PyTorch forward pass for add_mul_mps are matching!" in text
    assert (tmp_path / "add_mul_mps_float32.pte").exists()
    record = parse_etrecord(str(tmp_path / "etrecord.bin"))
    operators = [str(node.target) for node in record.edge_dialect_program.graph.nodes if node.op == "call_function"]
    assert any("mm" in name for name in operators) and any("add" in name for name in operators), operators


def test_the_example_lowers_whole_programs(example: Callable[..., str], tmp_path: Path) -> None:
    """MPS-03: the example uses the partitioner by default; without it, an operator that MPS lacks is an
    error."""
    example("-m", "softmax", "--no-use_partitioner", "--use_fp16", "-c")
    assert (tmp_path / "softmax_mps_float16.pte").exists()
    with pytest.raises(SystemExit, match="--use_partitioner"):
        example("-m", "cond", "--no-use_partitioner")
    assert not list(tmp_path.glob("cond*"))
    assert "cond_mps are matching!" in example("-m", "cond", "-c")


def test_the_example_lists_its_options(example: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    """MPS-02"""
    with pytest.raises(SystemExit) as end:
        example("--help")
    assert end.value.code == 0
    text = capsys.readouterr().out
    for option in ("--use_partitioner, --no-use_partitioner", "--use_fp16, --no-use_fp16", "--check_correctness",
                   "--bench_pytorch", "--generate_etrecord", "-b, --bundled", "--model_name"):  # fmt: skip
        assert option in text, option


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this is a Mac")
def test_measuring_needs_a_mac(example: Callable[..., str]) -> None:
    with pytest.raises(SystemExit, match="needs a Mac"):
        example("-m", "add", "--bench_pytorch")


def test_programs_keep_their_results_between_runs(tmp_path: Path) -> None:
    """A second call does not see the first one's values."""
    from mps_lowering import lower, reference

    program = reference(lower(torch.nn.Linear(4, 3), (floats(2, 4),)), tmp_path)
    first = program.run_method("forward", (floats(2, 4),))[0]
    program.run_method("forward", (floats(2, 4, seed=5),))
    assert torch.equal(first, program.run_method("forward", (floats(2, 4),))[0])
