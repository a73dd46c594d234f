# SPDX-License-Identifier: BSD-3-Clause
"""The scripts that build the runners of Apple's delegates. A program that replaces CMake records its calls."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

_EXAMPLES = Path(__file__).parents[3] / "examples" / "apple"


def _calls(script: Path, folder: Path, *arguments: str) -> list[list[str]]:
    (folder / "bin").mkdir()
    cmake = folder / "bin" / "cmake"
    cmake.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s\\t" "$each"; done >>"$CALLS"\necho >>"$CALLS"\n')
    cmake.chmod(0o755)
    calls = folder / "calls"
    environment = {**os.environ, "PATH": f"{cmake.parent}:{os.environ['PATH']}", "CALLS": str(calls)}
    subprocess.run([script, *arguments], check=True, env={**environment, "CMAKE_OUT": "out"}, capture_output=True)
    return [line.split("\t")[:-1] for line in calls.read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "script"),
    [("coreml", "coreml/scripts/build_executor_runner.sh"), ("mps", "mps/scripts/build_mps_executor_runner.sh")],
)
def test_the_script_of_a_runner(name: str, script: str, tmp_path: Path) -> None:
    """MPS-04, UCPP-03: the script configures the delegate with the calls of event tracers, and builds only the
    runner."""
    configure, build = _calls(_EXAMPLES / script, tmp_path, "-DMORE=1")
    assert {f"-DEXECUTORCH_BUILD_{name.upper()}=ON", "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON", "-DMORE=1"} <= {*configure}
    assert configure[configure.index("-B") + 1] == "out"
    assert build[:4] == ["--build", "out", "--target", f"{name}_executor_runner"]
