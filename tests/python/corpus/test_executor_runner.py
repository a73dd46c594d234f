# SPDX-License-Identifier: BSD-3-Clause
"""The C++ program executor_runner. The tests run if a build folder contains it or SDK_EXECUTOR_RUNNER names it (its
file, or the command of an emulator with one)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from corpus_programs import calls, check, data_file, dim_orders, program_file, program_names

from sdk.devtools import Inspector
from sdk.exir import to_edge
from sdk.exir._serialize._program import deserialize_pte_binary

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "tests" / "data" / "corpus"


def find_runner() -> list[str]:
    if named := os.environ.get("SDK_EXECUTOR_RUNNER"):
        return shlex.split(named)
    return [str(path) for path in ROOT.glob("build*/**/executor_runner/executor_runner")][:1]


DYN_BATCH: list[object] = ["--model_path", CORPUS / "dyn_batch" / "model.pte"]
ONE_ROW = CORPUS / "dyn_batch" / "call0_in0.bin"
RUNNER = find_runner()
pytestmark = pytest.mark.skipif(not RUNNER, reason="executor_runner is not built (set SDK_EXECUTOR_RUNNER)")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUNNER, *map(str, arguments)], capture_output=True, text=True, check=False)


def runs_with_raw_files(name: str) -> bool:
    """The runner reads only tensors from files; programs with other inputs are tested from Python."""
    return all(isinstance(value, np.ndarray) for value in calls(name)[0].inputs)


DYNAMIC = ("dyn_batch", "dyn_batch_xnn")
"""Programs that are called with several sizes; the files of each call have its sizes after their names."""
CALLS = [
    (name, index)
    for name in program_names()
    if runs_with_raw_files(name)
    for index in range(len(calls(name)) if name in DYNAMIC else 1)
]


@pytest.mark.parametrize(("name", "index_of_call"), CALLS)
def test_corpus_outputs_are_those_of_eager(name: str, index_of_call: int, tmp_path: Path) -> None:
    call = calls(name)[index_of_call]
    input_orders, output_orders = dim_orders(name, index_of_call)
    files = []
    for index, (value, order) in enumerate(zip(call.inputs, input_orders, strict=True)):
        file = tmp_path / f"in{index}.bin"
        file.write_bytes(value.transpose(order).tobytes())
        files.append(f"{file}:{'x'.join(map(str, value.shape))}" if name in DYNAMIC else str(file))
    arguments = [f"--model_path={program_file(name)}", f"--output_file={tmp_path / 'out'}"]
    arguments += [f"--inputs={','.join(files)}"] if files else []
    arguments += [f"--data_path={data_file(name)}"] if data_file(name) else []
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert not re.search("^E ", done.stderr, re.MULTILINE), "an error is logged where nothing failed"
    orders = iter(output_orders)
    for index, expected in enumerate(call.outputs):
        if not isinstance(expected, np.ndarray):
            shown = str(expected) if expected is not None else "None"
            assert f"OutputX {index}: {shown}\n" in done.stdout
            continue
        order = next(orders)
        stored = np.fromfile(tmp_path / f"out-{index}.bin", expected.dtype)
        found = stored.reshape([expected.shape[dim] for dim in order]).transpose(np.argsort(order).astype(int))
        check(found, expected, f"output {index}", name)


def test_rtc_06_and_07_log_and_output() -> None:
    done = run("--model_path", CORPUS / "add" / "model.pte", "--num_executions=3")
    assert done.returncode == 0, done.stderr
    lines = [
        "is loaded.",
        "Program methods: 1",
        "Running method forward",
        "Setting up non-const buffer 1, size ",
        "Setting up memory manager",
        "Loading method name from plan",
        "Method loaded.",
        "Inputs prepared.",
        "Model executed successfully 3 time(s) in ",
        "1 outputs:",
    ]
    position = 0
    for line in lines:
        position = done.stderr.index(line, position)
    assert "executor_runner.cpp:" in done.stderr
    assert done.stdout == "OutputX 0: tensor(sizes=[2, 3], [2., 2., 2., 2., 2., 2.])\n"


def test_instruction_sets_are_logged_when_asked_for() -> None:
    arguments = ["--model_path", CORPUS / "add" / "model.pte", "--noprint_output"]
    assert "Kernels (optimized): " in run(*arguments, "--verbose").stderr
    assert "Kernels (" not in run(*arguments).stderr


def test_sizes_of_planned_memory_are_logged() -> None:
    """MEM-14: one line for each buffer that the program plans, with the size that the program has."""
    file = CORPUS / "add" / "model.pte"
    (plan,) = deserialize_pte_binary(file.read_bytes()).program.execution_plan
    done = run("--model_path", file)
    for number, size in enumerate(plan.non_const_buffer_sizes[1:], 1):
        assert size > 0
        assert f"Setting up non-const buffer {number}, size {size}." in done.stderr


def test_files_in_and_out(tmp_path: Path) -> None:
    folder = CORPUS / "linear"
    done = run(
        f"-model_path={folder / 'model.pte'}",
        f"--inputs={folder / 'call0_in0.bin'}",
        f"--output_file={tmp_path / 'out'}",
        "--noprint_output",
    )
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "out-0.bin", np.float32)
    np.testing.assert_allclose(found, np.fromfile(folder / "call0_out0.bin", np.float32), rtol=1e-5, atol=1e-6)
    assert done.stdout == ""


def test_each_run_gets_the_inputs(tmp_path: Path) -> None:
    """RTC-06: an input in planned memory, which a later tensor overwrites, is set again before the next run."""

    class Chain(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ((x + 1) * 2).exp() - 3

    x = torch.linspace(-1, 1, 12)
    program = tmp_path / "chain.pte"
    program.write_bytes(to_edge(torch.export.export(Chain(), (x,))).to_executorch().buffer)
    (tmp_path / "x.bin").write_bytes(x.numpy().tobytes())
    done = run(
        f"--model_path={program}",
        f"--inputs={tmp_path / 'x.bin'}",
        f"--output_file={tmp_path / 'out'}",
        "--num_executions=3",
    )
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "out-0.bin", np.float32)
    np.testing.assert_allclose(found, Chain()(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["spelled out", "by itself"])
def test_etdump(tmp_path: Path, how: str) -> None:
    """INS-13, ETD-05: the ETDump is written to the requested file, its size is logged, and the Inspector reads it."""
    path = tmp_path / "runs.etdp"
    flag = [f"--etdump_path={path}"] if how == "spelled out" else ["--etdump_path", path]
    done = run("--model_path", CORPUS / "add" / "model.pte", "--num_executions=3", *flag)
    if "cannot trace" in done.stderr:
        pytest.skip("executor_runner is built without an event tracer")
    assert done.returncode == 0, done.stderr
    assert f"Write etdump to {path}, Size = {path.stat().st_size}\n" in done.stderr
    (block,) = [block for block in Inspector(etdump_path=str(path)).event_blocks if block.name == "Execute"]
    times = {event.name: event.perf_data.raw for event in block.events if event.perf_data is not None}
    assert len(times["native_call_add.out"]) == 3
    assert list(times)[-1] == "Method::execute"


def test_bundled_program(tmp_path: Path) -> None:
    """BUN-15, BIO-06: the runner prints the documented lines; wrong outputs are an error."""
    file = CORPUS / "bundled" / "model.bpte"
    done = run("--model_path", file, "--bundled_program", "--noprint_output")
    assert done.returncode == 0, done.stderr
    position = 0
    for line in (
        f"Model file {file} is loaded.",
        "Method loaded.",
        "Loading bundled program...",
        "Inputs prepared.",
        "Model executed successfully",
        "Model verified successfully.",
    ):
        position = done.stderr.index(line, position)
    content = bytearray(file.read_bytes())
    content[content.find((CORPUS / "bundled" / "call0_out0.bin").read_bytes()) + 3] ^= 0x80  # the sign of a number
    (tmp_path / "wrong.bpte").write_bytes(content)
    done = run("--model_path", tmp_path / "wrong.bpte", "--bundled_program")
    assert done.returncode == 1
    assert "The outputs are not those of the first test case of forward" in done.stderr
    assert "verified successfully" not in done.stderr
    (tmp_path / "cut.bpte").write_bytes(file.read_bytes()[:100])
    assert run("--model_path", tmp_path / "cut.bpte", "--bundled_program").returncode == 1


def test_external_data(tmp_path: Path) -> None:
    folder = CORPUS / "ptd_portable"
    arguments = [f"--model_path={folder / 'model.pte'}", f"--inputs={folder / 'call0_in0.bin'}"]
    weights = f"--data_path={folder / '_default_external_constant.ptd'}"
    assert run(*arguments, weights, f"--output_file={tmp_path / 'out'}").returncode == 0
    found = np.fromfile(tmp_path / "out-0.bin", np.float32)
    np.testing.assert_allclose(found, np.fromfile(folder / "call0_out0.bin", np.float32), rtol=1e-5, atol=1e-6)
    assert run(*arguments).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--model_path=no/such/file.pte"], 1, "No such file or directory"),
        (["--model_path", CORPUS / "README.md"], 1, "Cannot use the model file"),
        (["--model_path", CORPUS / "add" / "model.pte", "--method_name=backward"], 1, "has the method 'forward'"),
        (["--model_path", CORPUS / "add" / "model.pte", "--inputs=no/such.bin"], 1, "no/such.bin cannot be opened"),
        (["--model_path", CORPUS / "add" / "model.pte", f"--inputs={CORPUS / 'README.md'}"], 1, "expected 24 bytes"),
        (["--model_path", CORPUS / "add" / "model.pte", f"--inputs={CORPUS}"], 1, "expected a file, found a directory"),
        ([*DYN_BATCH, f"--inputs={CORPUS}:1x4"], 1, "expected a file, found a directory"),
        ([*DYN_BATCH, "--inputs=/dev/zero:1x4"], 1, "found something that is not a regular file"),
        (["--model_path", CORPUS / "add" / "model.pte", "--bundled_program"], 1, "is not a bundled program"),
        ([*DYN_BATCH, f"--inputs={ONE_ROW}"], 1, "expected "),
        ([*DYN_BATCH, f"--inputs={ONE_ROW}:99x9"], 1, "expected sizes of at most ["),
        ([*DYN_BATCH, f"--inputs={ONE_ROW}:1"], 1, "expected sizes of at most ["),
        ([*DYN_BATCH, f"--inputs={ONE_ROW}:1y"], 1, "1y cannot be opened"),
        (["--model"], 2, "unknown option '--model'"),
        (["--num_executions=0"], 2, "at least 1"),
    ],
)
def test_mistakes(arguments: list[object], status: int, message: str) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stdout == ""


def test_help() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--model_path FILE" in done.stdout
