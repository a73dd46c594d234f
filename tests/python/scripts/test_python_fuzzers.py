# SPDX-License-Identifier: BSD-3-Clause
"""The fuzzers in Python run, and find files that take too much stack or memory, or raise another exception."""

from __future__ import annotations

from pathlib import Path

import pytest

import forked

_FUZZ = Path(__file__).parents[2] / "fuzz"
_DRIVE = """
import sys

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/fuzz"]
from python_driver import drive

def deep(depth):
    list(map(deep, [depth - 1] if depth else []))

def read(path):
    {code}
    return "read"

sys.setrecursionlimit(100_000)
sys.exit(drive(lambda rng: b"x", read, ".file", ["0", sys.argv[2]]))
"""


@pytest.mark.parametrize("name", ["etrecord", "gguf", "wrapped_names"])
def test_fuzzers_find_nothing_in_a_second(name: str, tmp_path: Path) -> None:
    done = forked.run(_FUZZ / f"fuzz_{name}.py", 1, tmp_path, 7)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "found: {}" in done.stdout and not done.stdout.startswith("0 files")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "code, kept, message",
    [
        ("pass", [], "{'read': 1}, found: {}"),
        ("raise ValueError('seen')", ["0.file"], "seed 0, ValueError <string>:"),
        ("bytes(b'x') * (300 << 20)", ["0.file"], "MemoryError python_driver.py:"),
        ("deep(50)", [], "{'read': 1}, found: {}"),
        ("deep(50_000)", ["now.file"], ""),  # the stack overflows
    ],
)
def test_what_a_file_may_not_do_is_found(code: str, kept: list[str], message: str, tmp_path: Path) -> None:
    done = forked.run("-c", _DRIVE.replace("{code}", code), _FUZZ.parent, tmp_path)
    assert (done.returncode == 0) == (kept == []), done.stderr
    assert message in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == kept
