# SPDX-License-Identifier: BSD-3-Clause
"""Packages that call ExecuTorch, in separate environments, run by our Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from interop.originals import ROOT


def environment_of(name: str) -> Path:
    """The folder of the packages that NAME-requirements.txt lists."""
    script = [sys.executable, ROOT / "tests/interop/make_oracle.py", "--into", name]
    requirements = ROOT / f"tests/interop/{name}-requirements.txt"
    made = subprocess.run([*script, requirements], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[-2000:]
    (folder,) = Path(made.stdout.strip()).parents[1].glob("lib/python*/site-packages")
    return folder


def run(packages: Path, *arguments: str | Path, folder: Path | None = None, **variables: str) -> None:
    """Runs our Python in a folder, with the packages before its own."""
    paths = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
