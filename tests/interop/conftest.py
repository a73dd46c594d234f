# SPDX-License-Identifier: BSD-3-Clause
"""The oracle's environment, made once and kept in ``.cache/oracle``, and programs that run in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forked import server_of

ROOT = Path(__file__).resolve().parents[2]
Oracle = Callable[..., None]
InOriginal = Callable[..., str]


def make_oracle(*requirements: Path) -> str:
    """The Python of the original's environment, which also has what the files of `requirements` list."""
    python = os.environ.get("PTE_SDK_ORACLE_PYTHON")
    if python is None:
        script = [sys.executable, ROOT / "tests/interop/make_oracle.py", *requirements]
        made = subprocess.run(script, capture_output=True, text=True)
        if made.returncode:
            pytest.fail(f"The oracle's environment could not be made:\n{made.stderr[-2000:]}", pytrace=False)
        python = made.stdout.strip()
    return python


@pytest.fixture(scope="session")
def oracle_python() -> str:
    """The Python of the original's environment."""
    return make_oracle()


@pytest.fixture(scope="session")
def bench_python() -> str:
    """The same, with the packages that the benchmarked models need."""
    return make_oracle(ROOT / "tests/bench/requirements.txt")


@pytest.fixture(scope="session")
def in_original(oracle_python: str) -> InOriginal:
    """Does what ``python ARGUMENTS`` does in the original's environment, where it must succeed; returns its output.

    All such programs of a worker are forks of one process, which imports the original once.
    """
    server = server_of(oracle_python, ("interop.oracle_warm",))
    return lambda *arguments: server.run("-W", "ignore", *arguments, check=True).stdout


@pytest.fixture(scope="session")
def oracle(in_original: InOriginal) -> Oracle:
    """Run ``oracle.py`` with the given arguments in the original's environment."""
    return lambda *arguments: in_original(ROOT / "tests/interop/oracle.py", *arguments)
