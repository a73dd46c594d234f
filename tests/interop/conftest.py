# SPDX-License-Identifier: BSD-3-Clause
"""The oracle's environment, made once and kept in ``.cache/oracle``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Oracle = Callable[..., None]


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
def oracle(oracle_python: str) -> Oracle:
    """Run ``oracle.py`` with the given arguments in the original's environment."""

    def call(*arguments: object) -> None:
        command = [oracle_python, "-W", "ignore", ROOT / "tests/interop/oracle.py", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"oracle.py {arguments} failed:\n{done.stderr[-3000:]}"

    return call
