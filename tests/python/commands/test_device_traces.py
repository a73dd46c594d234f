# SPDX-License-Identifier: BSD-3-Clause
"""docs/device_traces.md: an ETDump of a runtime in another process, combined with the ETRecord of the export."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Files, Result

from sdk.test._runtimes import find_runners

ROOT = Path(__file__).resolve().parents[3]
ANDROID = ROOT / "sdk/android/executorch_android/api/executorch_android.api"
SWIFT = ROOT / "sdk/ios/Sources/ExecuTorch"


def test_a_trace_of_executor_runner(sdk: Callable[..., Result], files: Files, tmp_path: Path) -> None:
    """PROF-03: executor_runner has a flag for ETDumps, and writes one of 20 runs with the operators inside of the
    backend.

    The page does the same with a board: the events have the operators and source lines of the model.
    """
    runner = next(iter(find_runners()), None)
    if runner is None:
        pytest.skip("executor_runner is not built (set SDK_EXECUTOR_RUNNER)")
    shown = subprocess.run([runner.path, "--help"], capture_output=True, text=True, check=True).stdout
    assert {"--etdump_path", "--num_executions"} <= set(shown.split())
    dump = tmp_path / "run.etdp"
    arguments = [f"--model_path={files['net.pte']}", "--num_executions=20", f"--etdump_path={dump}", "--noprint_output"]
    done = subprocess.run([runner.path, *arguments], capture_output=True, text=True, check=False)
    if "cannot trace" in done.stderr:
        pytest.skip("this executor_runner was built without EXECUTORCH_ENABLE_EVENT_TRACER")
    assert done.returncode == 0, done.stderr
    found = sdk(
        "inspect", "--etdump", dump, "--etrecord", files["net.etrecord"], "--json", "--trace", tmp_path / "t.json"
    )
    assert found.status == 0, found.err
    (block,) = [block for block in found.json["blocks"] if block["name"] == "Execute"]
    assert block["runs"] == 20
    assert any(event["delegated"] for event in block["events"])
    operators = {name for event in block["events"] for name in event["operators"]}
    assert {"aten.convolution.default", "aten.linear.default", "aten.cumsum.default"} <= operators
    assert any("conftest.py:" in source for event in block["events"] for source in event["sources"])
    assert (tmp_path / "t.json").stat().st_size > 1000


def test_the_calls_of_the_page_are_those_of_the_libraries() -> None:
    """Every method that the page's Kotlin and Swift call on a module is public there; DevtoolsTest runs them."""
    page = (ROOT / "docs" / "device_traces.md").read_text(encoding="utf-8")
    kotlin, swift = ANDROID.read_text(encoding="utf-8"), "".join(p.read_text() for p in sorted(SWIFT.glob("*.swift")))
    for language, library, pattern in (("kotlin", kotlin, r" {name}\("), ("swift", swift, r"public func {name}\(")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        called = set(re.findall(r"\bmodule\.(\w+)\(", block)) | set(re.findall(r"\bModule\.(\w+)\(", block))
        assert {"executeBundled", "verifyBundled", "etdump"} <= called
        for name in called:
            assert re.search(pattern.format(name=name), library), f"{language}: there is no {name}"
    assert "public init(bundledFilePath:" in swift
