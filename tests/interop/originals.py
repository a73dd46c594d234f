# SPDX-License-Identifier: BSD-3-Clause
"""The environments of the oracle, one for each release of the original, made once and kept in ``.cache``, and programs
that run in them."""

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

FIRST, NEWER = "1.4.1", "1.5.1"


def chosen() -> str | None:
    """The release that SDK_ORACLE_RELEASE names, with which all tests of the original run; None if it is not set."""
    release = os.environ.get("SDK_ORACLE_RELEASE")
    if release not in (None, FIRST, NEWER):
        raise pytest.UsageError(f"SDK_ORACLE_RELEASE is {release!r}, expected {FIRST} or {NEWER}")
    return release


RELEASE = chosen() or FIRST
in_both_releases = pytest.mark.parametrize(
    "oracle_python", [RELEASE] if chosen() else [FIRST, pytest.param(NEWER, marks=pytest.mark.slow)], indirect=True
)
"""Marks a test that runs with each release of the original, or with the one that SDK_ORACLE_RELEASE names."""

in_the_implemented_release = pytest.mark.parametrize("oracle_python", [FIRST], indirect=True)
"""Marks a test that compares with code of the release whose interface this SDK implements, which later ones changed:
docs/compatibility.md says how."""


def make_oracle(*requirements: Path, release: str = FIRST) -> str:
    """The Python of the original's environment, which also has what the files of `requirements` list."""
    python = os.environ.get("PTE_SDK_ORACLE_PYTHON") if release == FIRST else None
    if python is None:
        newer = [] if release == FIRST else ["--release", release]
        script = [sys.executable, ROOT / "tests/interop/make_oracle.py", *newer, *requirements]
        made = subprocess.run(script, capture_output=True, text=True)
        if made.returncode:
            pytest.fail(f"The oracle's environment could not be made:\n{made.stderr[-2000:]}", pytrace=False)
        python = made.stdout.strip()
    return python


@pytest.fixture(scope="session")
def oracle_python(request: pytest.FixtureRequest) -> str:
    """The Python of the original's environment; parameters of tests choose the release, then SDK_ORACLE_RELEASE."""
    return make_oracle(release=getattr(request, "param", RELEASE))


@pytest.fixture(scope="session")
def bench_python() -> str:
    """The same environment with the packages that the benchmarked models need."""
    return make_oracle(ROOT / "tests/bench/requirements.txt", release=RELEASE)


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
