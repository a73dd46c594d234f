# SPDX-License-Identifier: BSD-3-Clause
"""The lists of XNNPACK's micro-kernels are made once for all build folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "microkernel_lists"
UPDATE = """
import pathlib, sys
calls = pathlib.Path(__file__).parents[2] / "calls"
calls.write_text(calls.read_text() + "x")
folder = pathlib.Path(sys.argv[2]) / "cmake/gen"
folder.mkdir(parents=True, exist_ok=True)
(folder / "microkernels.cmake").write_text("the lists")
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "third_party/xnnpack/tools").mkdir(parents=True)
    (tmp_path / "third_party/xnnpack/tools/update-microkernels.py").write_text(UPDATE)
    (tmp_path / "third_party/calls").write_text("")
    return tmp_path / "third_party"


def write_lists(sources: Path, output: Path) -> int:
    """Returns how often XNNPACK's script has run."""
    script = sources / "xnnpack/tools/update-microkernels.py"
    environment = {**os.environ, "EXECUTORCH_PYTHON": sys.executable}
    subprocess.run([SCRIPT, script, "--output", output], check=True, env=environment)
    assert (output / "cmake/gen/microkernels.cmake").read_text() == "the lists"
    return len((sources / "calls").read_text())


def test_once_for_the_same_sources(sources: Path, tmp_path: Path) -> None:
    (sources / "xnnpack/.content-sha256").write_text("a" * 64 + "\n")
    assert [write_lists(sources, tmp_path / name) for name in ("one", "two", "two")] == [1, 1, 1]
    (sources / "xnnpack/.content-sha256").write_text("b" * 64 + "\n")
    assert [write_lists(sources, tmp_path / name) for name in ("one", "three")] == [2, 2]
    assert sorted(path.name for path in (sources / ".xnnpack_lists").iterdir()) == ["a" * 16, "b" * 16]


def test_each_time_where_the_sources_have_no_hash_or_nothing_can_be_kept(sources: Path, tmp_path: Path) -> None:
    assert [write_lists(sources, tmp_path / name) for name in ("one", "two")] == [1, 2]
    (sources / "xnnpack/.content-sha256").write_text("a" * 64 + "\n")
    (sources / ".xnnpack_lists").write_text("a file, where a folder would be")
    assert [write_lists(sources, tmp_path / name) for name in ("one", "two")] == [3, 4]
