# SPDX-License-Identifier: BSD-3-Clause
"""Recorded tests, which `vulkan_replay` repeats without Python."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import device_program
import pytest
import torch
from device_program import DeviceProgram
from eager import check, check_together
from hand_built import numbers
from test_device_state import cached
from torch import nn

REPLAY = os.environ.get("VULKAN_REPLAY", "")
pytestmark = pytest.mark.skipif(not REPLAY, reason="VULKAN_REPLAY does not name the program vulkan_replay")


def replay(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([REPLAY, *map(str, words)], capture_output=True, text=True, timeout=120)


def check_with_options(
    parts: Mapping[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]],
    options: Iterable[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    half: bool = False,
) -> None:
    """Checks the parts, and again with each option of the backend (`least_threads=4096`)."""
    repeats = REPLAY and device_program.VARIABLE not in os.environ
    if repeats:
        monkeypatch.setenv(device_program.VARIABLE, str(folder))
    check_together(parts, half)
    if repeats:
        device_program.write_recorded("with_options::test")
        for option in options:
            done = replay("--option", option, folder)
            written = done.stdout + done.stderr
            assert done.returncode == 0 and "Validation" not in written, f"{option}: {written}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(device_program.VARIABLE, str(tmp_path / "recorded"))
    return tmp_path / "recorded"


def record_state() -> DeviceProgram:
    """Records attention over caches, whose second call reads what the first one wrote."""
    filled = numbers(1, 12, 2, 8)
    program, k_cache, v_cache = cached(False, "llama.", False, filled), filled.clone(), filled * 2
    for step, start in enumerate((0, 4)):
        q, k, v = numbers(1, 4, 4, 8, seed=step), numbers(1, 4, 2, 8, seed=step + 10), numbers(1, 4, 2, 8, seed=step)
        expected = torch.ops.llama.sdpa_with_kv_cache(q, k, v, k_cache, v_cache, start, 4, None, 0.0, True, None)
        program.check([q, k, v, torch.tensor([start], dtype=torch.int32)], expected, 1e-4, 1e-4)
    return program


def test_recorded_programs_are_replayed(folder: Path) -> None:
    """Programs with dynamic shapes, state and float16 are replayed, with times of executions and of dispatches."""
    rows = torch.export.Dim("rows", min=1, max=9)
    check(nn.Linear(8, 6), (numbers(7, 8),), (numbers(1, 8),), (numbers(9, 8),), dynamic=({0: rows},))
    check(lambda x: (torch.softmax(x, -1), x.argmax(-1)), (numbers(3, 5).half().float(),), half=True)
    record_state()
    device_program.write_recorded("a/test_file.py::test[b-c]")
    assert len(list(folder.rglob("*.bpte"))) == 3
    done = replay("--cache-folder", folder, "--repeat", "3", "--dispatches", "--info", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "3 programs, 0 failed" and "Vulkan 1." in lines[1]
    assert [line.split(",")[0] for line in lines if line.startswith("ok")] == [
        "ok test_file/test_b-c.0: 4 calls",
        "ok test_file/test_b-c.1: 2 calls",
        "ok test_file/test_b-c.2: 2 calls",
    ]
    assert done.stdout.count("later calls: median") == 3
    assert sum("KiB of GPU memory" in line and "most -1" not in line for line in lines) == 3
    assert "dispatches: sum" in done.stdout or "no times of dispatches" in done.stdout


def test_differences_and_damaged_recordings_are_failures(folder: Path) -> None:
    """One program fails for each reason, and the others are replayed."""
    for _ in range(5):
        record_state()
    wrong_value, wrong_mean, *_ = device_program.recorded()
    wrong_value.cases["forward"][1][1][0][0, 0, 0, 0] += 1e-2
    wrong_mean.lines[0] = wrong_mean.lines[0].replace(" inf", " -1.0")
    device_program.write_recorded("test_file.py::test")
    file = folder / "test_file"
    data = (file / "test.2.bpte").read_bytes()
    (file / "test.2.bpte").write_bytes(data[: len(data) // 2])
    (file / "test.3.calls").unlink()
    done = replay(folder)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "5 programs, 4 failed"
    for line in (
        "FAILED test_file/test.0: 1 calls",
        "call 1 (forward) differs from what is expected",
        "FAILED test_file/test.1: 0 calls",
        "call 0 (forward) differs from what is expected",
        "it is not a bundled program",
        "the file or its list of calls cannot be read",
        "ok test_file/test.4: 2 calls",
    ):
        assert line in done.stdout, line


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--fast"], "there is no option --fast"),
        (["--repeat"], "--repeat needs a value"),
        (["--repeat", "-3"], "--repeat needs a number, found -3"),
        (["--device", "two"], "--device needs a number, found two"),
        (["--option", "least_threads"], "--option needs KEY=NUMBER, found least_threads"),
        (["--option", "least_threads=4x"], "--option needs KEY=NUMBER, found least_threads=4x"),
        ([], "usage: vulkan_replay"),
    ],
)
def test_wrong_command_lines(words: list[str], problem: str) -> None:
    done = replay(*words)
    assert done.returncode == 2 and problem in done.stderr
